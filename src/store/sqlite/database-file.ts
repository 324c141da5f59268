import { closeSync, openSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { fileCodeOf } from '../failures.ts';
import { cannotBeOpened, sqliteFailure } from './errors.ts';

/** The most links that are followed, as many as Linux follows. */
const MOST_LINKS = 40;

/** Makes a path absolute. A separator at its end, which names a directory, stays. */
export function absolute(path: string): string {
  return isAbsolute(path) ? path : join(resolve(), path);
}

/**
 * Finds the file that the absolute path of a database leads to. It follows links, also one to a file that is still to
 * be made: the files that SQLite and this module put beside it then lie beside the file itself instead of the link.
 *
 * @throws MemoryError `misconfigured` where the path leads to anything but a file, or cannot lead to one.
 */
export function databaseFile(path: string): string {
  try {
    if (path.endsWith('/') || path.endsWith(sep)) throw cannotBeOpened();
    const file = followLinks(path);
    // SQLite would wait for the other end of a pipe, and write to a device.
    if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) throw cannotBeOpened();
    return file;
  } catch (error) {
    throw sqliteFailure(error);
  }
}

/** Makes the file for its owner alone where there is none. An existing one is left as it is. */
export function makeDatabaseFile(file: string): void {
  try {
    // Exclusively: opening and closing an existing file would drop the locks this process holds on it.
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if (fileCodeOf(error) !== 'EEXIST') throw sqliteFailure(error);
  }
}

/** Resolves a path as `realpath` does, also for a new file in an existing directory. */
function followLinks(path: string): string {
  let place = path;
  for (let links = 0; links <= MOST_LINKS; links++) {
    const real = orNothing(() => realpathSync(place));
    if (real !== undefined) return real;
    place = join(realpathSync(dirname(place)), basename(place));
    const target = orNothing(() => readlinkSync(place));
    if (target === undefined) return place;
    place = resolve(dirname(place), target);
  }
  throw cannotBeOpened();
}

function orNothing(look: () => string): string | undefined {
  try {
    return look();
  } catch (error) {
    if (fileCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
