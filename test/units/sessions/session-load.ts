import type { SessionFold } from '../../../src/sessions/fold.ts';
import type { SessionKey } from '../../../src/sessions/session-key.ts';

export const KEY: SessionKey = { projectKey: 'project', sessionId: 'session' };

/** Two of them fill a page. */
const LONG = 'x'.repeat(40_000);
const SHARED = 'shared';

/** What a worker of this name appends, a batch after the other; a line that all of them send is in each. */
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
