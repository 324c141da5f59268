import { pause } from './time.ts';

/** The process or service that a call waits for. */
export type WaitedFor =
  /** Another process that renames a directory: one at a time in a tenant. */
  | 'rename'
  /** Another process that creates a file above or below the one that is asked for. */
  | 'create'
  /** Another process that has not finished deleting the file in whose place one is created. */
  | 'delete'
  /** Another process that holds the lock of the database file. */
  | 'lock'
  /** A store that has not answered a request. */
  | 'store'
  /** A store that has too much to do, and said when to ask again. */
  | 'busy store'
  | 'KMS'
  | 'Vault';

export interface LongWait {
  readonly for: WaitedFor;
  /** The milliseconds within which the wait ends or fails. */
  readonly leftMs: number;
}

type Listener = (wait: LongWait) => void;

/** The longest wait that is not told (milliseconds). */
export const SHORT_WAIT_MS = 1_000;

const listeners = new Set<Listener>();

/**
 * Makes the listener hear of each long wait in this process, once, without naming the memory that waits. Returns the
 * function that ends this.
 */
export function onLongWait(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Tells of a wait that is known to be long. A listener must not throw. */
export function tellLongWait(wait: LongWait): void {
  for (const listener of listeners) listener(wait);
}

/**
 * Begins a wait in rounds. The caller calls the answer in each of them; it tells of the wait once, when the wait has
 * lasted for a second.
 *
 * @param ms how long it may last.
 * @param clock milliseconds of any clock that goes on meanwhile.
 */
export function beginWait(
  awaited: WaitedFor,
  { ms, clock }: { readonly ms: number; readonly clock: () => number },
): () => void {
  const began = clock();
  let isTold = false;
  return () => {
    const lasted = clock() - began;
    if (isTold || lasted < SHORT_WAIT_MS) return;
    isTold = true;
    tellLongWait({ for: awaited, leftMs: ms - lasted });
  };
}

/** Waits for `work`; when this takes longer than `tellAfterMs`, it tells that the wait may take `ms`. */
export async function toldIfLong<T>(
  awaited: WaitedFor,
  { ms, tellAfterMs }: { readonly ms: number; readonly tellAfterMs: number },
  work: () => Promise<T>,
): Promise<T> {
  if (listeners.size === 0) return work();
  const done = new AbortController();
  pause(tellAfterMs, done.signal).then(
    () => tellLongWait({ for: awaited, leftMs: ms - tellAfterMs }),
    () => {},
  );
  try {
    return await work();
  } finally {
    done.abort();
  }
}
