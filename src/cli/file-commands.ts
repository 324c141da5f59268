import { createReadStream } from 'node:fs';
import { MemoryError } from '../errors.ts';
import { type MemoryPath, parseMemoryPath } from '../language/path.ts';
import { decodeText, encodeText } from '../language/text.ts';
import type { Terminal } from './terminal.ts';

/** What the commands for people work on: the tool itself, and the tree for bytes that no tool input can carry. */
export interface FileCommandTarget {
  execute(input: unknown): Promise<ToolResult>;
  readonly tree: {
    read(path: MemoryPath): Promise<Uint8Array | undefined>;
    create(path: MemoryPath, content: Uint8Array): Promise<unknown>;
    overwrite(path: MemoryPath, content: Uint8Array): Promise<unknown>;
  };
  readonly onExists: 'error' | 'overwrite';
  /** The largest file that is taken, in bytes. */
  readonly maxBytes: number;
  readonly terminal: Terminal;
}

/** One command for people, ready to run. */
export type FileCommand = (target: FileCommandTarget) => Promise<Said>;

type ToolResult =
  | { readonly isError: false; readonly content: string | readonly unknown[] }
  | { readonly isError: true; readonly content: string; readonly error: MemoryError };

/** What a command says: bytes go out as they are, a sentence gets its line end. */
type Said =
  | { readonly bytes: Uint8Array }
  | { readonly sentence: string }
  | { readonly failure: string; readonly error: MemoryError };

export async function viewPath(
  target: FileCommandTarget,
  request: { readonly path: string; readonly range?: readonly number[] | undefined },
): Promise<Said> {
  const { path, range } = request;
  const result = await target.execute({ command: 'view', path, ...(range && { view_range: range }) });
  if (!result.isError && typeof result.content !== 'string') {
    return { sentence: `${path} is an image. Its bytes: sealed-memory view --raw ${path} > FILE` };
  }
  return toSaid(result);
}

/** The file's bytes, whatever they are. */
export async function readRaw(target: FileCommandTarget, path: string): Promise<Said> {
  const bytes = await target.tree.read(parseMemoryPath(path));
  if (bytes !== undefined) {
    return { bytes };
  }
  const failure = `There is no file at ${path}.`;
  return { failure, error: new MemoryError('not_found', failure) };
}

/** Creates a text through the tool; bytes that are not UTF-8 go straight into the tree. */
export async function createPath(
  target: FileCommandTarget,
  request: { readonly path: string; readonly content: Uint8Array },
): Promise<Said> {
  const { path, content } = request;
  const text = decodeText(content);
  if (text !== undefined) {
    return toSaid(await target.execute({ command: 'create', path, file_text: text }));
  }
  const write = target.onExists === 'overwrite' ? target.tree.overwrite : target.tree.create;
  await write(parseMemoryPath(path), content);
  return { sentence: `File created successfully at: ${path}` };
}

export async function runTool(target: FileCommandTarget, input: unknown): Promise<Said> {
  return toSaid(await target.execute(input));
}

/** UTF-8 text, a byte order mark included; throws `invalid_command` for other bytes. */
export function requireText(content: Uint8Array): string {
  const text = decodeText(content);
  if (text === undefined) throw new MemoryError('invalid_command', 'The text must be UTF-8.');
  return text;
}

function toSaid(result: ToolResult): Said {
  if (result.isError) {
    return { failure: result.content, error: result.error };
  }
  return { sentence: typeof result.content === 'string' ? result.content : JSON.stringify(result.content) };
}

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
