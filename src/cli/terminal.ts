import type { Writable } from 'node:stream';
import { isForTheOperator, MemoryError } from '../errors.ts';
import type { LogFields, Logger } from '../logger.ts';
import type { Progress } from '../tree/session.ts';

/** 1: the command failed. 2: it was called or configured wrongly. 130: interrupted by the user. */
export const EXIT_FAILED = 1;
export const EXIT_MISUSED = 2;
const EXIT_INTERRUPTED = 130;

const PROGRESS_PAUSE_MS = 100;
const CLEAR_LINE = '\r\u001b[K';

/** The process's streams as the commands see them. */
export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Resolves once the text or bytes are written; rejects when the reader has closed the stream. */
  out(text: string | Uint8Array): Promise<void>;
  /** One line on standard error, after the program's name. */
  complain(line: string): void;
  /** Shows on a terminal how far a long command has come; elsewhere nothing. */
  progress(progress: Progress): void;
  /** Shows on a terminal what a long command is at, in place of what it was at before; elsewhere nothing. */
  status(line: string): void;
  /** Standard input is a person's keyboard. */
  readonly isInteractive: boolean;
  /** Standard output is a person's screen. */
  readonly isForEyes: boolean;
}

function processTerminal(): Terminal {
  // A reader that went away shows as the failure of the write; without a listener it would end the process.
  process.stdout.on('error', () => {});
  process.stderr.on('error', () => {});
  return {
    stdin: process.stdin,
    out: (text) => {
      const isForEyes = typeof text === 'string' && process.stdout.isTTY === true;
      return write(process.stdout, isForEyes ? withoutControls(text) : text);
    },
    complain: (line) => {
      process.stderr.write(`sealed-memory: ${withoutControls(line)}\n`);
    },
    progress: process.stderr.isTTY === true ? progressLine(process.stderr) : () => {},
    status: process.stderr.isTTY === true ? statusLine(process.stderr) : () => {},
    isInteractive: process.stdin.isTTY === true,
    isForEyes: process.stdout.isTTY === true,
  };
}

/** One line that is written over; an empty one clears it. */
function statusLine(stream: Writable): (line: string) => void {
  return (line) => {
    stream.write(`${CLEAR_LINE}${withoutControls(line)}`);
  };
}

/** One line that is written over, at most ten times a second, and cleared at the end. */
function progressLine(stream: Writable): (progress: Progress) => void {
  let shownAt = 0;
  return ({ done, total }) => {
    const now = performance.now();
    if (done < total && now - shownAt < PROGRESS_PAUSE_MS) return;
    shownAt = now;
    stream.write(done < total ? `\r${done} of ${total} files` : CLEAR_LINE);
  };
}

function write(stream: Writable, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}

/** What a memory holds may not drive the terminal it is shown on. */
function withoutControls(text: string): string {
  return text.replace(/[^\P{Cc}\t\n]/gu, '\uFFFD');
}

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
    // An open standard input would keep the process alive.
    process.stdin.destroy();
  }
}

export function exitCodeFor(error: MemoryError): number {
  return error.code === 'misconfigured' ? EXIT_MISUSED : EXIT_FAILED;
}

function explain(error: unknown, terminal: Terminal): number {
  // The reader of standard output is gone, so there is no one to explain the failure to.
  if (error instanceof Error && 'code' in error && error.code === 'EPIPE') {
    return EXIT_FAILED;
  }
  terminal.complain(operatorLine(error) ?? (error as MemoryError).message);
  return error instanceof MemoryError ? exitCodeFor(error) : EXIT_FAILED;
}

/** Prints warnings and errors, one line each. */
export function createOperatorLogger(print: (line: string) => void): Logger {
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      const facts = Object.entries(fields).flatMap(([name, value]) =>
        value === undefined ? [] : [` ${name}=${value}`],
      );
      print(oneLine(`${level}: ${message}${facts.join('')}`));
    };
  return { debug: () => {}, info: () => {}, warn: at('warning'), error: at('error') };
}

/** The line for the operator; absent when the model's own sentence says all there is to say. */
export function operatorLine(error: unknown): string | undefined {
  if (error instanceof MemoryError) {
    return isForTheOperator(error) ? oneLine(`${error.code}: ${error.message}`) : undefined;
  }
  // A defect of ours. Its message may hold anything, so only its kind and place are shown.
  const [name, stack] = error instanceof Error ? [error.name, error.stack] : [typeof error, undefined];
  const place = stack
    ?.split('\n')
    .find((line) => /^\s+at /.test(line))
    ?.trim();
  return oneLine(`unexpected failure: ${[name, place].filter(Boolean).join(' ')}`);
}

function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ');
}
