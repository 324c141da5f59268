import { isoOf } from '../../time.ts';
import { onLongWait, SHORT_WAIT_MS, type WaitedFor } from '../../waits.ts';
import type { Terminal } from '../show/terminal.ts';

const AWAITED: Readonly<Record<WaitedFor, string>> = {
  rename: 'another process, which renames a directory',
  create: 'another process, which creates a file above or below this one',
  delete: 'another process, which is deleting what was there',
  lock: 'another process, which holds the lock of the database file',
  store: 'the store, which has not answered yet',
  'busy store': 'the store, which has too much to do and asked for a pause',
  KMS: 'AWS KMS, which has not answered yet',
  Vault: 'Vault, which has not answered yet',
};

/** Says on standard error whom the command waits for and until when, once a wait. Returns what ends that. */
export function tellWaits(terminal: Pick<Terminal, 'note'>): () => void {
  const note = onceAWait(terminal);
  return onLongWait(({ for: awaited, leftMs }) =>
    note(awaited, { until: Date.now() + leftMs, line: `waiting for ${AWAITED[awaited]}` }),
  );
}

/**
 * Says what is waited for, with the time up to which that may last; not again before that time, whoever waits for the
 * same.
 */
export function onceAWait(
  { note }: Pick<Terminal, 'note'>,
  now: () => number = Date.now,
): (awaited: string, wait: { readonly until: number; readonly line: string }) => void {
  const told = new Map<string, number>();
  return (awaited, { until, line }) => {
    if (until - now() <= SHORT_WAIT_MS || now() < (told.get(awaited) ?? 0)) return;
    told.set(awaited, until);
    const seconds = Math.max(0, Math.ceil((until - now()) / 1_000));
    note(`${line}; until ${isoOf(until).slice(11, 19)} UTC at most, ${seconds} s`);
  };
}

/** Tells of a wait, once, where no display of progress shows it. */
export function noteWhereUnseen({
  terminal,
}: {
  readonly terminal: Pick<Terminal, 'note' | 'progressStream'>;
}): (until: number | undefined, line: string) => void {
  const note = onceAWait(terminal);
  return (until, line) => {
    if (until !== undefined && terminal.progressStream === undefined) note(line, { until, line });
  };
}
