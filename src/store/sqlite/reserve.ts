import { randomBytes } from 'node:crypto';
import { closeSync, fstatSync, openSync, rmSync, writeSync } from 'node:fs';

/** Room on the disk that is kept for the day on which there is no other. */
export interface DiskReserve {
  /** Takes it, or what is missing of it, as far as the disk has room. Never throws. */
  take(): void;
  /** Gives it back to the disk. Never throws. */
  release(): void;
}

/** The journal of a change that makes the file no larger takes a fifth of it. */
const RESERVE_BYTES = 131_072;

/** The reserve beside the file of a database: a file of its name and `-reserve`, which holds nothing of use. */
export function diskReserve(databaseFile: string): DiskReserve {
  const path = `${databaseFile}-reserve`;
  return {
    take() {
      try {
        const file = openSync(path, 'a', 0o600);
        try {
          // Random, because a file system may keep zeros without room for them.
          const missing = RESERVE_BYTES - fstatSync(file).size;
          if (missing > 0) writeSync(file, randomBytes(missing));
        } finally {
          closeSync(file);
        }
      } catch {
        // A later use takes it.
      }
    },
    release() {
      try {
        rmSync(path, { force: true });
      } catch {
        // Then it is of no help.
      }
    },
  };
}
