import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { damagedFile, hasCode, MemoryError } from '../../errors.ts';
import { toBase64 } from '../../format/encoding.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import { decodeText, encodeText, findInLines } from '../../language/text.ts';
import { inTurns } from '../../time.ts';
import type { FileStat, Files } from '../../tool/files.ts';
import { EXIT_FAILED, type Invocation, ofOneChange } from '../run/invocation.ts';
import {
  eachAhead,
  type FileRun,
  filesAt,
  readFile,
  readOneOfMany,
  requireEntry,
  runOnFiles,
  tellIfNobodys,
  worded,
} from '../run/memory.ts';
import { cannotWrite, existsAlready, writeOwnFile } from '../run/own-file.ts';
import { readSource, type SourceOptions } from '../run/source.ts';
import { redactionLines } from '../show/redaction-lines.ts';
import { counted } from '../show/report.ts';

/** Lines as they are counted in an editor, from 1; without `last` to the end. */
export interface LineRange {
  readonly first: number;
  readonly last?: number | undefined;
}

export interface CatArguments {
  readonly lines?: LineRange;
}

/** The bytes go out as they are, whatever they are; in JSON they stand as text, or as base64 when they are none. */
export function runCat(paths: readonly string[], { lines }: CatArguments, invocation: Invocation) {
  return runOnFiles(async (run) => {
    const { terminal, report, flags } = invocation;
    for (const path of paths) {
      const bytes = await readFile(run, path);
      const wanted = lines === undefined ? bytes : linesOf(bytes, lines, path);
      if (flags.json === true) await report.entry({ path, ...contentOf(wanted) }, '');
      else await terminal.out(terminal.isForEyes ? textFor(wanted, path) : wanted);
    }
    if (flags.json === true) await report.done({ files: paths.length });
    return 0;
  }, invocation);
}

/** On a screen bytes that are no text would be of no use. */
export function textFor(bytes: Uint8Array, path: string): string {
  const text = decodeText(bytes);
  if (text !== undefined) return text;
  throw new MemoryError('not_text', `${path} is not text: "sealed-memory get" writes it to a file.`);
}

function contentOf(bytes: Uint8Array) {
  const text = decodeText(bytes);
  return text === undefined ? { base64: toBase64(bytes) } : { text };
}

function linesOf(bytes: Uint8Array, { first, last }: LineRange, path: string): Uint8Array {
  const lines = textFor(bytes, path).split(/(?<=\n)/);
  if (first > lines.length) {
    throw new MemoryError('line_out_of_range', `${path} has ${counted(lines.length, 'line')}.`);
  }
  return encodeText(lines.slice(first - 1, last).join(''));
}

export interface PutArguments extends SourceOptions {
  /** Never replaces a file. */
  readonly create?: boolean;
  /** Puts the content behind what is there. */
  readonly append?: boolean;
}

export function runPut(path: string, { create, append, ...source }: PutArguments, invocation: Invocation) {
  const put = async ({ files, options }: FileRun): Promise<number> => {
    const { terminal, report, signal } = invocation;
    const content = await readSource(source, { terminal, options, signal });
    const write = <T>(work: () => Promise<T>): Promise<T> =>
      report.during(`writing ${path}`, () => worded({ command: 'create', path }, work));
    if (append === true) {
      const { redacted } = await write(() => files.append(path, content, { signal }));
      const { size } = await requireFile(files, path, invocation);
      const appended = content.length;
      await report.done({ path, appended, size, ...(redacted && { redacted }) }, [
        `ok    ${counted(appended, 'byte')} appended to ${path}, which has ${counted(size, 'byte')} now`,
        ...redactionLines(path, redacted),
      ]);
    } else {
      const mode = create === true ? 'create' : 'replace';
      const written = await write(() => files.write(path, content, { mode, signal }));
      await report.done({ ...written }, redactionLines(path, written.redacted));
    }
    return 0;
  };
  return runOnFiles(put, invocation, { interrupted: ofOneChange });
}

async function requireFile(files: Files, path: string, { signal }: Invocation): Promise<FileStat> {
  const found = await files.stat(path, { signal });
  if (found?.type === 'file') return found;
  throw new MemoryError('not_found', `The text was appended, and ${path} was removed or renamed since.`);
}

