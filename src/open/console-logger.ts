import type { LogFields, Logger } from '../logger.ts';

const QUIET_MS = 60_000;

/**
 * Makes the default logger: warnings and errors go to `console.warn`, each code at most once a minute, so that an
 * operator hears of every failing memory and a store that is down does not flood the log.
 */
export function createConsoleLogger({
  write = (line) => console.warn(line),
  monotonic = () => performance.now(),
}: {
  readonly write?: (line: string) => void;
  readonly monotonic?: () => number;
} = {}): Logger {
  const toldAt = new Map<string, number>();
  const tell = (message: string, { code, reason, keyHolder }: LogFields = {}): void => {
    const kind = [code ?? message, keyHolder].join();
    const now = monotonic();
    if (now - (toldAt.get(kind) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return;
    toldAt.set(kind, now);
    const named = code === undefined ? message : `${message} (${code})`;
    write(`sealed-memory: ${named}${reason === undefined ? '' : `: ${reason}`}`);
  };
  return { debug() {}, info() {}, warn: tell, error: tell };
}
