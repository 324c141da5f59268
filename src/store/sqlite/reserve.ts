import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { fileCodeOf } from '../failures.ts';

/**
 * Room on the disk that is kept for the day on which the disk is full. Only the holder of the write lock calls its
 * verbs.
 */
export interface DiskReserve {
  /** Takes the missing part of the reserve. False where the disk has no room for all of it. Never throws. */
  take(): boolean;
  /** Gives the reserve back to the disk, and answers how many bytes it had. Never throws. */
  release(): number;
}

/**
 * The size of the reserve: enough to journal a file of 1 MiB and its record, and often a thousand small changes, one by
 * one.
 */
const RESERVE_BYTES = 1_310_720;
/** The part of the reserve that is never used up: the journal of a change within the file takes a fifth of it. */
export const JOURNAL_BYTES: number = 131_072;
const PIECE_BYTES = 65_536;

/** Makes the reserve of a database: a file beside it, named with `-reserve` at its end, which holds random bytes. */
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
        // A user who may not write the file has no reserve, and the store works without one.
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
