import { MemoryError } from '../errors.ts';

const ENCODER = new TextEncoder();
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** UTF-16 units of the longest string that V8 makes. */
export const LONGEST_TEXT: number = 2 ** 29 - 24;

/**
 * Decodes UTF-8 bytes, a leading byte order mark kept as U+FEFF; undefined when they are not UTF-8.
 *
 * @throws MemoryError `limit_exceeded` (`limit`: `text_bytes`) for a text that no string can hold.
 */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return DECODER.decode(bytes);
  } catch (error) {
    // Bytes that are not UTF-8 cause a TypeError by the standard. Any other error means that the text is too long.
    if (error instanceof TypeError) return undefined;
    throw new MemoryError('limit_exceeded', 'The text is longer than a string can be.', {
      details: { limit: 'text_bytes', value: bytes.length, max: LONGEST_TEXT },
      cause: error,
    });
  }
}

/** Encodes a well-formed text as UTF-8; `decodeText` gives the same text back. */
export function encodeText(text: string): Uint8Array {
  return ENCODER.encode(text);
}

/** Answers the first `units` UTF-16 units of the text, one less where that would cut a surrogate pair in two. */
export function startOfText(text: string, units: number): string {
  const start = text.slice(0, units);
  const last = start.charCodeAt(start.length - 1);
  return text.length > units && last >= 0xd800 && last <= 0xdbff ? start.slice(0, -1) : start;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** The characters that are compared before the engine searches: starting its search for every short line is slow. */
const NEAR = 8;

/** Counts the line feeds from `from` up to `to`; a text shows one line more than it has line feeds. */
export function countLineBreaks(text: string, from = 0, to: number = text.length): number {
  let count = 0;
  for (let at = lineFeedFrom(text, from); at !== -1 && at < to; at = lineFeedFrom(text, at + 1)) count += 1;
  return count;
}

export interface LineBreaks {
  readonly all: number;
  /** The number of those that are CRLF. */
  readonly crlf: number;
}

export function lineBreaksOf(text: string): LineBreaks {
  let [all, crlf] = [0, 0];
  for (let at = lineFeedFrom(text, 0); at !== -1; at = lineFeedFrom(text, at + 1)) {
    all += 1;
    if (text.charCodeAt(at - 1) === CARRIAGE_RETURN) crlf += 1;
  }
  return { all, crlf };
}

/** Finds the start of the 1-based `line`; the text has at least `line - 1` line feeds. */
export function startOfLine(text: string, line: number): number {
  let at = 0;
  for (let passed = 1; passed < line; passed += 1) at = lineFeedFrom(text, at) + 1;
  return at;
}

/** Finds the start of the line that holds the character at `at`; a line feed belongs to the line it ends. */
export function lineStartAt(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
}

/** Finds the end of the line that begins at `from`, without its line feed. */
export function endOfLine(text: string, from: number): number {
  const at = lineFeedFrom(text, from);
  return at === -1 ? text.length : at;
}

/** Yields the line that begins at `from`, and every line after it. */
export function* linesFrom(text: string, from: number): Generator<string, void> {
  for (let start = from; start <= text.length; ) {
    const end = endOfLine(text, start);
    yield text.slice(start, end);
    start = end + 1;
  }
}

/** The UTF-16 units that one step looks through: at most 48 KiB of UTF-8. */
const UNITS_PER_STEP = 16_384;

/** Collects the answers of `find` for the lines, in steps. An empty rest after the last line feed is no line. */
export function* findInLines<T>(
  text: string,
  find: (line: string, number: number) => T | undefined,
): Generator<void, readonly T[]> {
  const found: T[] = [];
  let [start, number] = [0, 0];
  for (let step = UNITS_PER_STEP; start < text.length; ) {
    const end = endOfLine(text, start);
    number += 1;
    const one = find(text.slice(start, end), number);
    if (one !== undefined) found.push(one);
    start = end + 1;
    if (start < step) continue;
    step = start + UNITS_PER_STEP;
    yield;
  }
  return found;
}

/** Finds the next line feed, or -1. */
function lineFeedFrom(text: string, from: number): number {
  const near = Math.min(from + NEAR, text.length);
  for (let at = from; at < near; at += 1) if (text.charCodeAt(at) === LINE_FEED) return at;
  return text.indexOf('\n', near);
}

/**
 * A function that finds the first index, at or after a position, where a text holds the part; -1 if the text lacks it.
 */
export type Search = (text: string, from: number) => number;

/** The length up to which the engine's own search is linear; of a longer part it considers the end alone. */
const LINEAR_LENGTH = 250;
/**
 * The longest harmless repetition. A part that repeats more of itself makes the engine's search slow: it compares the
 * repetition again and again.
 */
const HARMLESS_REPETITION = 64;

/** Makes an `indexOf` for a part that is not empty. Its time never grows with the product of both lengths. */
export function searchFor(part: string): Search {
  if (part.length > LINEAR_LENGTH) {
    const borders = bordersOf(part.length, (at) => part.charCodeAt(at));
    const fromBehind = bordersOf(part.length, (at) => part.charCodeAt(part.length - 1 - at));
    if (isRepetitive(borders) || isRepetitive(fromBehind)) {
      return (text, from) => searchWithBorders(text, from, { part, borders });
    }
  }
  return (text, from) => text.indexOf(part, from);
}

/**
 * Computes for each prefix of a text, by its last index, the length of its longest proper prefix that is also its
 * suffix.
 */
function bordersOf(length: number, unitAt: (at: number) => number): Int32Array {
  const borders = new Int32Array(length);
  for (let at = 1, border = 0; at < length; at += 1) {
    while (border > 0 && unitAt(at) !== unitAt(border)) border = borders[border - 1] ?? 0;
    if (unitAt(at) === unitAt(border)) border += 1;
    borders[at] = border;
  }
  return borders;
}

function isRepetitive(borders: Int32Array): boolean {
  return borders.some((border) => border > HARMLESS_REPETITION);
}

/** Searches as Knuth, Morris and Pratt do: each character of the text that matched is compared once. */
function searchWithBorders(
  text: string,
  from: number,
  { part, borders }: { readonly part: string; readonly borders: Int32Array },
): number {
  for (let at = from, matched = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    while (matched > 0 && unit !== part.charCodeAt(matched)) matched = borders[matched - 1] ?? 0;
    if (unit === part.charCodeAt(matched)) matched += 1;
    if (matched === part.length) return at - matched + 1;
  }
  return -1;
}
