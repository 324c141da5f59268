import { createReadStream } from 'node:fs';

import { MemoryError } from '../errors.ts';
import { encodeText } from '../language/text.ts';
import type { Terminal } from './terminal.ts';

export interface SourceOptions {
  readonly text?: string | undefined;
  /** A file of the user's; `-` is standard input, and so is the lack of both. */
  readonly file?: string | undefined;
}

/**
 * The bytes that a command writes: `--text`, `--file`, or standard input to its end.
 *
 * @throws MemoryError `limit_exceeded` as soon as more than `maxBytes` were read; `invalid_command` when the file
 * cannot be read.
 */
export async function readSource(
  options: SourceOptions,
  context: { readonly terminal: Terminal; readonly maxBytes: number },
): Promise<Uint8Array> {
  const { text, file } = options;
  if (text !== undefined) {
    return encodeText(text);
  }
  if (file !== undefined && file !== '-') {
    try {
      return await readAll(createReadStream(file), context.maxBytes);
    } catch (error) {
      if (error instanceof MemoryError) {
        throw error;
      }
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      throw new MemoryError('invalid_command', `The file given with --file cannot be read${code}.`);
    }
  }
  if (context.terminal.isInteractive) {
    context.terminal.complain('reading from the keyboard; end with Ctrl-D on a line of its own');
  }
  return readAll(context.terminal.stdin, context.maxBytes);
}

async function readAll(chunks: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    parts.push(chunk);
    length += chunk.length;
    if (length > maxBytes) {
      throw new MemoryError(
        'limit_exceeded',
        `A memory file holds at most ${maxBytes} bytes; this is larger.`,
        {
          details: { limit: 'file_bytes', max: maxBytes },
        },
      );
    }
  }
  return Buffer.concat(parts);
}
