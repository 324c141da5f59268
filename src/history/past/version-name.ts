import { MemoryError } from '../../errors.ts';
import type { Past, PastVersion } from './past.ts';

/**
 * Chooses the one version whose name has a beginning. @throws MemoryError `not_found`; `invalid_command` where several
 * have it.
 */
export function chosen({ versions }: Past, beginning: string): PastVersion {
  const found = [...versions.values()].filter(({ id }) => id.startsWith(beginning));
  const [only] = found;
  if (only === undefined) throw noVersion();
  if (found.length === 1) return only;
  throw severalBegin(found.length);
}

export function severalBegin(count: number): MemoryError {
  return refused(`${count} versions begin so: give more characters of the one that is meant.`);
}

export function noVersion(): MemoryError {
  return new MemoryError(
    'not_found',
    'The history of the file has no version of that name; its log names those that it has.',
  );
}

export function noFile(): MemoryError {
  return new MemoryError('not_found', 'The history knows of no file that was ever at that path.');
}

const VERSION = /^[A-Za-z0-9_-]{4,22}$/;

export function beginningOf(version: unknown): string {
  if (typeof version === 'string' && VERSION.test(version)) return version;
  throw refused('The version must be 4 to 22 characters of the name of a version.');
}

function refused(message: string): MemoryError {
  return new MemoryError('invalid_command', message);
}
