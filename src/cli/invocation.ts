import { MemoryError } from '../errors.ts';
import { operatorLine } from './operator-log.ts';
import { EXIT_FAILED, EXIT_INTERRUPTED, EXIT_MISUSED, processTerminal, type Terminal } from './terminal.ts';

export interface Invocation {
  readonly terminal: Terminal;
  /** Fires at the first Ctrl-C or SIGTERM; the second one ends the process at once. */
  readonly signal: AbortSignal;
}

/** What a command line asks for. Resolves to the exit code; what it throws is explained on standard error. */
export type Action = (invocation: Invocation) => Promise<number>;

export async function runAction(action: Action): Promise<number> {
  const terminal = processTerminal();
  const interruption = new AbortController();
  const { signal } = interruption;
  const onSignal = (): void => {
    if (signal.aborted) {
      process.exit(EXIT_INTERRUPTED);
    }
    interruption.abort();
    process.stdin.destroy();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  try {
    const code = await action({ terminal, signal });
    return signal.aborted ? EXIT_INTERRUPTED : code;
  } catch (error) {
    return signal.aborted ? EXIT_INTERRUPTED : explain(error, terminal);
  } finally {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
    // Nobody reads on; open, it would keep the process alive.
    process.stdin.destroy();
  }
}

export function exitCodeFor(error: MemoryError): number {
  return error.code === 'misconfigured' ? EXIT_MISUSED : EXIT_FAILED;
}

function explain(error: unknown, terminal: Terminal): number {
  // Nobody reads what the command says any more; there is nobody to tell either.
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') {
    return EXIT_FAILED;
  }
  terminal.complain(operatorLine(error) ?? (error as MemoryError).message);
  return error instanceof MemoryError ? exitCodeFor(error) : EXIT_FAILED;
}
