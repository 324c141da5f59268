import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { MemoryError } from '../../errors.ts';
import { visible } from '../../language/invisible.ts';
import { nameFileCode } from '../../store/failures.ts';

export type Style = 'red' | 'green' | 'yellow' | 'blue' | 'cyan' | 'dim' | 'bold';

/** The process's streams as the verbs see them. */
export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array>;
  /** Resolves once the text or bytes are written; rejects when the reader has closed the stream. */
  out(text: string | Uint8Array): Promise<void>;
  /** Writes one line on standard error, after the program's name: why the command failed. */
  complain(line: string): void;
  /** Writes a line as `complain` does, for what is worth knowing but no failure; `--quiet` leaves it out. */
  note(line: string): void;
  /** Colours what goes to standard output; without a screen there, or with NO_COLOR, the text as it is. */
  style(style: Style, text: string): string;
  /** The stream on which progress is shown; undefined where standard error is no screen, and with `--quiet`. */
  readonly progressStream: WriteStream | undefined;
  /** Standard input is a person's keyboard. */
  readonly isInteractive: boolean;
  /** Standard output is a person's screen. */
  readonly isForEyes: boolean;
  /** Characters that a line of the screen has room for. */
  readonly columns: number;
}

export function processTerminal({ quiet = false }: { readonly quiet?: boolean | undefined }): Terminal {
  const { stdin, stdout, stderr } = process;
  const say = (line: string): void => {
    stderr.write(`sealed-memory: ${seenOnScreen(line)}\n`);
  };
  return {
    stdin,
    out: (text) =>
      new Promise((resolve, reject) => {
        const shown = typeof text === 'string' && stdout.isTTY === true ? seenOnScreen(text) : text;
        stdout.write(shown, (error) => (error ? reject(outFailure(error)) : resolve()));
      }),
    complain: say,
    note: quiet ? () => {} : say,
    style: (style, text) => styleText(style, text, { stream: stdout }),
    progressStream: stderr.isTTY === true && !quiet ? stderr : undefined,
    isInteractive: stdin.isTTY === true,
    isForEyes: stdout.isTTY === true,
    // A terminal that does not know its width says 0.
    columns: stdout.columns || 80,
  };
}

/** Tells whether a failure says that the reader of standard output is gone. */
export function isReaderGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}

/**
 * Words the failure of a write to standard output for a person; returns the error itself where the reader is gone,
 * which callers tell apart.
 */
export function outFailure(error: Error): Error {
  if (isReaderGone(error)) return error;
  const why = nameFileCode(error);
  return new MemoryError(
    'invalid_command',
    `Standard output cannot be written (${why}): what is there is not whole.`,
  );
}

const ESCAPE = '\u001b';
/** The colours that `styleText` makes. */
const COLOUR = new RegExp(`(${ESCAPE}\\[(?:1|2|22|3[1-6]|39)m)`);

/**
 * Writes what cannot be seen in a text as `⟨…⟩`, and every control character except tabs, line ends and colours: what a
 * memory holds may neither drive the terminal it is shown on nor hide from its reader.
 */
export function seenOnScreen(text: string): string {
  return text
    .split(COLOUR)
    .map((part) => (COLOUR.test(part) ? part : visible(part).replace(/\r(?!\n)/g, '⟨CR⟩')))
    .join('');
}
