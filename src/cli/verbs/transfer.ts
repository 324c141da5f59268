import { randomBytes } from 'node:crypto';
import {
  mkdir,
  open,
  readdir,
  readFile as readOwn,
  realpath,
  rename,
  rm,
  stat,
  utimes,
} from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { hasCode, MemoryError, misconfigured } from '../../errors.ts';
import { sameBytes } from '../../format/encoding.ts';
import { parseMemoryPath } from '../../language/path.ts';
import { readSettings } from '../../open/options.ts';
import { fileCodeOf } from '../../store/failures.ts';
import type { FileStat } from '../../tool/files.ts';
import { EXIT_FAILED, type Invocation } from './invocation.ts';
import { type FileRun, filesAt, readFile, runOnFiles, worded } from './memory.ts';
import { counted } from './report.ts';

/** What became of one file. */
type Outcome = 'written' | 'same' | { readonly left: string };

export interface ImportArguments {
  /** Replaces files of the memory that differ. */
  readonly force?: boolean;
}

/**
 * Writes every file of a folder into the memory, byte by byte. A file that lies there with the same bytes is passed
 * over, so a run that was cut off is simply run again. Links and special files are left. Resolves to 1 when a file was left.
 */
export function runImport(
  { from, path }: { readonly from: string; readonly path: string },
  { force = false }: ImportArguments,
  invocation: Invocation,
): Promise<number> {
  return runOnFiles(async (run) => {
    const most = readSettings(run.options).maxFileBytes;
    const folder = await folderToImport(from);
    const sources = await entriesBelow(folder);
    return transferAll(
      sources.map((source) => ({
        name: source.path,
        transfer: async (): Promise<Outcome> => {
          if (!source.isFile) return { left: 'is a link or a special file' };
          const { size } = await stat(source.path);
          if (size > most) {
            return {
              left: `is larger than ${counted(most, 'byte')}, which SEALED_MEMORY_MAX_FILE_BYTES sets`,
            };
          }
          const target = `${path}/${relative(folder, source.path).split(sep).join('/')}`;
          return importFile(run, { bytes: await readOwn(source.path), target, force });
        },
      })),
      { from, to: path, invocation },
    );
  }, invocation);
}

/** The folder of the SDK's filesystem tool holds the memory below a folder `memories`. */
async function folderToImport(from: string): Promise<string> {
  const entries = await readdir(from, { withFileTypes: true }).catch((error: unknown) => {
    throw misconfigured(`${from} is no folder that can be read (${fileCodeOf(error) ?? 'unknown error'}).`);
  });
  const [only] = entries;
  return entries.length === 1 && only?.name === 'memories' && only.isDirectory()
    ? join(from, only.name)
    : from;
}

interface Source {
  readonly path: string;
  readonly isFile: boolean;
}

async function entriesBelow(folder: string): Promise<readonly Source[]> {
  const found: Source[] = [];
  const pending = [folder];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    for (const entry of await readdir(at, { withFileTypes: true })) {
      const path = join(at, entry.name);
      if (entry.isDirectory()) pending.push(path);
      else found.push({ path, isFile: entry.isFile() });
    }
  }
  return found.sort((left, right) => (left.path < right.path ? -1 : 1));
}

async function importFile(
  run: FileRun,
  { bytes, target, force }: { readonly bytes: Uint8Array; readonly target: string; readonly force: boolean },
): Promise<Outcome> {
  const { files, invocation } = run;
  const { signal } = invocation;
  try {
    await worded({ command: 'create', path: target }, () =>
      files.write(target, bytes, { mode: 'create', signal }),
    );
    return 'written';
  } catch (error) {
    if (hasCode(error, 'invalid_path', 'limit_exceeded', 'is_directory')) {
      return { left: `was refused: ${error.message}` };
    }
    if (!hasCode(error, 'already_exists')) throw error;
  }
  const there = await files.read(target, { signal });
  if (there !== undefined && sameBytes(there.bytes, bytes)) return 'same';
  if (!force) return { left: `differs from ${target}; --force replaces that` };
  await files.write(target, bytes, { mode: 'replace', signal });
  return 'written';
}

export interface ExportArguments {
  /** Replaces files of the folder that differ. */
  readonly force?: boolean;
  /** Recipients of age: one encrypted archive in place of a folder. */
  readonly age?: readonly string[];
}

