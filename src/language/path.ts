import { MemoryError } from '../errors.ts';
import { pathFaultSentence } from './path-faults.ts';
import { encodeText } from './text.ts';

/**
 * The longest segment in bytes. Servers that keep objects as files cannot replace an object with a longer name
 * (docs/format.md, "Names").
 */
export const MAX_SEGMENT_BYTES = 143;

/**
 * The rule a refused path breaks, as `details.rule` of `invalid_path`. `key_too_long` comes with `tooMany` (bytes) and
 * `directory_suffix` with `suffix`: both are found by the functions that make object keys. `segment_too_long` and
 * `too_many_segments` come with `value` and `max`, `forbidden_character` with `character` (such as `U+0000`).
 */
type PathRule =
  | 'outside_root'
  | 'parent_segment'
  | 'dot_segment'
  | 'backslash'
  | 'forbidden_character'
  | 'lone_surrogate'
  | 'percent_encoded'
  | 'segment_too_long'
  | 'too_many_segments'
  | 'key_too_long'
  | 'directory_suffix';

interface SegmentProblem {
  readonly rule: PathRule;
  readonly details: Readonly<Record<string, string | number>>;
}

/** Lone surrogates: with the `u` flag a whole pair is one character of another category. */
const SURROGATE = /\p{Cs}/u;
/** Controls, format characters and the two line separators; the joiners U+200C and U+200D spell words and emoji. */
const FORBIDDEN = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\u2028\u2029]/u;
const ENCODED_SEPARATOR = /%(?:2e|2f|5c|00)/i;
const ENCODED_ASCII = /%([0-7][0-9a-f])/gi;

/** A path in one spelling: `/memories`, or `/memories/` and valid segments joined by single slashes. */
export type MemoryPath = string & { readonly __brand: 'MemoryPath' };

export const MEMORY_ROOT: MemoryPath = '/memories' as MemoryPath;

/** The most segments of a new file's path. A file that a store holds already may lie deeper, and can be read. */
const MAX_SEGMENTS = 20;
/** The most segments of any path: no object key has room for more, in either name mode. */
const MOST_STORED_SEGMENTS = 512;
/**
 * The longest segment as it is given, in UTF-16 units. A text of n bytes of UTF-8 in NFC takes at most 1.5 n of them in
 * any form.
 */
const LONGEST_GIVEN_SEGMENT = 2 * MAX_SEGMENT_BYTES;

/**
 * Makes the canonical path of `text`: NFC, `//` and a trailing `/` collapsed. The path is neither resolved nor decoded:
 * a `.` or `..` segment is refused wherever it stands, and so is any text that would become one by percent-decoding. A
 * path may have more segments than a new file may be given: `refuseTooDeep` judges those.
 *
 * @throws MemoryError `invalid_path` with the broken rule in `details`; the message never holds the path.
 */
export function parseMemoryPath(text: string): MemoryPath {
  const segments = splitPath(text).map(normalize);
  for (const segment of segments) {
    const problem = segmentProblem(segment);
    if (problem !== undefined) throw refusedPath({ rule: problem.rule, ...problem.details });
  }
  if (segments.length > MOST_STORED_SEGMENTS) throw tooManySegments(segments.length);
  return [MEMORY_ROOT, ...segments].join('/') as MemoryPath;
}

/**
 * Parses a path as `parseMemoryPath` does, but in the form that the text has: it may name a file of another writer, and
 * existing names keep their form. Only a text that no writer could have made is brought to NFC.
 */
export function parseGivenPath(text: string): MemoryPath {
  const segments = splitPath(text);
  const isName = segments.length <= MOST_STORED_SEGMENTS && segments.every(isValidSegment);
  return isName ? ([MEMORY_ROOT, ...segments].join('/') as MemoryPath) : parseMemoryPath(text);
}

/** Puts the path into NFC, which all forms of one name have in common. */
export function inNfc(path: MemoryPath): MemoryPath {
  return path.normalize('NFC') as MemoryPath;
}

function splitPath(text: string): readonly string[] {
  if (text !== MEMORY_ROOT && !text.startsWith(`${MEMORY_ROOT}/`)) {
    throw refusedPath({ rule: 'outside_root' }, text);
  }
  return text
    .slice(MEMORY_ROOT.length)
    .split('/')
    .filter((segment) => segment !== '');
}

/** Reads the path that a record of the store holds, exactly as it stands there; undefined for any other text. */
export function parseStoredPath(text: string): MemoryPath | undefined {
  if (text === MEMORY_ROOT) return MEMORY_ROOT;
  const isPath = text.startsWith(`${MEMORY_ROOT}/`) && text.split('/').slice(2).every(isValidSegment);
  return isPath ? (text as MemoryPath) : undefined;
}

