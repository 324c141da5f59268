import { existsSync } from 'node:fs';
import { lstat, mkdir, readFile as readOwn, realpath } from 'node:fs/promises';
import { basename, join, posix, sep } from 'node:path';
import type { Command } from 'commander';
import { MemoryError, misconfigured } from '../../errors.ts';
import { sameBytes } from '../../format/encoding.ts';
import { MEMORY_ROOT, parseMemoryPath } from '../../language/path.ts';
import { fileCodeOf } from '../../store/failures.ts';
import { throwIfAborted } from '../../time.ts';
import type { FileStat } from '../../tool/files.ts';
import { createLanes } from '../run/ahead.ts';
import { type ChosenVerb, CONTINUES, type Invocation } from '../run/invocation.ts';
import { type FileRun, filesAt, readAhead, readOneOfMany, runOnFiles, tellIfNobodys } from '../run/memory.ts';
import {
  cannotWrite,
  existsAlready,
  removeAbandoned,
  replaceOwnFile,
  writeOwnFile,
} from '../run/own-file.ts';
import type { StateFields } from '../run/tenant-state.ts';
import { collect, orRefused, typedPath } from '../run/typed.ts';
import { counted } from '../show/report.ts';
import { type Outcome, transferAll } from './transfer.ts';

export interface ExportArguments {
  /** Replaces files of the folder that differ. */
  readonly force?: boolean;
  /** Recipients of age: one encrypted archive in place of a folder. */
  readonly age?: readonly string[];
  /** True for one page for a browser, in plain text, in place of a folder. */
  readonly html?: boolean;
}

interface TypedArguments extends ExportArguments {
  /** The backup in place of the memory. */
  readonly from?: string;
}

/** Declares `export`, of the memory and with `--from` of a backup. */
export function declareExport(
  program: Command,
  {
    run,
    runBackup,
  }: { readonly run: ChosenVerb<typeof runExport>; readonly runBackup: (backup: ExportEnds) => void },
): void {
  program
    .command('export')
    .usage('[options] [path] <folder> | --from <backup> <folder>')
    .argument('[folder]', 'where to, after the path of what to write; with --age or --html the file to make')
    .argument('[folder]')
    .description(
      'copy files of the memory into a folder, decrypted; or decrypt and check all files of a sealed backup, into a new folder',
    )
    .option('-f, --force', 'replace what differs')
    .option(
      '--from <backup>',
      'a backup in place of the memory: a folder of raw objects, s3://bucket/prefix or sqlite:PATH; the folder is made as a whole or not at all',
    )
    .option(
      '--age <recipient>',
      'one archive instead, encrypted for a recipient, which "age" and "tar" open',
      collect,
    )
    .option('--html', 'one page instead, for a reviewer with a browser; in plain text, for its owner alone')
    .action(
      (first: string | undefined, second: string | undefined, given: TypedArguments, command: Command) => {
        const { from: backup, ...options } = given;
        if (first === undefined) {
          const isOneFile = options.html === true || options.age !== undefined;
          const missing = isOneFile
            ? 'the file to make, such as memory.html or memory.tar.age'
            : 'the folder to write to';
          command.error(`error: name ${missing}`, { code: 'commander.missingArgument' });
        }
        if ((second ?? first) === '-') {
          const why =
            'nothing is exported to standard output: name a folder or a file, or ./- for one of that name';
          command.error(`error: ${why}`, { code: 'commander.invalidArgument' });
        }
        if (backup !== undefined) {
          if (second !== undefined || Object.keys(options).length > 0) {
            const why = 'with --from name the new folder alone: all files of the backup are written there';
            command.error(`error: ${why}`, { code: 'commander.conflictingOption' });
          }
          runBackup({ from: backup, to: first });
          return;
        }
        const ends =
          second === undefined
            ? { path: MEMORY_ROOT, to: first }
            : { path: orRefused(command, () => typedPath(first)), to: second };
        run(ends, options);
      },
    );
}

/** The store of a backup, and the folder that its files go to. */
interface ExportEnds {
  readonly from: string;
  readonly to: string;
}

/**
 * Writes a file of the memory, or all files below a directory, into a folder, byte by byte, with their times, for their
 * owner alone. A file that lies there with the same bytes is passed over. Resolves to 1 when a file was left.
 */
