import { hasCode, MemoryError } from '../../errors.ts';
import { decodeText, encodeText } from '../../language/text.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import { readSettings } from '../../open/options/settings.ts';
import { nameFileCode } from '../../store/failures.ts';
import type { Terminal } from '../show/terminal.ts';
import { ownChunks } from './own-chunks.ts';

export interface SourceOptions {
  readonly text?: string | undefined;
  /** A file of the user's; `-` is standard input, and so is the lack of both. */
  readonly file?: string | undefined;
}

/**
 * Reads the bytes that a command writes: a text, a file, or standard input to its end.
 *
 * @throws MemoryError `limit_exceeded` as soon as more than the options' file limit was read; `invalid_command` when
 * the file cannot be read.
 */
export async function readSource(
  { text, file }: SourceOptions,
  {
    terminal,
    options,
    signal,
  }: { readonly terminal: Terminal; readonly options: MemoryOptions; readonly signal: AbortSignal },
): Promise<Uint8Array> {
  const { fileBytes } = readSettings(options).limits;
  if (text !== undefined) return encodeText(text);
  if (file === undefined || file === '-') {
    if (terminal.isInteractive)
      terminal.note('reading from the keyboard; end with Ctrl-D on a line of its own');
    return readAll(terminal.stdin, fileBytes);
  }
  try {
    return await readAll(ownChunks(file, signal), fileBytes);
  } catch (error) {
    if (hasCode(error, 'limit_exceeded')) throw error;
    throw new MemoryError('invalid_command', `The file cannot be read (${nameFileCode(error)}).`);
  }
}

/** @throws MemoryError `limit_exceeded` as soon as more than `most` bytes were read. */
export async function readAll(
  chunks: AsyncIterable<Uint8Array>,
  most = Number.POSITIVE_INFINITY,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length > most) {
      throw new MemoryError(
        'limit_exceeded',
        `This is larger than ${most} bytes, the most that a file may have; SEALED_MEMORY_MAX_FILE_BYTES sets it.`,
        { details: { limit: 'file_bytes', max: most } },
      );
    }
  }
  return joined(parts);
}

/** Joins any number of parts; a call with each of them as an argument would take about 100,000. */
export async function joined(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  return new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

/** Decodes UTF-8 text, and keeps a byte order mark. @throws MemoryError `invalid_command` for other bytes. */
export function requireText(content: Uint8Array): string {
  const text = decodeText(content);
  if (text === undefined) {
    throw new MemoryError(
      'invalid_command',
      'The tool takes UTF-8 text alone; "sealed-memory put" takes any bytes.',
    );
  }
  return text;
}
