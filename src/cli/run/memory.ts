import { isForTheOperator, MemoryError } from '../../errors.ts';
import type { History } from '../../history/history.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import { failureSentence } from '../../language/sentences.ts';
import { openMemoryUntil } from '../../open/open-memory.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import { typedName } from '../../open/options/origins.ts';
import type { FileEntry, FileStat, Files } from '../../tool/files.ts';
import type { ToolInput } from '../serve/tool.ts';
import { ahead } from './ahead.ts';
import { type Interrupted, type Invocation, tellInterruption } from './invocation.ts';
import { readMemoryOptions } from './settings.ts';
import { type AskedTenant, absentTenant, isMounted, type StateFields, tellIfAbsent } from './tenant-state.ts';

/** The means of a verb on files. */
export interface FileRun {
  readonly files: Files;
  /** The history of the memory's own tenant. */
  readonly history: History;
  readonly options: MemoryOptions;
  readonly invocation: Invocation;
}

/** Runs one verb on the files of the configured memory. Resolves to the exit code. */
export async function runOnFiles(
  verb: (run: FileRun) => Promise<number>,
  invocation: Invocation,
  { interrupted }: { readonly interrupted?: Interrupted } = {},
): Promise<number> {
  const options = readMemoryOptions(invocation);
  const { report, signal } = invocation;
  try {
    await using memory = await report.during('opening the memory', () => openMemoryUntil(options, signal));
    return await verb({ files: memory.files, history: memory.history, options, invocation });
  } catch (error) {
    tellInterruption(error, invocation, interrupted);
    throw limitAsTyped(error, options);
  }
}

/** The tenant of a run. */
export function ofFiles({ history, options: { tenant = '' }, invocation }: FileRun): AskedTenant {
  return { tenant, history, invocation };
}

/**
 * Tells on standard error that the memory's own tenant does not exist, where a listing shows none of its files: the
 * files of a mount say nothing of it. Makes no request where the listing shows one, or is of a mount.
 */
export async function tellIfNobodys(
  run: FileRun,
  at: string,
  found: readonly Pick<FileEntry, 'path'>[],
): Promise<StateFields> {
  const isEmpty = found.every(({ path }) => isMounted(path, run.options));
  return isEmpty && !isMounted(at, run.options) ? tellIfAbsent(ofFiles(run)) : {};
}

/** Makes the failure to find anything at a path; it says so where there is no tenant at all. */
async function nothingAt(
  { history, options, invocation: { signal } }: FileRun,
  path: string,
  sentence: string,
): Promise<MemoryError> {
  const isAbsent = !isMounted(path, options) && (await history.state({ signal })) === 'absent';
  const why = isAbsent ? `${sentence}: ${absentTenant(options.tenant ?? '')}` : `${sentence}.`;
  return new MemoryError('not_found', why);
}

/** Makes a refusal by a limit name the option or variable that was typed to set the limit. */
function limitAsTyped(error: unknown, options: MemoryOptions): unknown {
  if (!(error instanceof MemoryError)) return error;
  const { code, message, details, cause } = error;
  const [variable, option] = LIMIT_SETTINGS[String(details['limit'])] ?? [];
  if (variable === undefined || option === undefined || !message.includes(variable)) return error;
  const named = message.replace(variable, typedName(options, option));
  return new MemoryError(code, named, { details, cause });
}

/** The variable and the option that set each limit which a refusal names. */
const LIMIT_SETTINGS: Readonly<Record<string, readonly [variable: string, option: string]>> = {
  file_bytes: ['SEALED_MEMORY_MAX_FILE_BYTES', 'limits.fileBytes'],
  object_bytes: ['SEALED_MEMORY_MAX_FILE_BYTES', 'limits.fileBytes'],
  files: ['SEALED_MEMORY_MAX_FILES', 'limits.files'],
  tenant_bytes: ['SEALED_MEMORY_MAX_TENANT_BYTES', 'limits.tenantBytes'],
};

