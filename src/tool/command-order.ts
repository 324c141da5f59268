import { MemoryError } from '../errors.ts';
import { isWithin, type MemoryPath } from '../memory/path.ts';

/** What a command touches: the path itself and everything below it. */
export interface Claim {
  readonly path: MemoryPath;
  readonly mode: 'read' | 'write';
}

export interface CommandOrder {
  /**
   * Runs `action` once every earlier call that overlaps one of `claims` has ended, well or badly. Two claims
   * overlap when one path is the other or lies below it and at least one of them writes. The place in the order
   * is taken at the call itself, so commands on overlapping paths take effect as they were called; unrelated ones
   * run side by side. Rejects with `aborted` when `signal` fires before the turn comes, or has fired before the call.
   */
  run<T>(claims: readonly Claim[], action: () => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Resolves when nothing that was called before is still running. */
  idle(): Promise<void>;
}

interface Entry {
  readonly claims: readonly Claim[];
  readonly ended: Promise<void>;
}

export function createCommandOrder(): CommandOrder {
  const entries = new Set<Entry>();

  return {
    async run(claims, action, signal) {
      const earlier = [...entries]
        .filter((entry) => overlap(entry.claims, claims))
        .map((entry) => entry.ended);
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const entry: Entry = { claims, ended };
      entries.add(entry);
      const leave = (): void => {
        entries.delete(entry);
        end();
      };
      const turn = Promise.all(earlier);
      try {
        await untilAborted(turn, signal);
        return await action();
      } finally {
        // A call that gives up keeps its place until its turn, so that those behind it still wait for those before it.
        void turn.then(leave);
      }
    },
    async idle() {
      await Promise.all([...entries].map((entry) => entry.ended));
    },
  };
}

function overlap(left: readonly Claim[], right: readonly Claim[]): boolean {
  return left.some((a) =>
    right.some(
      (b) =>
        (a.mode === 'write' || b.mode === 'write') &&
        (a.path === b.path || isWithin(a.path, b.path) || isWithin(b.path, a.path)),
    ),
  );
}

async function untilAborted(turn: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) {
    await turn;
    return;
  }
  const abortedError = (): MemoryError => new MemoryError('aborted', 'the caller aborted the command');
  if (signal.aborted) throw abortedError();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(abortedError());
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await Promise.race([turn, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
