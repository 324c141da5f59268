import { MemoryError } from '../../errors.ts';
import { type MemoryPath, parseGivenPath } from '../../language/path.ts';

/** What a question brings, as it came from the browser. */
type Input = Readonly<Record<string, unknown>>;

/** @throws MemoryError `invalid_command`, `invalid_path`. */
export function pathIn(input: Input, name = 'path'): MemoryPath {
  return parseGivenPath(textIn(input, name));
}

/** @throws MemoryError `invalid_command` for anything but a text. */
export function textIn(input: Input, name: string): string {
  const text = input[name];
  if (typeof text === 'string') return text;
  throw new MemoryError('invalid_command', `${name} must be a text.`);
}

/** The version of a file that the page has shown; undefined where it has shown none. @throws MemoryError `invalid_command`. */
export function versionIn(input: Input, name: string): string | undefined {
  return input[name] === null ? undefined : textIn(input, name);
}

/**
 * The versions of files by their paths, as the page has listed them: pairs of texts, the paths as they came.
 *
 * @throws MemoryError `invalid_command` for anything else.
 */
export function listedIn(input: Input, name: string): ReadonlyMap<string, string> {
  const given = input[name];
  const isPair = (pair: unknown): pair is readonly [string, string] =>
    Array.isArray(pair) && pair.length === 2 && pair.every((part) => typeof part === 'string');
  if (Array.isArray(given) && given.every(isPair)) return new Map(given);
  throw new MemoryError('invalid_command', `${name} must be a list of paths with their versions.`);
}

const MOST_PATHS = 200;

/** @throws MemoryError `invalid_command` for anything but a list of up to 200 texts; `invalid_path`. */
export function pathsIn(input: Input, name: string): readonly MemoryPath[] {
  const given = input[name];
  if (Array.isArray(given) && given.length <= MOST_PATHS) {
    return given.map((_, index) => pathIn({ path: given[index] }));
  }
  throw new MemoryError('invalid_command', `${name} must be a list of up to ${MOST_PATHS} paths.`);
}
