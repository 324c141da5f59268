import { constants, realpathSync } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import { hasCode, hasReason, MemoryError } from '../../errors.ts';
import { sameBytes } from '../../format/encoding.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import { readSettings } from '../../open/options/settings.ts';
import { nameFileCode } from '../../store/failures.ts';
import { parseStoreLocation } from '../../store/open-store.ts';
import { KEYS_PER_REQUEST } from '../../store/port.ts';
import type { FileStat } from '../../tool/files.ts';
import type { Policy } from '../../tree/admission/policy.ts';
import { createLanes, prefetched } from '../run/ahead.ts';
import { type ChosenVerb, CONTINUES, type Invocation } from '../run/invocation.ts';
import { type FileRun, runOnFiles, worded } from '../run/memory.ts';
import { isPartial, noFolder } from '../run/own-file.ts';
import { DOT_ENV, PROJECT_FOLDER, ROOT_KEY_FILE, readEnvironment } from '../run/settings.ts';
import { isMounted } from '../run/tenant-state.ts';
import { pathArgument, typedPath } from '../run/typed.ts';
import { counted } from '../show/report.ts';
import { type Outcome, transferAll } from './transfer.ts';

interface ImportArguments {
  /** Replaces files of the memory that differ. */
  readonly force?: boolean;
}

/** Declares `import`. */
export function declareImport(program: Command, run: ChosenVerb<typeof runImport>): void {
  program
    .command('import <folder>')
    .addArgument(pathArgument('[path]'))
    .description(
      "copy all files of a folder into the memory; a folder of the SDK's filesystem tool or of Claude Code works too",
    )
    .option('-f, --force', 'replace files that differ')
    .action((from: string, path: string = MEMORY_ROOT, options: ImportArguments) =>
      run({ from, path }, options),
    );
}

/**
 * Writes every file of a folder into the memory, byte by byte. A file that lies there with the same bytes, or as the
 * policy writes them, is passed over, so a run that was cut off is simply run again. It lists the memory first, so that
 * no file costs a request to find out whether it is there. Links and special files are left. Resolves to 1 when a file
 * was left.
 */
export function runImport(
  { from, path }: { readonly from: string; readonly path: string },
  { force = false }: ImportArguments,
  invocation: Invocation,
): Promise<number> {
  const importAll = async (run: FileRun): Promise<number> => {
    const {
      limits: { fileBytes: most },
      policy,
      readOnly,
    } = readSettings(run.options);
    if (readOnly) refuseUnlessMounted(path, run.options);
    const folder = await folderToImport(from);
    const { terminal } = invocation;
    if (folder !== from) terminal.note(`the memory in this folder is ${folder}`);
    const { sources, unfinished, own } = await entriesBelow(folder, ownPlaces(run));
    for (const each of own)
      terminal.note(`${each} is of this program's own settings, keys or store: passed over`);
    for (const each of unfinished)
      terminal.note(`${each} is of an export that has not finished: passed over`);
    const there = await listedBelow(run, path, sources.length * LISTED_FOR_ONE);
    /** Paths that have a file of the folder. */
    const taken = new Set<string>();
    const inLane = createLanes();
    const bytesOf = ({ size }: Source): number => (size > most ? 0 : size);
    const readSource = prefetched(sources, (source) => readSourceFile(source, most), { bytesOf });
    const carry = async (source: Source): Promise<Outcome> => {
      const reading = readSource(source);
      const target = typedPath(`${path}/${relative(folder, source.path).split(sep).join('/')}`);
      // Goes in the order of the folder, however the reads end: of two names of one path the first one counts.
      return inLane(target, async () => {
        const read = await reading;
        if ('left' in read) return read;
        const isTaken = taken.has(target);
        const listed = isTaken ? undefined : there.get(target);
        const outcome = await importFile(run, { ...read, target, force, policy, isTaken, listed });
        if (typeof outcome === 'string' || 'redacted' in outcome) taken.add(target);
        return outcome;
      });
    };
    return transferAll(
      sources.map((source) => ({ name: source.path, size: bytesOf(source), carry: () => carry(source) })),
      { from, to: path, invocation },
    );
  };
  return runOnFiles(importAll, invocation, { interrupted: CONTINUES });
}