export function runExport(
  { path, to }: { readonly path: string; readonly to: string },
  { force = false, age = [], html = false }: ExportArguments,
  invocation: Invocation,
): Promise<number> {
  const isOneFile = age.length > 0 || html;
  const exportAll = async (run: FileRun): Promise<number> => {
    parseMemoryPath(path);
    const sources = await filesAt(run, path);
    const nameOf = (file: FileStat): string =>
      file.path === path ? path.slice(path.lastIndexOf('/') + 1) : file.path.slice(path.length + 1);
    if (html && age.length > 0)
      throw misconfigured('--html writes plain text: leave out --age, or encrypt the page.');
    const told = await tellIfNobodys(run, path, sources);
    if (html) return exportHtml(run, { sources, from: path, to, force, told });
    if (age.length > 0) return exportArchive(run, { sources, nameOf, to, recipients: age, force, told });
    const root = await madeFolder(to).catch((error: unknown) => {
      throw cannotWrite(to, error);
    });
    const folders = createFolders(root);
    const inLane = createLanes();
    const carry = (source: FileStat): Promise<Outcome> => {
      const name = nameOf(source);
      const read = () => readOneOfMany(run, source.path);
      // Names that differ in case or in their form alone may be one file.
      return inLane(name.normalize('NFC').toLowerCase(), () =>
        exportFile({ name, source, force, folders, read }),
      );
    };
    return transferAll(
      sources.map((source) => ({ name: source.path, size: source.size, carry: () => carry(source) })),
      { from: path, to, invocation, told },
    );
  };
  const interrupted = isOneFile ? 'nothing was written; run it again' : CONTINUES;
  return runOnFiles(exportAll, invocation, { interrupted });
}

async function madeFolder(path: string): Promise<string> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  return realpath(path);
}

/** The folders at paths below that of the export. */
interface Folders {
  /** Finds the folder; undefined where there is none yet, or a link leads out. */
  readonly standing: FolderAt;
  /** Makes the folder ready to be written to; undefined where a link leads out. */
  readonly made: FolderAt;
}

async function exportFile({
  name,
  source,
  force,
  folders,
  read,
}: {
  readonly name: string;
  readonly source: FileStat;
  readonly force: boolean;
  readonly folders: Folders;
  readonly read: () => Promise<Uint8Array>;
}): Promise<Outcome> {
  try {
    const isKept = (target: string, there: TargetState): Outcome | undefined => {
      if (there === 'special') return { left: `has no room: ${target} is neither a file nor a link` };
      if (there === 'file' && !force) return { left: `differs from ${target}; --force replaces that` };
      if (there === 'link' && !force)
        return { left: `would replace a link, ${target}; --force replaces that` };
      return undefined;
    };
    // A look at the place, the read of the file, then its folder: where one step fails, the next is not made.
    const standing = await folders.standing(posix.dirname(name));
    if (standing !== undefined) {
      const place = join(standing, basename(name));
      const before = isKept(place, await lookAt(place, source));
      if (before !== undefined) return before;
    }
    const bytes = await read();
    const folder = await folders.made(posix.dirname(name));
    if (folder === undefined) return { left: 'lies behind a link that leads out of the folder' };
    const target = join(folder, basename(name));
    const there = await lookAt(target, { size: bytes.length, bytes });
    if (there === 'same') return 'same';
    const kept = isKept(target, there);
    if (kept !== undefined) return kept;
    await replaceOwnFile(target, (file) => file.writeFile(bytes), { modified: source.modified });
    return 'written';
  } catch (error) {
    const code = fileCodeOf(error);
    if (code === undefined || error instanceof MemoryError) throw error;
    return { left: `cannot be written (${code})` };
  }
}

/**
 * Looks for the folders on the way to files and makes them, each of them once. Where a link leads out of `root` nothing
 * is made. What an export that was cut off has left in a folder is removed.
 */
