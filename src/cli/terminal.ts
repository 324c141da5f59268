import type { Writable } from 'node:stream';
import type { Progress } from '../tree/session.ts';

/** 1: the command failed. 2: it was called or configured wrongly. 130: interrupted by the user. */
export const EXIT_FAILED = 1;
export const EXIT_MISUSED = 2;
export const EXIT_INTERRUPTED = 130;

const PROGRESS_PAUSE_MS = 100;
const CLEAR_LINE = '\r\u001b[K';

/** The process's streams as the commands see them. */
export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Resolves once the text or bytes are out; rejects when nobody reads any more. */
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

export function processTerminal(): Terminal {
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