/**
 * Tells whether a path has more segments than a file may be given; a renamed file may stay as deep as it is at `from`.
 */
export function isTooDeep(path: MemoryPath, from: MemoryPath = MEMORY_ROOT): boolean {
  return segmentsOf(path).length > Math.max(MAX_SEGMENTS, segmentsOf(from).length);
}

/**
 * Refuses such a path.
 *
 * @throws MemoryError `invalid_path` with the rule `too_many_segments` where `isTooDeep`.
 */
export function refuseTooDeep(path: MemoryPath, from?: MemoryPath): void {
  if (isTooDeep(path, from)) throw tooManySegments(segmentsOf(path).length);
}

function tooManySegments(value: number): MemoryError {
  return refusedPath({ rule: 'too_many_segments', value, max: MAX_SEGMENTS });
}

/** Tells whether a name read back from a store could be a segment of a path, in any form. */
export function isValidSegment(segment: string): boolean {
  return segment !== '' && segmentProblem(segment) === undefined;
}

/** Answers the segments after `memories`; an empty list for the root. */
export function segmentsOf(path: MemoryPath): readonly string[] {
  return path.split('/').slice(2);
}

/** Makes the path of `segments` below `directory`. They must be valid already: they come from a decoded listing. */
export function joinPath(directory: MemoryPath, ...segments: readonly string[]): MemoryPath {
  return [directory, ...segments].join('/') as MemoryPath;
}

/** Lists the directories strictly between the root and `path`, the nearest one last. */
export function ancestorsOf(path: MemoryPath): readonly MemoryPath[] {
  const segments = segmentsOf(path);
  return segments.slice(0, -1).map((_, index) => joinPath(MEMORY_ROOT, ...segments.slice(0, index + 1)));
}

/** Collects every directory in which one of the files lies, at any depth below the root. */
export function directoriesOf(files: readonly MemoryPath[]): ReadonlySet<MemoryPath> {
  return new Set(files.flatMap(ancestorsOf));
}

/** Tells whether `path` lies strictly below `directory`. */
export function isWithin(path: MemoryPath, directory: MemoryPath): boolean {
  return path.startsWith(`${directory}/`);
}

/** Makes the new path of `path`, which is `from` or lies below it, after `from` is renamed to `to`. */
export function rebase(path: MemoryPath, from: MemoryPath, to: MemoryPath): MemoryPath {
  return `${to}${path.slice(from.length)}` as MemoryPath;
}

/**
 * Puts a segment into NFC, unless it is too long in any form: sorting a long run of combining marks takes quadratic
 * time.
 */
function normalize(segment: string): string {
  return segment.length > LONGEST_GIVEN_SEGMENT ? segment : segment.normalize('NFC');
}

type RefusedPath = Readonly<Record<string, string | number>> & { readonly rule: PathRule };

/**
 * Makes the refusal of a path by a rule; `text` is the given path, of which the message only says how it misses the
 * root.
 */
export function refusedPath(details: RefusedPath, text?: string): MemoryError {
  return new MemoryError('invalid_path', pathFaultSentence(details, text), { details });
}

/** Finds the first rule that a non-empty segment breaks; undefined for a valid segment. */
function segmentProblem(segment: string): SegmentProblem | undefined {
  const parts = segment.split('\\');
  if (parts.includes('..')) return { rule: 'parent_segment', details: {} };
  if (segment === '.') return { rule: 'dot_segment', details: {} };
  if (parts.length > 1) return { rule: 'backslash', details: {} };
  if (segment.includes('/')) return { rule: 'forbidden_character', details: { character: codePoint('/') } };
  if (SURROGATE.test(segment)) return { rule: 'lone_surrogate', details: {} };
  const forbidden = FORBIDDEN.exec(segment);
  if (forbidden !== null) {
    return { rule: 'forbidden_character', details: { character: codePoint(forbidden[0]) } };
  }
  const value = encodeText(segment).length;
  if (value > MAX_SEGMENT_BYTES) {
    return { rule: 'segment_too_long', details: { value, max: MAX_SEGMENT_BYTES } };
  }
  return hidesSeparator(segment) ? { rule: 'percent_encoded', details: {} } : undefined;
}

/**
 * Tells whether a dot, slash, backslash or NUL appears when the segment is percent-decoded, however many times over.
 * Every pass shortens the text, so the length of a segment bounds the passes.
 */
function hidesSeparator(segment: string): boolean {
  let text = segment;
  for (;;) {
    if (ENCODED_SEPARATOR.test(text)) return true;
    const decoded = text.replace(ENCODED_ASCII, (_, digits: string) =>
      String.fromCharCode(Number.parseInt(digits, 16)),
    );
    if (decoded === text) return false;
    text = decoded;
  }
}

function codePoint(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
