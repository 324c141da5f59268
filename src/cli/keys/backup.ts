import { lstat, open, rename, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { fileCodeOf } from '../../store/failures.ts';
import { loadSqlite } from '../../store/open-store.ts';
import { type ChosenVerb, type Invocation, wrongCall } from '../run/invocation.ts';
import {
  cannotWrite,
  existsAlready,
  partialBeside,
  removeAbandoned,
  removingAfter,
} from '../run/own-file.ts';
import { readStore } from '../run/settings.ts';
import { counted } from '../show/report.ts';

/** Points to the right way for a store that is no SQLite file. */
const ANOTHER_WAY = {
  memory:
    '"backup" copies an SQLite store; memory: ends with its process, and "export" writes its files out.',
  s3: '"backup" copies an SQLite store. A plain copy of its objects is the backup of a bucket: any tool makes one, such as "aws s3 sync".',
} as const;

/** Declares `backup`. */
export function declareBackup(program: Command, run: ChosenVerb<typeof runBackup>): void {
  program
    .command('backup <file>')
    .description('copy an SQLite store with all its tenants into one file, still sealed, while others write')
    .option('-f, --force', 'replace a file that is there')
    .action((file: string, options: { readonly force?: boolean }) => run(file, options));
}

/**
 * Copies the configured SQLite store, sealed and with all its tenants, into one file for its owner alone, as a whole or
 * not at all. Others may write meanwhile; no key is needed.
 */
export async function runBackup(
  to: string,
  { force = false }: { readonly force?: boolean },
  { flags, report, logger, signal, terminal }: Invocation,
): Promise<number> {
  const { location } = readStore({ flags, logger });
  if (location.kind !== 'sqlite') throw wrongCall(ANOTHER_WAY[location.kind]);
  await loadSqlite();
  const { backUpSqlite } = await import('../../store/sqlite/backup.ts');
  const place = await freePlace(to, { store: location.path, force });
  const folder = dirname(place);
  const partial = partialBeside(place);
  const orRefuse = (error: unknown): never => {
    throw fileCodeOf(error) === undefined ? error : cannotWrite(to, error);
  };
  await removeAbandoned(folder).catch(orRefuse);
  try {
    const { objects, bytes } = await removingAfter(partial, async (keep) => {
      await (await open(partial, 'wx', 0o600).catch(orRefuse)).close();
      const copied = await report.during('copying the store', () =>
        backUpSqlite({
          from: location.path,
          to: partial,
          signal,
          onProgress: ({ done, total }) => report.progress({ done, total }, { what: 'objects', done, total }),
        }),
      );
      const { size } = await stat(partial);
      await rename(partial, place).catch(orRefuse);
      keep();
      await syncFolder(folder);
      return { ...copied, bytes: size };
    });
    await report.done({ to, objects, bytes }, [
      `ok    ${counted(objects, 'object')} in ${to}, sealed as they are: "--store sqlite:${to}" opens it with the same root key`,
    ]);
    return 0;
  } catch (error) {
    if (signal.aborted) terminal.complain('interrupted: nothing was written; run it again');
    throw error;
  }
}

/**
 * Finds the file to make: where the path is a link, the place that the link leads to. @throws MemoryError what keeps it
 * from being made.
 */
async function freePlace(
  to: string,
  { store, force }: { readonly store: string; readonly force: boolean },
): Promise<string> {
  const { databaseFile } = await import('../../store/sqlite/database-file.ts');
  let place: string;
  try {
    place = databaseFile(/[/\\]$/.test(to) ? `${resolve(to)}/` : resolve(to));
  } catch {
    throw wrongCall(await whyNoFile(to));
  }
  const [there, live] = await Promise.all([found(place), found(resolve(store))]);
  const own = databaseFile(resolve(store));
  if ([`${own}-journal`, `${own}-reserve`].includes(place)) {
    throw wrongCall(`${to} belongs to the store itself: name another file.`);
  }
  if (there !== undefined && there.ino === live?.ino && there.dev === live.dev) {
    throw wrongCall(`${to} is the store itself: name another file.`);
  }
  if (there !== undefined && !force) throw existsAlready(to);
  for (const end of ['-journal', '-wal']) {
    // SQLite would take such a file for the backup's own journal, and write it into the backup.
    if (((await found(place + end))?.size ?? 0n) > 0n) {
      throw wrongCall(`${to}${end} is left of another database: remove it, or name another file.`);
    }
  }
  return place;
}

/** Says why no file can be made at a place. */
async function whyNoFile(to: string): Promise<string> {
  const folder = dirname(to);
  if (/[/\\]$/.test(to)) return `${to} ends with a slash, as a folder does: name a file in it.`;
  const [there, link, above] = await Promise.all([
    stat(to).catch(fileCodeOf),
    lstat(to).catch(() => undefined),
    stat(folder).catch(fileCodeOf),
  ]);
  if (typeof there === 'object')
    return there.isDirectory()
      ? `${to} is a folder: name a file in it.`
      : `${to} is a pipe or a device, which can be no store: name a file.`;
  if (there === 'ELOOP') return `${to} is a link that leads in a circle: remove it, or name another file.`;
  if (link?.isSymbolicLink())
    return `${to} is a link into a folder that does not exist: make that folder, or name another file.`;
  if (above === 'ENOENT') return `The folder ${folder} does not exist: make it, or name another one.`;
  if (above === 'ENOTDIR' || (typeof above === 'object' && !above.isDirectory()))
    return `${folder} is no folder: name a file in one.`;
  const code = typeof above === 'string' ? above : (there ?? 'unknown error');
  return `${to} cannot be reached (${code}): name a file in a folder of yours.`;
}

async function found(path: string) {
  return stat(path, { bigint: true }).catch(() => undefined);
}

/** Makes the new name of a file last through a crash. Some systems cannot sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  try {
    await using handle = await open(folder);
    await handle.sync();
  } catch {
    // The file itself is on the disk.
  }
}