/**
 * Refuses a path in a read-only memory, unless it lies below a mount that takes writes. @throws MemoryError
 * `read_only`, naming such mounts.
 */
function refuseUnlessMounted(path: string, { mounts = [] }: MemoryOptions): void {
  const writable = mounts.filter(({ readOnly }) => readOnly !== true);
  if (isMounted(path, { mounts: writable })) return;
  const where = writable.map(({ at }) => at).join(', ');
  const advice = where === '' ? '' : ` It takes files below ${where}: name that after the folder.`;
  throw new MemoryError('read_only', `This memory can be read only; nothing was imported.${advice}`);
}

/**
 * Finds the memory in a folder: the SDK's filesystem tool keeps it in `memories`, Claude Code beside the sessions of a
 * project in `memory`.
 */
async function folderToImport(from: string): Promise<string> {
  const entries = await readdir(from, { withFileTypes: true }).catch((error: unknown) => {
    throw noFolder(from, error);
  });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  if (entries.length === 1 && folders.includes('memories')) return join(from, 'memories');
  const isProject = folders.includes('memory') && entries.some(({ name }) => name.endsWith('.jsonl'));
  return isProject ? join(from, 'memory') : from;
}

/**
 * The number of files to list for each file that is imported: a listing of that many costs one request, and so does a
 * look for one file.
 */
const LISTED_FOR_ONE = KEYS_PER_REQUEST;

/**
 * Lists the files below a directory of the memory, by their paths, so that none of them costs a request of its own. It
 * stops after some: a file beyond them asks for itself.
 */
async function listedBelow(
  { files, invocation: { report, signal } }: FileRun,
  path: string,
  most: number,
): Promise<ReadonlyMap<string, FileStat>> {
  const there = new Map<string, FileStat>();
  if (most === 0) return there;
  await report.during(`listing ${path}`, async () => {
    for await (const entry of files.list(path, { recursive: true, signal })) {
      if (entry.type === 'file') there.set(entry.path, entry);
      if (there.size === most) return;
    }
  });
  return there;
}

interface Source {
  readonly path: string;
  readonly isFile: boolean;
  /** Bytes; 0 where that cannot be told. */
  readonly size: number;
}

/** The ends of the names of an SQLite store's files. */
const BESIDE_SQLITE = ['', '-journal', '-wal', '-shm', '-reserve'];

/**
 * Lists the places of the settings, the root key and the store of this program: a model that reads its memory must not
 * find them there.
 */
function ownPlaces({ options: { store }, invocation: { flags } }: FileRun): readonly string[] {
  const { [ROOT_KEY_FILE]: keyFile } = readEnvironment(flags);
  const location = typeof store === 'string' ? parseStoreLocation(store, 'store') : undefined;
  const file = location?.kind === 'sqlite' ? pathOnDisk(location.path) : undefined;
  return [
    ...[DOT_ENV, PROJECT_FOLDER, keyFile].flatMap((path) => (path ? [pathOnDisk(path)] : [])),
    ...(file === undefined ? [] : BESIDE_SQLITE.map((end) => `${file}${end}`)),
  ];
}

