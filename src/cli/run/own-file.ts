import { randomBytes } from 'node:crypto';
import { constants, rmSync } from 'node:fs';
import { type FileHandle, open, readdir, realpath, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { MemoryError } from '../../errors.ts';
import { fileCodeOf, nameFileCode } from '../../store/failures.ts';

/** Matches the name of a file that is not whole yet, with the process that writes it. */
const PARTIAL = /^\.sealed-memory-(\d{1,10})-[0-9a-f]{8}\.partial$/;

/** The paths that would stay behind if the process ended now. */
const unfinished = new Set<string>();
process.on('exit', () => {
  for (const path of unfinished) rmSync(path, { recursive: true, force: true });
});

/** Makes the name under which this process writes the file at a place until it is whole. */
export function partialBeside(place: string): string {
  return join(dirname(place), `.sealed-memory-${process.pid}-${randomBytes(4).toString('hex')}.partial`);
}

/** Tells whether a name is that of a file which a process was writing when it ended. */
export function isPartial(name: string): boolean {
  return PARTIAL.test(name);
}

/**
 * Runs `work` on a file that is removed afterwards, unless `work` calls `keep`; also when a second Ctrl-C ends the
 * process meanwhile.
 */
export async function removingAfter<T>(path: string, work: (keep: () => void) => Promise<T>): Promise<T> {
  unfinished.add(path);
  try {
    return await work(() => unfinished.delete(path));
  } finally {
    if (unfinished.delete(path)) await rm(path, { recursive: true, force: true });
  }
}

/**
 * Opening a pipe that nobody reads waits for ever, against signals too. What is returned stays open until the pipe is
 * written: its reader would take the close for the end. @throws Error `ENXIO` for a pipe that nobody reads.
 */
async function requireReader(pipe: string): Promise<FileHandle> {
  return open(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
}

/**
 * Writes a file of the user's, for its owner alone, as a whole or not at all: beside its place first. What is there is
 * replaced. A device or a pipe is written to, and a link goes on leading to its file, which is replaced.
 *
 * @throws Error of the file system.
 */
export async function writeOwnFile(
  target: string,
  write: (file: FileHandle) => Promise<unknown>,
  { modified }: { readonly modified?: Date | undefined } = {},
): Promise<void> {
  const there = await stat(target).catch(() => undefined);
  if (there !== undefined && !there.isFile()) {
    await using _ = there.isFIFO() ? await requireReader(target) : undefined;
    await using file = await open(target, 'w');
    await write(file);
    return;
  }
  await replaceOwnFile(there === undefined ? target : await realpath(target), write, { modified });
}

/**
 * Writes a file as `writeOwnFile` does, where the user did not name it and others may have filled its folder: a link at
 * its place is replaced, and is not followed.
 *
 * @throws Error of the file system.
 */
export async function replaceOwnFile(
  place: string,
  write: (file: FileHandle) => Promise<unknown>,
  { modified }: { readonly modified?: Date | undefined } = {},
): Promise<void> {
  const partial = partialBeside(place);
  await removingAfter(partial, async (keep) => {
    {
      await using file = await open(partial, 'wx', 0o600);
      await write(file);
      await file.sync();
    }
    if (modified !== undefined) await utimes(partial, modified, modified);
    await rename(partial, place);
    keep();
  });
}

/** Removes from a folder the unfinished files of processes that have ended. */
export async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid] = PARTIAL.exec(name) ?? [];
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(folder, name), { force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return fileCodeOf(error) !== 'ESRCH';
  }
}

/** Makes the failure to write a file of the user's, in a sentence that names it. */
export function cannotWrite(path: string, error: unknown): MemoryError {
  return ownFailure(`${path} cannot be written`, error);
}

export function cannotRead(path: string, error: unknown): MemoryError {
  return ownFailure(`${path} cannot be read`, error);
}

export function noFolder(path: string, error: unknown): MemoryError {
  return ownFailure(`${path} is no folder that can be read`, error);
}

export function existsAlready(path: string): MemoryError {
  return new MemoryError('already_exists', `${path} exists: --force replaces it.`);
}

function ownFailure(what: string, error: unknown): MemoryError {
  return new MemoryError('invalid_command', `${what} (${nameFileCode(error)}).`);
}
