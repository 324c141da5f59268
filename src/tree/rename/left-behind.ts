import { MemoryError, type MemoryErrorCode } from '../../errors.ts';
import type { MemoryPath } from '../../language/path.ts';

/** A file that the rename of a directory cannot move, and why. */
export interface LeftFile {
  readonly path: MemoryPath;
  readonly cause: unknown;
}

/** Of one file and of no moment: what is refused so is refused again, whoever asks. */
const REFUSALS: readonly MemoryErrorCode[] = [
  'access_denied',
  'already_exists',
  'integrity',
  'is_directory',
  'limit_exceeded',
  'misconfigured',
  'unsupported_format',
];

/**
 * Whether an object is refused for a reason of its own: it is damaged, or the server does not take its name, its copy or
 * its tombstone. A rename goes on without such a file instead of standing in everybody's way.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof MemoryError && REFUSALS.includes(error.code);
}

/** How many of the files an error names. */
const MOST_NAMED = 20;

/** What is told to the one who asked for the rename: it is over, but for these files. */
export function leftBehind(files: readonly LeftFile[]): MemoryError {
  const paths = [...new Set(files.map(({ path }) => path as string))].sort();
  return new MemoryError('version_conflict', 'some files of a directory could not be renamed with it', {
    details: { reason: 'left_behind', files: paths.length, paths: paths.slice(0, MOST_NAMED) },
    cause: files[0]?.cause,
    retry: 'never',
  });
}