/** The place that a path leads to, through links as well. */
function pathOnDisk(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/**
 * Lists all that lies below a folder. It tells apart what an export writes there or has left unfinished, and what lies
 * at the places of this program's own files.
 */
async function entriesBelow(
  folder: string,
  ownPlaces: readonly string[],
): Promise<{
  readonly sources: readonly Source[];
  readonly unfinished: readonly string[];
  readonly own: readonly string[];
}> {
  const sources: Source[] = [];
  const unfinished: string[] = [];
  const own: string[] = [];
  const root = pathOnDisk(folder);
  const isOwn = (path: string): boolean => {
    const place = join(root, relative(folder, path));
    return ownPlaces.includes(place);
  };
  const pending = [folder];
  for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
    const below = at;
    const entries = await readdir(below, { withFileTypes: true }).catch((error: unknown) => {
      throw noFolder(below, error);
    });
    const found: Promise<Source>[] = [];
    for (const entry of entries) {
      const path = join(below, entry.name);
      if (isOwn(path)) own.push(path);
      else if (entry.isDirectory()) pending.push(path);
      else if (isPartial(entry.name)) unfinished.push(path);
      else found.push(sourceAt(path, entry.isFile()));
    }
    sources.push(...(await Promise.all(found)));
  }
  sources.sort((left, right) => (left.path < right.path ? -1 : 1));
  return { sources, unfinished: unfinished.sort(), own: own.sort() };
}

async function sourceAt(path: string, isFile: boolean): Promise<Source> {
  const found = isFile ? await stat(path).catch(() => undefined) : undefined;
  return { path, isFile, size: found?.size ?? 0 };
}

const SPECIAL = { left: 'is a link or a special file' };
const tooLarge = (most: number) => ({
  left: `is larger than ${counted(most, 'byte')}, which SEALED_MEMORY_MAX_FILE_BYTES sets`,
});

async function readSourceFile(
  { path, isFile, size }: Source,
  most: number,
): Promise<{ readonly bytes: Uint8Array } | { readonly left: string }> {
  if (!isFile) return SPECIAL;
  try {
    if (size > most) return tooLarge(most);
    // Does not wait, even where the file has become a pipe since it was listed.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const now = await file.stat();
    if (!now.isFile()) return SPECIAL;
    return now.size > most ? tooLarge(most) : { bytes: await file.readFile() };
  } catch (error) {
    return path.includes('\ufffd')
      ? { left: 'has a name that is not UTF-8' }
      : { left: `cannot be read (${nameFileCode(error)})` };
  }
}

async function importFile(
  { files, invocation: { signal } }: FileRun,
  {
    bytes,
    target,
    force,
    policy,
    isTaken,
    listed,
  }: {
    readonly bytes: Uint8Array;
    readonly target: string;
    readonly force: boolean;
    /** The file at the path may be one that it has redacted. */
    readonly policy: Policy | undefined;
    /**
     * Another file of the folder was imported to that path: names that differ in their form of Unicode are one path.
     */
    readonly isTaken: boolean;
    /** The file at the path, as a listing at the beginning showed it. */
    readonly listed: FileStat | undefined;
  },
): Promise<Outcome> {
  const write = async (mode: 'create' | 'replace'): Promise<Outcome> => {
    const input = { command: 'create', path: target };
    const { redacted } = await worded(input, () => files.write(target, bytes, { mode, signal }));
    return redacted === undefined ? 'written' : { redacted };
  };
  const isThere = async (content: Uint8Array): Promise<boolean> => {
    // A file of the same size may be the same; only its content tells.
    if (listed !== undefined && listed.size !== content.length) return false;
    const there = await files.read(target, { signal });
    return there !== undefined && sameBytes(there.bytes, content);
  };
  const isThereRedacted = async (): Promise<boolean> => {
    const verdict = await policy?.({ path: target, content: bytes, signal });
    return typeof verdict === 'object' && 'redact' in verdict && isThere(verdict.redact);
  };
  if (listed === undefined) {
    try {
      return await write('create');
    } catch (error) {
      if (!hasCode(error, 'already_exists') || hasReason(error, 'below_file')) throw error;
    }
  }
  if ((await isThere(bytes)) || (await isThereRedacted())) return 'same';
  if (isTaken)
    return { left: 'has the path of a file that was imported: the names differ in accents typed apart' };
  if (!force) return { left: `differs from ${target}; --force replaces that` };
  return write('replace');
}
