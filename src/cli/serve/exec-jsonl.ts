import { MemoryError } from '../../errors.ts';
import { decodeText } from '../../language/text.ts';
import type { MemoryResult } from '../../tool/memory-tool.ts';
import { createUnread, type Line, MAX_LINE_BYTES, MAX_RUNNING, splitLines } from './lines.ts';
import type { RequestFields } from './request-fields.ts';

/** The answer to a line, apart from its id. */
export type Answer =
  | { readonly ok: true; readonly content?: unknown; readonly files?: unknown }
  | { readonly ok: false; readonly content: string; readonly code: string };

/** The answer to a line that is no command of the tool. */
interface Done {
  readonly isError: false;
  readonly content: unknown;
}

export interface ExecOptions {
  readonly input: AsyncIterable<Uint8Array>;
  /** Resolves when the line is written; rejects when the reader has closed the stream. */
  readonly write: (line: string) => Promise<void>;
  /** The signal fires with that of the options, and when an answer cannot be written. */
  readonly execute: (input: RequestFields, signal: AbortSignal) => Promise<MemoryResult | Done>;
  /** Answers `{"harness": …}` lines; absent: they are refused like any unknown input. */
  readonly harness?: ((request: RequestFields) => Promise<Answer>) | undefined;
  /** Sees what `execute` or `harness` throws; failures that `execute` resolves to are logged where they arise. */
  readonly onThrown: (error: unknown) => void;
  readonly signal?: AbortSignal | undefined;
  readonly maxLineBytes?: number | undefined;
}

/**
 * Answers every line of the input with one line (docs of the protocol: docs/command-line.md). A line without an
 * id is a barrier: it waits for all before it, and all after it wait for it. Lines with an id run concurrently.
 * Resolves at the end of the input, after the last answer is out. Rejects as soon as an answer cannot be written, with
 * the input open or not; what is still running is aborted then, and waited for.
 */
export async function execJsonLines(options: ExecOptions): Promise<void> {
  const maxLineBytes = options.maxLineBytes ?? MAX_LINE_BYTES;
  const running = new Set<Promise<void>>();
  const unread = createUnread();
  const signals = [unread.signal, options.signal].filter((signal) => signal !== undefined);
  const call: Call = { ...options, signal: AbortSignal.any(signals) };
  let runningBytes = 0;

  const start = (answering: Promise<void>, bytes: number): void => {
    runningBytes += bytes;
    const settled = answering.catch(unread.report).finally(() => {
      running.delete(settled);
      runningBytes -= bytes;
    });
    running.add(settled);
  };

  const lines = splitLines(options.input, maxLineBytes);
  try {
    for (;;) {
      const { value: line } = await unread.orThrow(lines.next());
      if (line === undefined) break;
      const request = parseRequest(line);
      if (request.kind === 'blank') {
        continue;
      }
      if (request.kind === 'request' && request.id !== undefined) {
        start(respond(call, request.input, request.id), sizeOf(line));
        while (running.size >= MAX_RUNNING || runningBytes > maxLineBytes) {
          await unread.orThrow(Promise.race(running));
        }
      } else {
        await unread.orThrow(Promise.all(running));
        start(request.kind === 'refused' ? refuse(call, request.sentence) : respond(call, request.input), 0);
        await unread.orThrow(Promise.all(running));
      }
    }
  } finally {
    await Promise.all(running);
  }
  await unread.orThrow(Promise.resolve());
}

type Call = ExecOptions & { readonly signal: AbortSignal };

async function refuse(options: Call, sentence: string): Promise<void> {
  await send(options, { ok: false, content: sentence, code: 'invalid_command' });
}

async function respond(options: Call, input: RequestFields, id?: string | number): Promise<void> {
  await send(options, await answerTo(options, input), id);
}

async function send(options: Call, answer: Answer, id?: string | number): Promise<void> {
  await options.write(`${oneLine(JSON.stringify(id === undefined ? answer : { id, ...answer }))}\n`);
}

/** Escapes in JSON the characters, besides the line feed, at which line readers of some languages split. */
function oneLine(json: string): string {
  return json.replace(/[\u0085\u2028\u2029]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

async function answerTo(options: Call, input: RequestFields): Promise<Answer> {
  try {
    if (options.harness !== undefined && Object.hasOwn(input, 'harness')) {
      return await options.harness(input);
    }
    const result = await options.execute(input, options.signal);
    return result.isError
      ? { ok: false, content: result.content, code: result.error.code }
      : { ok: true, content: result.content };
  } catch (error) {
    options.onThrown(error);
    return error instanceof MemoryError
      ? { ok: false, content: `Error: ${error.message}`, code: error.code }
      : // A defect of ours. How far the command came is not known.
        { ok: false, content: 'Error: The command failed unexpectedly.', code: 'outcome_unknown' };
  }
}

function sizeOf(line: Line): number {
  return line === 'too_long' ? 0 : line.length;
}

/** A request as it stood on its line; `id` is taken out of the input. */
type Request =
  | { readonly kind: 'blank' }
  | { readonly kind: 'refused'; readonly sentence: string }
  | {
      readonly kind: 'request';
      readonly id: string | number | undefined;
      readonly input: RequestFields;
    };

/** Parses one line as strict UTF-8 and JSON. Never throws. */
export function parseRequest(line: Line): Request {
  if (line === 'too_long') {
    return refused('The line is too long.');
  }
  const json = parseJson(line);
  if (json === 'blank') {
    return { kind: 'blank' };
  }
  if (json === undefined) {
    return refused('The line is not JSON in UTF-8.');
  }
  if (!isObject(json.value)) {
    return refused('The line must hold a JSON object.');
  }
  // Rest properties are defined, not assigned: a key named __proto__ stays an ordinary one.
  const { id, ...input } = json.value;
  if (Object.hasOwn(json.value, 'id') && !isId(id)) {
    return refused('"id" must be a string or a number that JSON carries exactly.');
  }
  return { kind: 'request', id: isId(id) ? id : undefined, input };
}

function parseJson(line: Uint8Array): { readonly value: unknown } | 'blank' | undefined {
  try {
    const text = decodeText(line);
    if (text === undefined) return undefined;
    return /^[ \t\r]*$/.test(text) ? 'blank' : { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is RequestFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is string | number {
  return (
    typeof value === 'string' || (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER)
  );
}

function refused(reason: string): Request {
  return { kind: 'refused', sentence: `Error: ${reason}` };
}