/** Writes one file to one of the user's, which is replaced with `force` alone. */
export function runGet(
  path: string,
  { to = basename(path), force = false }: { readonly to?: string | undefined; readonly force?: boolean },
  invocation: Invocation,
) {
  const get = async (run: FileRun): Promise<number> => {
    const bytes = await readFile(run, path);
    if (to === '-') await invocation.terminal.out(bytes);
    else await writeOwn(to, bytes, { force });
    await invocation.report.done({ path, to, size: bytes.length });
    return 0;
  };
  const interrupted = to === '-' ? {} : { interrupted: 'nothing was written; run it again' };
  return runOnFiles(get, invocation, interrupted);
}

async function writeOwn(
  to: string,
  bytes: Uint8Array,
  { force }: { readonly force: boolean },
): Promise<void> {
  if (!force && existsSync(to)) throw existsAlready(to);
  await writeOwnFile(to, (file) => file.writeFile(bytes)).catch((error: unknown) => {
    throw cannotWrite(to, error);
  });
}

export function runCp(
  { from, to }: { readonly from: string; readonly to: string },
  { recursive = false, force = false }: { readonly recursive?: boolean; readonly force?: boolean },
  invocation: Invocation,
) {
  const copied = { done: 0, total: 0 };
  const copyAll = async (run: FileRun): Promise<number> => {
    const { report, signal, terminal } = invocation;
    const source = await requireEntry(run, from);
    if (source.type === 'directory' && !recursive) {
      throw new MemoryError('is_directory', `${from} is a directory: --recursive copies all below it.`);
    }
    if (`${to}/`.startsWith(`${from}/`)) {
      throw new MemoryError('invalid_command', `${from} cannot be copied into itself.`);
    }
    const sources = await filesAt(run, from);
    const targetOf = (path: string): string => `${to}${path.slice(from.length)}`;
    const paths = new Set(sources.map(({ path }) => path));
    const lost = sources.map(({ path }) => targetOf(path)).find((target) => paths.has(target));
    if (lost !== undefined) {
      throw new MemoryError(
        'invalid_command',
        `${lost} would be replaced before or after it is copied itself.`,
      );
    }
    copied.total = sources.length;
    const copy = ({ path }: FileStat) => {
      const target = targetOf(path);
      return worded({ command: 'create', path: target }, async () => {
        const { redacted } = await run.files.copy(path, target, {
          mode: force ? 'replace' : 'create',
          signal,
        });
        copied.done += 1;
        return { target, redacted };
      });
    };
    const copyInOrder = async (): Promise<void> => {
      for await (const { target, redacted } of eachAhead(run, sources, copy)) {
        for (const line of redactionLines(target, redacted)) {
          await report.entry({ path: target, redacted }, line);
        }
      }
    };
    await report.during(`copying ${from}`, copyInOrder).catch((error: unknown) => {
      if (copied.total > 1 && !signal.aborted) terminal.note(saidCopied());
      throw error;
    });
    await report.done({ from, to, files: copied.done });
    return 0;
  };
  const saidCopied = (): string =>
    `${copied.done} of ${counted(copied.total, 'file')} are copied to ${to}; the same command with --force copies all of them`;
  const interrupted = (failure: unknown): string => (copied.done === 0 ? ofOneChange(failure) : saidCopied());
  return runOnFiles(copyAll, invocation, { interrupted });
}

export function runMv({ from, to }: { readonly from: string; readonly to: string }, invocation: Invocation) {
  const rename = async (run: FileRun): Promise<number> => {
    const input = { command: 'rename', old_path: from, new_path: to };
    await invocation.report.during(`moving ${from}`, () =>
      worded(input, () => run.files.rename(from, to, callOf(invocation))),
    );
    await invocation.report.done({ from, to });
    return 0;
  };
  const interrupted = (failure: unknown): string =>
    hasCode(failure, 'outcome_unknown')
      ? `the rename was begun: the next change to this memory, or "verify --repair", finishes it or takes it back; look at ${from} and ${to} then`
      : 'nothing was renamed; run it again';
  return runOnFiles(rename, invocation, { interrupted });
}

