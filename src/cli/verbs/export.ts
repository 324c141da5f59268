import { existsSync } from 'node:fs';
import { lstat, mkdir, readFile as readOwn, realpath } from 'node:fs/promises';
import { basename, join, sep } from 'node:path';
import { hasCode, MemoryError, misconfigured } from '../../errors.ts';
import { sameBytes } from '../../format/encoding.ts';
import { parseMemoryPath } from '../../language/path.ts';
import { fileCodeOf } from '../../store/failures.ts';
import { throwIfAborted } from '../../time.ts';
import type { FileStat } from '../../tool/files.ts';
import { CONTINUES, type Invocation } from './invocation.ts';
import { type FileRun, filesAt, readFile, runOnFiles, tellIfNobodys } from './memory.ts';
import { cannotWrite, existsAlready, removeAbandoned, replaceOwnFile, writeOwnFile } from './own-file.ts';
import { counted } from './report.ts';
import type { StateFields } from './tenant-state.ts';
import { type Outcome, transferAll } from './transfer.ts';

export interface ExportArguments {
  /** Replaces files of the folder that differ. */
  readonly force?: boolean;
  /** Recipients of age: one encrypted archive in place of a folder. */
  readonly age?: readonly string[];
  /** One page for a browser in place of a folder, in plain text. */
  readonly html?: boolean;
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
    const tidied = new Set<string>();
    return transferAll(
      sources.map((source) => ({
        name: source.path,
        transfer: async (): Promise<Outcome> => {
          const bytes = await readFile(run, source.path);
          return exportFile({ bytes, root, name: nameOf(source), source, force, tidied });
        },
      })),
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

async function exportFile({
  bytes,
  root,
  name,
  source,
  force,
  tidied,
}: {
  readonly bytes: Uint8Array;
  readonly root: string;
  readonly name: string;
  readonly source: FileStat;
  readonly force: boolean;
  /** Folders in which nothing is left of an export that was cut off. */
  readonly tidied: Set<string>;
}): Promise<Outcome> {
  try {
    const folder = await folderWithin(root, name.split('/').slice(0, -1));
    if (folder === undefined) return { left: 'lies behind a link that leads out of the folder' };
    if (!tidied.has(folder)) await removeAbandoned(folder);
    tidied.add(folder);
    const target = join(folder, basename(name));
    const there = await lookAt(target, bytes);
    if (there === 'same') return 'same';
    if (there === 'special') return { left: `has no room: ${target} is neither a file nor a link` };
    if (there === 'file' && !force) return { left: `differs from ${target}; --force replaces that` };
    if (there === 'link' && !force) return { left: `would replace a link, ${target}; --force replaces that` };
    await replaceOwnFile(target, (file) => file.writeFile(bytes), { modified: source.modified });
    return 'written';
  } catch (error) {
    const code = fileCodeOf(error);
    if (code === undefined || hasCode(error, 'aborted')) throw error;
    return { left: `cannot be written (${code})` };
  }
}

/** Makes the folders on the way to a file; undefined where a link leads out of `root`, in which nothing is made then. */
async function folderWithin(root: string, names: readonly string[]): Promise<string | undefined> {
  let folder = root;
  for (const name of names) {
    const next = join(folder, name);
    await mkdir(next, { mode: 0o700 }).catch((error: unknown) => {
      if (fileCodeOf(error) !== 'EEXIST') throw error;
    });
    folder = await realpath(next);
    if (!`${folder}${sep}`.startsWith(`${root}${sep}`)) return undefined;
  }
  return folder;
}

/**
 * Looks at the place of a file: `same` is a file of the same bytes. Nothing is read through a link, and nothing is opened that is
 * no file: the reading of a pipe may never end.
 */
async function lookAt(
  target: string,
  bytes: Uint8Array,
): Promise<'nothing' | 'same' | 'file' | 'link' | 'special'> {
  const there = await lstat(target).catch((error: unknown) => {
    if (fileCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (there === undefined) return 'nothing';
  if (there.isSymbolicLink()) return 'link';
  if (!there.isFile()) return 'special';
  const isSame = there.size === bytes.length && sameBytes(await readOwn(target), bytes);
  return isSame ? 'same' : 'file';
}

/** One tar archive of all files, encrypted for the recipients: `age -d` and `tar -x` open it. */
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
    for (const [done, source] of sources.entries()) {
      report.progress({ done, total }, { what: 'files', done, total });
      yield { name: nameOf(source), modified: source.modified, bytes: await readFile(run, source.path) };
    }
  }
  await writeArchive(entries(), { to, recipients, force, signal });
  await report.done({ files: total, to, ...told }, [
    `ok    ${counted(total, 'file')} in ${to}, for ${counted(recipients.length, 'recipient')}`,
  ]);
  return 0;
}

/** One page that holds every file, for a reviewer without a store, a key or this program. */
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
  const parts = htmlOf(sources, { title, exported: new Date(), read: (path) => readFile(run, path) });
  let done = 0;
  try {
    await writeOwnFile(to, async (file) => {
      for await (const part of parts) {
        throwIfAborted(signal);
        if (part.isFile) report.progress({ done, total }, { what: 'files', done: done++, total });
        await file.writeFile(part.html);
      }
    });
  } catch (error) {
    if (error instanceof MemoryError) throw error;
    throw cannotWrite(to, error);
  }
  await report.done({ files: total, to, ...told }, [
    `ok    ${counted(total, 'file')} in ${to}, in plain text: each person who has it can read all of them`,
  ]);
  return 0;
}
