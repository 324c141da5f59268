import { closeSync, constants, fstatSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { MemoryError } from '../errors.ts';
import { fileCodeOf, redactedFileCause } from '../store/failures.ts';

const MAX_FILE_BYTES = 16_384;
const OTHERS = 0o077;

/**
 * The text of a root key file, without surrounding white space. Throws `misconfigured` when it cannot be read,
 * is no regular file, or may be opened by anyone but its owner. No message holds the path or the content.
 */
export function readRootKeyFile(path: string, label: string): string {
  const file = openForReading(path, label);
  try {
    const { mode, size } = fstatSync(file);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
      throw new MemoryError('misconfigured', `${label} must name a regular file.`);
    }
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0) {
      throw new MemoryError(
        'misconfigured',
        `The file named by ${label} may be read by other users: run "chmod 600" on it.`,
      );
    }
    if (size > MAX_FILE_BYTES) {
      throw new MemoryError(
        'misconfigured',
        `The file named by ${label} is too large to be a root key file.`,
      );
    }
    return readFileSync(file, 'utf8').trim();
  } finally {
    closeSync(file);
  }
}

/**
 * Writes the text to a new file that only its owner may read (mode 0600), in a folder that is made when missing. Throws `misconfigured` when anything,
 * a dangling link too, already lies at the path; what lies there is not touched.
 */
export function createRootKeyFile(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { flag: 'wx', mode: 0o600, flush: true });
  } catch (error) {
    const code = errorCode(error);
    if (code === 'EEXIST') {
      throw new MemoryError(
        'misconfigured',
        'The key file exists already and is never overwritten: losing a root key loses every memory under it.',
      );
    }
    throw new MemoryError('misconfigured', `The key file cannot be created (${code}).`, {
      cause: redactedFileCause(error),
    });
  }
}

function openForReading(path: string, label: string): number {
  try {
    // Non-blocking: a named pipe is refused below instead of being waited for.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = errorCode(error);
    const reason =
      code === 'ENOENT'
        ? 'does not exist: create one with "sealed-memory init"'
        : `cannot be opened (${code})`;
    throw new MemoryError('misconfigured', `The file named by ${label} ${reason}.`, {
      cause: redactedFileCause(error),
    });
  }
}

function errorCode(error: unknown): string {
  return fileCodeOf(error) ?? 'unknown error';
}