export function runRm(
  paths: readonly string[],
  { recursive = false, force = false }: { readonly recursive?: boolean; readonly force?: boolean },
  invocation: Invocation,
) {
  let removed = 0;
  let current: Count | undefined;
  const call = callOf(invocation, (progress) => {
    current = progress;
  });
  const removeAll = async (run: FileRun): Promise<number> => {
    for (const path of paths) {
      if (path === MEMORY_ROOT && recursive) {
        throw new MemoryError(
          'invalid_command',
          `${path} itself cannot be removed: name what lies below it.`,
        );
      }
      const { report, signal } = invocation;
      const look = () => worded({ command: 'delete', path }, () => run.files.stat(path, { signal }));
      const found = await report.during(`looking for ${path}`, look).catch(damagedFile);
      if (found === undefined && force) continue;
      if (found?.type === 'directory' && !recursive) {
        throw new MemoryError('is_directory', `${path} is a directory: --recursive removes all below it.`);
      }
      await report.during(`removing ${path}`, () =>
        worded({ command: 'delete', path }, () => run.files.remove(path, call)),
      );
      current = undefined;
      removed += 1;
    }
    await invocation.report.done({ paths });
    return 0;
  };
  const interrupted = (failure: unknown): string => {
    const isPartly = current !== undefined && current.done > 0;
    if (removed === 0 && !isPartly && !hasCode(failure, 'outcome_unknown')) return 'nothing was removed';
    const told = [
      ...(removed > 0 ? [`${removed} of ${counted(paths.length, 'path')}`] : []),
      ...(current && isPartly ? [`${current.done} of ${current.total} files below ${paths[removed]}`] : []),
    ];
    const what = told.length === 0 ? 'some of it may be removed' : `${told.join(' and ')} are removed`;
    return `${what}; the same command with --force removes the rest`;
  };
  return runOnFiles(removeAll, invocation, { interrupted });
}

interface Count {
  readonly done: number;
  readonly total: number;
}

function callOf({ signal, report }: Invocation, note: (progress: Count) => void = () => {}) {
  return {
    signal,
    onProgress(progress: Count): void {
      note(progress);
      report.progress({ ...progress }, { what: 'files', ...progress });
    },
  };
}

export interface GrepArguments {
  readonly ignoreCase?: boolean;
  readonly fixedStrings?: boolean;
  readonly filesWithMatches?: boolean;
}

/**
 * Prints the lines that match; resolves to 1 when none does, as grep does, or when a file could not be read. Such a file is
 * named and keeps no one from the others.
 */
export function runGrep(
  { pattern, path }: { readonly pattern: string; readonly path: string },
  options: GrepArguments,
  invocation: Invocation,
) {
  const matcher = matcherOf(pattern, options);
  return runOnFiles(async (run) => {
    const { report, terminal } = invocation;
    const files = await filesAt(run, path);
    let [matches, skipped, unread] = [0, 0, 0];
    const read = async (file: FileStat) => {
      try {
        return { file, bytes: await readOneOfMany(run, file.path) };
      } catch (error) {
        return { file, error };
      }
    };
    await report.during(`searching ${path}`, async () => {
      for await (const { file, bytes, error } of eachAhead(run, files, read)) {
        // Deleted meanwhile.
        if (hasCode(error, 'not_found')) continue;
        if (bytes === undefined) {
          if (!hasCode(error, 'limit_exceeded', 'integrity', 'invalid_path')) throw error;
          if (error.code !== 'limit_exceeded') unread += 1;
          const { message } = error;
          terminal.note(error.code === 'integrity' ? `${file.path} is damaged: ${message}` : message);
          continue;
        }
        const text = decodeText(bytes);
        if (text === undefined) {
          skipped += 1;
          continue;
        }
        const matching = findInLines(text, (line, number) =>
          matcher.test(line) ? { line, number } : undefined,
        );
        const hits = await inTurns(matching, invocation.signal);
        if (hits.length > 0 && options.filesWithMatches === true) {
          await report.entry({ path: file.path }, file.path);
        } else {
          for (const { line, number } of hits) {
            const place = `${terminal.style('cyan', file.path)}:${number}:`;
            await report.entry(
              { path: file.path, line: number, text: line },
              `${place}${line.replace(/\r$/, '')}`,
            );
          }
        }
        matches += hits.length;
      }
    });
    if (skipped > 0)
      terminal.note(`${counted(skipped, 'file')} that ${skipped === 1 ? 'is' : 'are'} not text, passed over`);
    await report.done({ matches, skipped, unread, ...(await tellIfNobodys(run, path, files)) });
    return matches > 0 && unread === 0 ? 0 : EXIT_FAILED;
  }, invocation);
}

function matcherOf(pattern: string, { ignoreCase = false, fixedStrings = false }: GrepArguments): RegExp {
  const source = fixedStrings ? pattern.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : pattern;
  try {
    return new RegExp(source, ignoreCase ? 'iu' : 'u');
  } catch {
    throw new MemoryError(
      'misconfigured',
      'The pattern is not a regular expression; --fixed-strings takes it as it is.',
    );
  }
}