/**
 * Writes a file of the memory, or all files below a directory, into a folder, byte by byte, with their times, for their
 * owner alone. A file that lies there with the same bytes is passed over. Resolves to 1 when a file was left.
 */
export function runExport(
  { path, to }: { readonly path: string; readonly to: string },
  { force = false, age = [] }: ExportArguments,
  invocation: Invocation,
): Promise<number> {
  return runOnFiles(async (run) => {
    parseMemoryPath(path);
    const sources = await filesAt(run, path);
    const nameOf = (file: FileStat): string =>
      file.path === path ? path.slice(path.lastIndexOf('/') + 1) : file.path.slice(path.length + 1);
    if (age.length > 0) return exportArchive(run, { sources, nameOf, to, recipients: age, force });
    await mkdir(to, { recursive: true, mode: 0o700 });
    const root = await realpath(to);
    return transferAll(
      sources.map((source) => ({
        name: source.path,
        transfer: async (): Promise<Outcome> =>
          exportFile({ bytes: await readFile(run, source.path), root, name: nameOf(source), source, force }),
      })),
      { from: path, to, invocation },
    );
  }, invocation);
}

async function exportFile({
  bytes,
  root,
  name,
  source,
  force,
}: {
  readonly bytes: Uint8Array;
  readonly root: string;
  readonly name: string;
  readonly source: FileStat;
  readonly force: boolean;
}): Promise<Outcome> {
  const target = join(root, ...name.split('/'));
  try {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    // A link in the folder may lead elsewhere.
    if (!`${await realpath(dirname(target))}${sep}`.startsWith(`${root}${sep}`)) {
      return { left: 'lies behind a link that leads out of the folder' };
    }
    const there = await readOwn(target).catch((error: unknown) => {
      if (fileCodeOf(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (there !== undefined && sameBytes(there, bytes)) return 'same';
    if (there !== undefined && !force) return { left: `differs from ${target}; --force replaces that` };
    await writeWhole(target, { bytes, modified: source.modified });
    return 'written';
  } catch (error) {
    const code = fileCodeOf(error);
    if (code === undefined || hasCode(error, 'aborted')) throw error;
    return { left: `cannot be written (${code})` };
  }
}

/** The whole file or none: beside its place first. */
async function writeWhole(
  target: string,
  { bytes, modified }: { readonly bytes: Uint8Array; readonly modified: Date },
): Promise<void> {
  const partial = `${target}.${randomBytes(4).toString('hex')}.partial`;
  try {
    {
      await using file = await open(partial, 'wx', 0o600);
      await file.writeFile(bytes);
      await file.sync();
    }
    await utimes(partial, modified, modified);
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
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
  }: {
    readonly sources: readonly FileStat[];
    readonly nameOf: (file: FileStat) => string;
    readonly to: string;
    readonly recipients: readonly string[];
    readonly force: boolean;
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
  await report.done({ files: total, to }, [
    `ok    ${counted(total, 'file')} in ${to}, for ${counted(recipients.length, 'recipient')}`,
  ]);
  return 0;
}

/** One after the other, so that a run that was cut off has done a beginning of the whole. */
async function transferAll(
  transfers: readonly { readonly name: string; transfer(): Promise<Outcome> }[],
  { from, to, invocation }: { readonly from: string; readonly to: string; readonly invocation: Invocation },
): Promise<number> {
  const { report, signal } = invocation;
  const counts = { written: 0, same: 0, left: 0 };
  for (const [done, { name, transfer }] of transfers.entries()) {
    report.progress({ done, total: transfers.length }, { what: 'files', done, total: transfers.length });
    if (signal.aborted) throw new MemoryError('aborted', 'The transfer was cancelled.');
    const outcome = await transfer();
    if (typeof outcome === 'object') {
      counts.left += 1;
      await report.entry({ path: name, left: outcome.left }, `FAIL  ${name} ${outcome.left}`);
    } else {
      counts[outcome] += 1;
    }
  }
  const { written, same, left } = counts;
  const told = [
    `${counted(written, 'file')} written to ${to}`,
    ...(same > 0 ? [`${same} there already`] : []),
    ...(left > 0 ? [`${left} left`] : []),
  ];
  await report.done({ from, to, ...counts }, [`${left > 0 ? 'FAIL ' : 'ok   '} ${told.join(', ')}`]);
  return left > 0 ? EXIT_FAILED : 0;
}
