import type { SessionFold } from '../../../src/sessions/fold.ts';
import type { SessionKey } from '../../../src/sessions/session-key.ts';

export const KEY: SessionKey = { projectKey: 'project', sessionId: 'session' };

/** Two of them fill a page. */
const LONG = 'x'.repeat(40_000);
const SHARED = 'shared';

/**
 * Answers what a worker of this name appends, one batch after the other; each worker sends one line that all of them
 * send.
 */
export function batchesOf(worker: string): readonly (readonly string[])[] {
  const uuids = [[`${worker}-0`], [`${worker}-1`, `${worker}-2`, SHARED], [`${worker}-3`], [`${worker}-4`]];
  return uuids.map((batch) => batch.map((uuid) => JSON.stringify({ uuid, LONG })));
}

export function uuidOf(line: string): string {
  return (JSON.parse(line) as { readonly uuid: string }).uuid;
}

/** A summary: how many lines there are. */
export const COUNT: SessionFold = {
  by: 'test',
  fold: (previous, _key, lines) => Number(previous ?? 0) + lines.length,
};
