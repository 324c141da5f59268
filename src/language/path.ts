import { MemoryError } from '../errors.ts';
import { MAX_SEGMENT_BYTES, type PathRule, segmentProblem } from './segment.ts';

/** A canonical path: `/memories`, or `/memories/` and 1–20 valid NFC segments joined by single slashes. */
export type MemoryPath = string & { readonly __brand: 'MemoryPath' };

export const MEMORY_ROOT: MemoryPath = '/memories' as MemoryPath;

const MAX_SEGMENTS = 20;
/** UTF-16 units. A text of n bytes of UTF-8 in NFC is never given in more than 1.5 n of them, whatever its form. */
const LONGEST_GIVEN_SEGMENT = 2 * MAX_SEGMENT_BYTES;

/**
 * The canonical path of `text`: NFC, `//` and a trailing `/` collapsed. Nothing is resolved and nothing decoded: a
 * `.` or `..` segment is refused wherever it stands, and so is whatever would become one by percent-decoding.
 *
 * @throws MemoryError `invalid_path` with the broken rule in `details`; the message never holds the path.
 */
export function parseMemoryPath(text: string): MemoryPath {
  if (text !== MEMORY_ROOT && !text.startsWith(`${MEMORY_ROOT}/`)) {
    throw refusal('outside_root', {});
  }
  const segments = text
    .slice(MEMORY_ROOT.length)
    .split('/')
    .filter((segment) => segment !== '')
    .map(normalize);
  for (const segment of segments) {
    const problem = segmentProblem(segment);
    if (problem !== undefined) throw refusal(problem.rule, problem.details);
  }
  if (segments.length > MAX_SEGMENTS) {
    throw refusal('too_many_segments', { value: segments.length, max: MAX_SEGMENTS });
  }
  return [MEMORY_ROOT, ...segments].join('/') as MemoryPath;
}

/** Whether a name read back from a store could be a segment of a path. NFC is not asked for. */
export function isValidSegment(segment: string): boolean {
  return segment !== '' && segmentProblem(segment) === undefined;
}

/** The segments after `memories`; none for the root. */
export function segmentsOf(path: MemoryPath): readonly string[] {
  return path.split('/').slice(2);
}

/** The path of `segments` below `directory`. They must be valid already: they come from a decoded listing. */
export function joinPath(directory: MemoryPath, ...segments: readonly string[]): MemoryPath {
  return [directory, ...segments].join('/') as MemoryPath;
}

/** The directories strictly between the root and `path`, the nearest one last. */
export function ancestorsOf(path: MemoryPath): readonly MemoryPath[] {
  const segments = segmentsOf(path);
  return segments.slice(0, -1).map((_, index) => joinPath(MEMORY_ROOT, ...segments.slice(0, index + 1)));
}

/** Whether `path` lies strictly below `directory`. */
export function isWithin(path: MemoryPath, directory: MemoryPath): boolean {
  return path.startsWith(`${directory}/`);
}

/** Where `path`, which is `from` or lies below it, lies once `from` has become `to`. */
export function rebase(path: MemoryPath, from: MemoryPath, to: MemoryPath): MemoryPath {
  return `${to}${path.slice(from.length)}` as MemoryPath;
}

/** NFC, unless the segment is too long in any form: to put a long run of combining marks in order takes forever. */
function normalize(segment: string): string {
  return segment.length > LONGEST_GIVEN_SEGMENT ? segment : segment.normalize('NFC');
}

function refusal(rule: PathRule, details: Readonly<Record<string, string | number>>): MemoryError {
  return new MemoryError('invalid_path', `the path breaks the rule ${rule}`, {
    details: { rule, ...details },
  });
}