function createFolders(root: string): Folders {
  const made: FolderAt = oncePerPath(async (path) => {
    const above = path === '.' ? root : await made(posix.dirname(path));
    const folder =
      above === undefined || path === '.' ? above : await folderWithin(root, join(above, basename(path)));
    if (folder !== undefined) await removeAbandoned(folder);
    return folder;
  });
  const standing = oncePerPath(async (path) => {
    const folder = await realpath(join(root, path)).catch(() => undefined);
    return folder !== undefined && isWithin(root, folder) ? folder : undefined;
  });
  return { standing, made };
}

type FolderAt = (path: string) => Promise<string | undefined>;

function oncePerPath(find: FolderAt): FolderAt {
  const found = new Map<string, Promise<string | undefined>>();
  return (path) => {
    const folder = found.get(path) ?? find(path);
    found.set(path, folder);
    return folder;
  };
}

const isWithin = (root: string, folder: string): boolean => `${folder}${sep}`.startsWith(`${root}${sep}`);

/** Makes a folder, unless it is there; undefined where it is a link that leads out of `root`. */
async function folderWithin(root: string, path: string): Promise<string | undefined> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (fileCodeOf(error) !== 'EEXIST') throw error;
  });
  const folder = await realpath(path);
  return isWithin(root, folder) ? folder : undefined;
}

/** The thing found at the place of a file: `equal` is a file of its size, `same` one of its bytes. */
type TargetState = 'nothing' | 'equal' | 'same' | 'file' | 'link' | 'special';

/**
 * Looks at the place of a file, and opens only a regular file, never through a link: the reading of a pipe may never
 * end.
 */
async function lookAt(
  target: string,
  { size, bytes }: { readonly size: number; readonly bytes?: Uint8Array },
): Promise<TargetState> {
  const there = await lstat(target).catch((error: unknown) => {
    if (fileCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (there === undefined) return 'nothing';
  if (there.isSymbolicLink()) return 'link';
  if (!there.isFile()) return 'special';
  if (there.size !== size) return 'file';
  if (bytes === undefined) return 'equal';
  return sameBytes(await readOwn(target), bytes) ? 'same' : 'file';
}

/** Writes one tar archive of all files, encrypted for the recipients: `age -d` and `tar -x` open it. */
async function exportArchive(
  run: FileRun,
  {
    sources,
    nameOf,
    to,
    recipients,
    force,
    told,
  }: {
    readonly sources: readonly FileStat[];
    readonly nameOf: (file: FileStat) => string;
    readonly to: string;
    readonly recipients: readonly string[];
    readonly force: boolean;
    readonly told: StateFields;
  },
): Promise<number> {
  const { writeArchive } = await import('./archive.ts');
  const { report, signal } = run.invocation;
  const total = sources.length;
  async function* entries() {
    for await (const { file, bytes } of readAhead(run, sources))
      yield { name: nameOf(file), modified: file.modified, bytes };
  }
  await report.during(`writing ${to}`, () => writeArchive(entries(), { to, recipients, force, signal }));
  await report.done({ files: total, to, ...told }, [
    `ok    ${counted(total, 'file')} in ${to}, for ${counted(recipients.length, 'recipient')}`,
  ]);
  return 0;
}

/** Writes one page that holds every file, for a reviewer without a store, a key or this program. */
async function exportHtml(
  run: FileRun,
  {
    sources,
    from,
    to,
    force,
    told,
  }: {
    readonly sources: readonly FileStat[];
    readonly from: string;
    readonly to: string;
    readonly force: boolean;
    readonly told: StateFields;
  },
): Promise<number> {
  if (!force && existsSync(to)) throw existsAlready(to);
  const { htmlOf } = await import('./export-html.ts');
  const { report, signal } = run.invocation;
  const total = sources.length;
  const title = `${run.options.tenant ?? ''} ${from}`.trim();
  const contents = readAhead(run, sources);
  const parts = htmlOf(sources, { title, exported: new Date(), contents });
  try {
    await report.during(`writing ${to}`, () =>
      writeOwnFile(to, async (file) => {
        for await (const part of parts) {
          throwIfAborted(signal);
          await file.writeFile(part);
        }
      }),
    );
  } catch (error) {
    if (error instanceof MemoryError) throw error;
    throw cannotWrite(to, error);
  }
  await report.done({ files: total, to, ...told }, [
    `ok    ${counted(total, 'file')} in ${to}, in plain text: each person who has it can read all of them`,
  ]);
  return 0;
}
