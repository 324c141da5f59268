import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { fileCodeOf } from '../failures.ts';

/** Room on the disk that is kept for the day on which there is no other. Both verbs are for whoever holds the write lock. */
export interface DiskReserve {
  /** Takes what is missing of it, as far as the disk has room. False where the disk has none for all of it. Never throws. */
  take(): boolean;
  /** Gives it back to the disk, and answers how many bytes it had. Never throws. */
  release(): number;
}

/** A file of 1 MiB and its record are journalled in it, and the journal of a thousand small changes, one by one, fits often. */
const RESERVE_BYTES = 1_310_720;
/** What is never used up: the journal of a change that makes the file no larger takes a fifth of it. */
export const JOURNAL_BYTES: number = 131_072;
const PIECE_BYTES = 65_536;

/** The reserve beside the file of a database: a file of its name and `-reserve`, which holds nothing of use. */
export function diskReserve(databaseFile: string): DiskReserve {
  const path = `${databaseFile}-reserve`;
  const size = (): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return {
    take() {
      try {
        if (size() >= RESERVE_BYTES) return true;
        const file = openSync(path, 'a', 0o600);
        try {
          for (let missing = RESERVE_BYTES - size(); missing > 0; ) {
            // Random, because a file system may keep zeros without room for them.
            missing -= writeSync(file, randomBytes(Math.min(missing, PIECE_BYTES)));
          }
        } finally {
          closeSync(file);
        }
        return true;
      } catch (error) {
        // Where it may not be written at all there is none, and the disk is as large as it is.
        return !['ENOSPC', 'EDQUOT'].includes(fileCodeOf(error) ?? '');
      }
    },
    release() {
      try {
        const held = size();
        rmSync(path, { force: true });
        return held;
      } catch {
        return 0;
      }
    },
  };
}