/** Runs `work`, and tells its refusal in the sentence of the tool's command that is nearest to it. */
export async function worded<T>(input: ToolInput, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MemoryError) || isForTheOperator(error)) throw error;
    const { code, details, cause } = error;
    const [setting] = LIMIT_SETTINGS[String(details['limit'])] ?? [];
    const sentence =
      failureSentence({ error, input, wording: 'doc' }).replace(/^Error: /, '') +
      (setting === undefined ? '' : ` (${setting} sets the limit)`);
    throw new MemoryError(code, sentence, { details, cause });
  }
}

/** @throws MemoryError `not_found`; `invalid_path`. */
export async function requireEntry(run: FileRun, path: string): Promise<FileEntry> {
  const { files, invocation } = run;
  const { report, signal } = invocation;
  const found = await report.during(`looking for ${path}`, () =>
    worded({ command: 'view', path }, () => files.stat(path, { signal })),
  );
  if (found !== undefined) return found;
  if (path === MEMORY_ROOT) return { type: 'directory', path };
  throw await nothingAt(run, path, `There is nothing at ${path}`);
}

/** The entries of a directory in the order of their paths; with `recursive` all files below it. */
export async function sortedEntries(
  { files, invocation: { report, signal } }: FileRun,
  { path, recursive }: { readonly path: string; readonly recursive: boolean },
): Promise<readonly FileEntry[]> {
  const entries: FileEntry[] = [];
  await report.during(`listing ${path}`, async () => {
    for await (const entry of files.list(path, { recursive, signal })) entries.push(entry);
  });
  return entries.sort(({ path: left }, { path: right }) => (left < right ? -1 : 1));
}

/** The file at a path, or all files below the directory there, in the order of their paths. */
export async function filesAt(run: FileRun, path: string): Promise<readonly FileStat[]> {
  const found = await requireEntry(run, path);
  if (found.type === 'file') return [found];
  const entries = await sortedEntries(run, { path, recursive: true });
  return entries.filter((entry) => entry.type === 'file');
}

/** @throws MemoryError `not_found`; `is_directory`. */
export function readFile(run: FileRun, path: string): Promise<Uint8Array> {
  return run.invocation.report.during(`reading ${path}`, () => readOneOfMany(run, path));
}

/**
 * Reads files in their order, and tells how far it has come; it reads those that follow meanwhile.
 *
 * @throws MemoryError as `readFile`.
 */
export async function* readAhead(
  run: FileRun,
  files: readonly FileStat[],
): AsyncGenerator<{ readonly file: FileStat; readonly bytes: Uint8Array }, void, undefined> {
  yield* eachAhead(run, files, async (file) => ({ file, bytes: await readOneOfMany(run, file.path) }));
}

/**
 * Yields what `work` makes of each file, in the order of the files, and tells how many are done; works on the files
 * that follow meanwhile.
 */
export async function* eachAhead<T extends { readonly size: number }, R>(
  { invocation: { report, signal } }: Pick<FileRun, 'invocation'>,
  files: readonly T[],
  work: (file: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const total = files.length;
  let done = 0;
  const tell = (): void => report.progress({ done, total }, { what: 'files', done, total });
  tell();
  for await (const result of ahead(files, work, { signal, bytesOf: ({ size }) => size })) {
    yield result;
    done++;
    tell();
  }
}

/** Reads a file as `readFile` does, without telling of its progress. @throws MemoryError as `readFile`. */
export async function readOneOfMany(run: FileRun, path: string): Promise<Uint8Array> {
  const { files, invocation } = run;
  const { signal } = invocation;
  const found = await worded({ command: 'view', path }, () => files.read(path, { signal }));
  if (found !== undefined) return found.bytes;
  if ((await files.stat(path, { signal })) !== undefined) {
    throw new MemoryError('is_directory', `${path} is a directory.`);
  }
  throw await nothingAt(run, path, `There is no file at ${path}`);
}

/** Counts how far a call has come. */
export interface Count {
  readonly done: number;
  readonly total: number;
}

/** Makes the options of a call that tells how far it has come. */
export function callOf({ signal, report }: Invocation, note: (progress: Count) => void = () => {}) {
  return {
    signal,
    onProgress(progress: Count): void {
      note(progress);
      report.progress({ ...progress }, { what: 'files', ...progress });
    },
  };
}
