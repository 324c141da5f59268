import { hasCode, MemoryError } from '../errors.ts';
import { objectRefused } from '../format/object.ts';
import { decodeText, encodeText } from '../language/text.ts';
import { numberIn } from '../tree/records/record-values.ts';
import { parseFields } from '../tree/records/sealed-record.ts';
import { parseSessionKey, type SessionKey } from './session-key.ts';

/** One line of a transcript: a JSON object, as its writer wrote it. */
export interface TranscriptLine {
  readonly text: string;
  /** The name of the line: of two lines with one uuid the later one does not count. */
  readonly uuid: string | undefined;
  /** The bytes of the text as UTF-8, with its line feed. */
  readonly bytes: number;
}

/** A summary of a transcript, which spares reading all of it. */
export interface StoredSummary {
  /** The name of its form, as in `SessionFold`. */
  readonly by: string;
  readonly data: unknown;
}

/** A part of a transcript, one object of the store. */
export interface TranscriptPage {
  readonly key: SessionKey;
  /** The number of the transcript's first page when this one was written. */
  readonly first: number;
  /** The summary of the transcript up to the end of this page; absent where none of its writers made one. */
  readonly summary?: StoredSummary | undefined;
  readonly lines: readonly TranscriptLine[];
}

/** The bytes of lines from which a page is full: it is never written again, and another one follows. */
const FULL_BYTES = 65_536;
/** The bytes up to which lines are added to a page; one line is added in any case. */
const MOST_BYTES = 1_048_576;
/** The longest line in bytes; a longer one is refused. */
const MOST_LINE_BYTES = 15_728_640;
/** The longest summary in characters; a longer one is left out. */
const MOST_SUMMARY_CHARACTERS = 65_536;
/** The most bytes of a page's content. */
export const MOST_PAGE_BYTES = 16_777_216;

/**
 * Checks a line.
 *
 * @throws MemoryError `invalid_command` unless the text is one JSON object on one line; `limit_exceeded`.
 */
export function parseLine(text: unknown): TranscriptLine {
  if (typeof text !== 'string' || text.includes('\n') || !text.isWellFormed()) throw notALine();
  const bytes = encodeText(text).length + 1;
  if (bytes > MOST_LINE_BYTES) {
    throw new MemoryError('limit_exceeded', 'A line of a session is longer than a line may be.', {
      details: { limit: 'session_line_bytes', value: bytes, max: MOST_LINE_BYTES },
    });
  }
  return lineOf(text, bytes);
}

/** The bytes of lines after which everything else in the process has its turn. */
const STEP_BYTES = 65_536;

/** Parses lines in steps, one for each 64 KiB. @throws MemoryError as `parseLine`. */
export function* parseLines(texts: readonly unknown[]): Generator<void, readonly TranscriptLine[]> {
  return yield* inSteps(texts, parseLine);
}

function* inSteps<T>(
  texts: readonly T[],
  parse: (text: T) => TranscriptLine,
): Generator<void, readonly TranscriptLine[]> {
  const lines: TranscriptLine[] = [];
  let taken = 0;
  for (const text of texts) {
    const line = parse(text);
    lines.push(line);
    taken += line.bytes;
    if (taken < STEP_BYTES) continue;
    taken = 0;
    yield;
  }
  return lines;
}

function lineOf(text: string, bytes: number): TranscriptLine {
  const entry = parseFields(text);
  if (entry === undefined) throw notALine();
  const { uuid } = entry;
  return { text, uuid: typeof uuid === 'string' && uuid !== '' ? uuid : undefined, bytes };
}

function notALine(): MemoryError {
  return new MemoryError('invalid_command', 'An entry of a session must be one JSON object on one line.');
}

export function isFull({ lines }: TranscriptPage): boolean {
  return sizeOf(lines) >= FULL_BYTES;
}

/** Counts the `lines`, one at least, that fit after the lines of a page that is not full. */
export function roomFor(page: readonly TranscriptLine[], lines: readonly TranscriptLine[]): number {
  let [count, bytes] = [0, sizeOf(page)];
  for (const line of lines) {
    bytes += line.bytes;
    if (count > 0 && bytes > MOST_BYTES) break;
    count++;
  }
  return count;
}

function sizeOf(lines: readonly TranscriptLine[]): number {
  return lines.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Encodes a page: a line of JSON with its facts, then its lines. */
export function encodePage({ key, first, summary, lines }: TranscriptPage): Uint8Array {
  const isShort = summary !== undefined && JSON.stringify(summary).length <= MOST_SUMMARY_CHARACTERS;
  const head = JSON.stringify({ key, first, ...(isShort && { summary }) });
  return encodeText([head, ...lines.map(({ text }) => text)].join('\n'));
}

/**
 * Decodes a page.
 *
 * @throws MemoryError `integrity` for malformed content.
 */
export function decodePage(content: Uint8Array): TranscriptPage {
  const steps = decodingPage(content);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Decodes a page as `decodePage` does, in steps, one for each 64 KiB. */
export function* decodingPage(content: Uint8Array): Generator<void, TranscriptPage> {
  const [head = '', ...texts] = (decodeText(content) ?? '').split('\n');
  const { key, first: number, summary } = parseFields(head) ?? {};
  const first = numberIn(number);
  if (first === undefined) throw objectRefused();
  try {
    return {
      key: parseSessionKey(key),
      first,
      ...(summary !== undefined && { summary: parseSummary(summary) }),
      lines: yield* inSteps(texts, (text) => lineOf(text, encodeText(text).length + 1)),
    };
  } catch (error) {
    if (!hasCode(error, 'invalid_command', 'integrity')) throw error;
    throw objectRefused();
  }
}

function parseSummary(summary: unknown): StoredSummary {
  const fields = Object(summary) as Readonly<Record<string, unknown>>;
  const { by, data } = fields;
  if (typeof by !== 'string' || !('data' in fields)) throw objectRefused();
  return { by, data };
}
