import { MemoryError } from '../errors.ts';
import { isWithin, type MemoryPath, parseGivenPath } from '../language/path.ts';
import { encodeText } from '../language/text.ts';
import type { ETag } from '../store/port.ts';

/** The form of an ETag in any kind of store; `*`, which stands for any version, does not match. */
const VERSION = /^"?[\w.+/=-]{1,128}"?$/;

/**
 * Parses a path in the form that the caller gave it.
 *
 * @throws MemoryError `invalid_command` for another type, as all functions of this file; `invalid_path`.
 */
export function pathOf(path: unknown): MemoryPath {
  if (typeof path !== 'string') throw refusedArgument('The path must be a text.');
  return parseGivenPath(path);
}

/** Parses the path after which a list begins. */
export function placeWithin(directory: MemoryPath, after: unknown): MemoryPath {
  const path = pathOf(after);
  if (!isWithin(path, directory)) throw refusedArgument('after must be a path below that of the list.');
  return path;
}

/** Reads the version that `ifUnchanged` names. */
export function versionOf(mode: unknown): ETag {
  const version = typeof mode === 'object' && mode !== null ? Reflect.get(mode, 'ifUnchanged') : undefined;
  if (typeof version === 'string' && VERSION.test(version)) return version as ETag;
  throw refusedArgument('mode must be create, replace, or ifUnchanged with a version that a file had.');
}

/** Copies the caller's content, which the caller may change while the write waits for its turn. */
export function bytesOf(content: unknown, maxFileBytes: number): Uint8Array {
  if (typeof content === 'string') {
    // A text has at least as many bytes as UTF-16 units.
    refuseTooLarge(content.length, maxFileBytes);
    if (!content.isWellFormed()) throw refusedArgument('The text holds half of a surrogate pair.');
    return encodeText(content);
  }
  if (!(content instanceof Uint8Array)) throw refusedArgument('The content must be a text or a Uint8Array.');
  refuseTooLarge(content.length, maxFileBytes);
  return Uint8Array.from(content);
}

export function refuseTooLarge(value: number, maxFileBytes: number): void {
  if (value <= maxFileBytes) return;
  throw new MemoryError('limit_exceeded', 'The content is larger than the file limit.', {
    details: { limit: 'file_bytes', value, max: maxFileBytes },
  });
}

export function refusedArgument(message: string): MemoryError {
  return new MemoryError('invalid_command', message);
}
