import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { misconfigured } from '../errors.ts';
import { nameFileCode, redactedFileCause } from '../store/failures.ts';

/** The name of a file with a secret for messages, which leave out its path and its content. */
interface PrivateFile {
  /** The setting that names it. */
  readonly label: string;
  /** The kind of file, such as `root key file`. */
  readonly kind: string;
  /** The way to make one, for the message. */
  readonly remedy: string;
  /** The other thing that the setting may name, for the message about what is no file. */
  readonly other?: string | undefined;
}

const MAX_FILE_BYTES = 16_384;
const OTHERS = 0o077;

/**
 * Reads the text of a file that holds a secret, without white space around it.
 *
 * @throws MemoryError `misconfigured` when the file cannot be read, is no regular file, or is open to other users than
 * its owner.
 */
export function readPrivateFile(path: string, named: PrivateFile): string {
  const { label, kind, other } = named;
  const file = openForReading(path, named);
  try {
    const { mode, size } = fstatSync(file);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) {
      throw misconfigured(`${label} must name a regular file${other === undefined ? '' : `, or ${other}`}.`);
    }
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0) {
      throw misconfigured(`The file named by ${label} may be read by other users: run "chmod 600" on it.`);
    }
    if (size > MAX_FILE_BYTES) {
      throw misconfigured(`The file named by ${label} is too large to be a ${kind}.`);
    }
    return readFileSync(file, 'utf8').trim();
  } finally {
    closeSync(file);
  }
}

function openForReading(path: string, { label, remedy }: PrivateFile): number {
  try {
    // The open does not block: a named pipe is refused by the caller instead of being waited for.
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = nameFileCode(error);
    const reason = code === 'ENOENT' ? `does not exist: ${remedy}` : `cannot be opened (${code})`;
    throw misconfigured(`The file named by ${label} ${reason}.`, redactedFileCause(error));
  }
}
