import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { MemoryError } from '../../errors.ts';
import { nameFileCode, redactedFileCause } from '../../store/failures.ts';

/** A file to be written below the folder. */
export interface NewFile {
  /** The names of its folders, and its own. All lead below the folder: they are segments of a memory path. */
  readonly segments: readonly string[];
  readonly content: Uint8Array;
  /** Milliseconds since the epoch. */
  readonly mtime: number;
}

/** A folder that comes into being as a whole or not at all. */
export interface NewFolder {
  /**
   * Writes a file of mode 0600. Answers the file system's code when it refuses that name alone, perhaps because it
   * takes it for another file's name.
   */
  write(file: NewFile): Promise<{ readonly refused: string } | undefined>;
  /** Puts the folder into its place. */
  finish(): Promise<void>;
  /** Removes the files that were written. */
  abandon(): Promise<void>;
}

const OWNER_ONLY = 0o700;
const MARKER = 'unfinished-export';
/** The names of the folders of runs: `files-` of one at work, `stale-` of one that was cut off. */
const RUN = /^(files|stale)-[0-9a-f]{16}$/;
/** Codes that blame the name, not the disk. */
const ABOUT_THE_NAME: ReadonlySet<string> = new Set([
  ...['EEXIST', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG', 'EINVAL', 'EILSEQ', 'EPROTO'],
]);
const PASSING: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE', 'ENOENT']);
/** Names that Windows would take for devices, streams or other names. */
const NOT_FOR_WINDOWS = /[<>:"|?*]|[ .]$|^(aux|con|nul|prn|com\d|lpt\d)(\.|$)/i;

/**
 * Begins the folder `to`, which is missing or empty. Files go to a folder of mode 0700 below `<to>.partial`, which only
 * `finish` moves into place: a run that was cut off leaves no `to`, and the next one clears up after it. When two runs
 * overlap, the later one continues and the other fails.
 *
 * @throws MemoryError `misconfigured` when either place is occupied.
 */
export async function beginFolder(to: string, platform: string = process.platform): Promise<NewFolder> {
  const target = resolve(to);
  const partial = `${target}.partial`;
  const isThere = await refuseOccupied(target);
  await guarded(() => mkdir(dirname(target), { recursive: true, mode: OWNER_ONLY }));
  await takeOver(partial);
  const run = join(partial, `files-${randomBytes(8).toString('hex')}`);
  await guarded(() => mkdir(run, { mode: OWNER_ONLY }));
  const folders = new Map<string, Promise<unknown>>();

  /** Makes the folders above a file, but never the run's own again: when that is gone, a later run has taken over. */
  const makeFolders = async (segments: readonly string[]): Promise<void> => {
    for (let depth = 1; depth <= segments.length; depth++) {
      const path = join(run, ...segments.slice(0, depth));
      const made = folders.get(path) ?? mkdir(path, { mode: OWNER_ONLY });
      folders.set(path, made);
      await made;
    }
  };

  const writeFile = async ({ segments, content, mtime }: NewFile): Promise<void> => {
    await makeFolders(segments.slice(0, -1));
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
    const file = await open(join(run, ...segments), flags, 0o600);
    try {
      await file.writeFile(content);
      await file.utimes(secondsOf(mtime), secondsOf(mtime));
      await file.sync();
    } finally {
      await file.close();
    }
  };

  return {
    async write(file) {
      if (platform === 'win32' && file.segments.some((name) => NOT_FOR_WINDOWS.test(name))) {
        return { refused: 'EINVAL' };
      }
      try {
        await writeFile(file);
        return undefined;
      } catch (error) {
        const code = nameFileCode(error);
        if (ABOUT_THE_NAME.has(code)) return { refused: code };
        throw failure(error);
      }
    },
    async finish() {
      await guarded(async () => {
        if (isThere) await rmdir(target);
        await rename(run, target);
        await rm(partial, { recursive: true, force: true });
      });
    },
    async abandon() {
      await guarded(async () => {
        await rm(run, { recursive: true, force: true });
        const left = await readdir(partial).catch(() => []);
        if (left.every((name) => name === MARKER)) await rm(partial, { recursive: true, force: true });
      });
    },
  };
}

/**
 * Converts to seconds, and adds a little: a fraction of a second is inexact, and would often be read as the millisecond
 * before.
 */
function secondsOf(ms: number): number {
  return (ms + 0.01) / 1_000;
}

/**
 * Refuses an occupied target; answers true for an empty folder.
 *
 * @throws MemoryError `misconfigured`.
 */
async function refuseOccupied(target: string): Promise<boolean> {
  const found = await statOrNothing(target);
  if (found === undefined) return false;
  if (!found.isDirectory() || (await guarded(() => readdir(target))).length > 0) {
    throw new MemoryError(
      'misconfigured',
      'The target exists: name a folder that does not, or an empty one.',
    );
  }
  if ((await statOrNothing(dirname(target)))?.dev !== found.dev) {
    throw new MemoryError('misconfigured', 'The target is a mounted disk: name a folder on it instead.');
  }
  return true;
}

/** Makes the folder of unfinished runs, or clears the one that an earlier run has left. */
async function takeOver(partial: string): Promise<void> {
  const found = await statOrNothing(partial);
  if (found === undefined) {
    await guarded(() => mkdir(partial, { mode: OWNER_ONLY }));
  } else {
    const owner = process.getuid?.();
    const names = found.isDirectory() ? await guarded(() => readdir(partial)) : undefined;
    const isOurs = owner === undefined || found.uid === owner;
    if (!isOurs || !names?.every((name) => name === MARKER || RUN.test(name))) {
      throw new MemoryError(
        'misconfigured',
        'Beside the target lies something with its name and ".partial" that no export has left: remove it, or rename it.',
      );
    }
    await guarded(() => chmod(partial, OWNER_ONLY));
    for (const name of names.filter((each) => each !== MARKER)) await clear(partial, name);
  }
  await guarded(async () => {
    const marker = await open(join(partial, MARKER), 'a', 0o600);
    await marker.close();
  });
}

/**
 * Moves a folder out of the way in one step, and removes it. A run that may still be at work there fails from then on.
 */
async function clear(partial: string, name: string): Promise<void> {
  const stale = join(partial, `stale-${randomBytes(8).toString('hex')}`);
  await guarded(async () => {
    await rename(join(partial, name), stale);
    await rm(stale, { recursive: true, force: true });
  });
}

async function statOrNothing(path: string): Promise<Stats | undefined> {
  return guarded(() =>
    lstat(path).catch((error: unknown) => {
      if (nameFileCode(error) === 'ENOENT') return undefined;
      throw error;
    }),
  );
}

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failure(error);
  }
}

function failure(error: unknown): MemoryError {
  const code = nameFileCode(error);
  const reason =
    code === 'ENOENT' ? 'it is gone; has another export into it begun?' : `it cannot be written (${code})`;
  return new MemoryError(
    PASSING.has(code) ? 'unavailable' : 'misconfigured',
    `The target folder: ${reason}.`,
    {
      cause: redactedFileCause(error),
    },
  );
}
