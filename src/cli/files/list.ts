import type { Command } from 'commander';
import { formatSize } from '../../language/listing.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import type { FileEntry } from '../../tool/files.ts';
import { type ChosenVerb, forReaders, type Invocation } from '../run/invocation.ts';
import {
  type FileRun,
  filesAt,
  requireEntry,
  runOnFiles,
  sortedEntries,
  tellIfNobodys,
} from '../run/memory.ts';
import { pathArgument } from '../run/typed.ts';
import { type Branch, linesBelow } from '../show/branches.ts';
import { counted } from '../show/report.ts';
import { timeOf } from '../show/shown.ts';
import type { Terminal } from '../show/terminal.ts';

interface ListArguments {
  readonly long?: boolean;
  readonly recursive?: boolean;
}

/** Declares `ls`. */
export function declareLs(program: Command, run: ChosenVerb<typeof runLs>): void {
  program
    .command('ls')
    .addArgument(pathArgument('[path]'))
    .description('list a directory')
    .option('-l, --long', 'with sizes and times')
    .option('-R, --recursive', 'every file below it')
    .action((path: string = MEMORY_ROOT, options: ListArguments) => run(path, options));
}

export function runLs(
  path: string,
  { long = false, recursive = false }: ListArguments,
  invocation: Invocation,
) {
  return forReaders(() =>
    runOnFiles(async (run) => {
      const { report, terminal } = invocation;
      const found = await requireEntry(run, path);
      const entries = found.type === 'file' ? [found] : await sortedEntries(run, { path, recursive });
      for (const entry of entries) {
        const name = nameBelow(path, entry);
        await report.entry(
          { ...entry },
          long ? longLine(name, entry, terminal) : shownName(name, entry, terminal),
        );
      }
      const told = found.type === 'file' ? {} : await tellIfNobodys(run, path, entries);
      await report.done({ entries: entries.length, ...told });
      return 0;
    }, invocation),
  );
}

function longLine(name: string, entry: FileEntry, terminal: Terminal): string {
  const [size, modified] = entry.type === 'file' ? [String(entry.size), timeOf(entry.modified)] : ['-', '-'];
  return `${size.padStart(10)}  ${modified.padEnd(20)}  ${shownName(name, entry, terminal)}`;
}

function shownName(name: string, { type }: FileEntry, terminal: Terminal): string {
  return type === 'directory' ? terminal.style('blue', `${name}/`) : name;
}

function nameBelow(directory: string, { path }: FileEntry): string {
  return path === directory ? path : path.slice(directory.length + 1);
}

interface Entry {
  readonly name: string;
  readonly children: Map<string, Entry>;
}

/** Declares `tree`. */
export function declareTree(program: Command, run: ChosenVerb<typeof runTree>): void {
  program
    .command('tree')
    .addArgument(pathArgument('[path]'))
    .description('draw all that lies below a directory')
    .action((path: string = MEMORY_ROOT) => run(path));
}

export function runTree(path: string, invocation: Invocation) {
  return forReaders(() =>
    runOnFiles(async (run) => {
      const { report, terminal } = invocation;
      const files = await filesAt(run, path);
      const root: Entry = { name: path, children: new Map() };
      // A file that the path names has nothing below it.
      for (const file of files) if (file.path !== path) grow(root, nameBelow(path, file).split('/'));
      await report.entry({ path, files: files.map((file) => file.path) }, terminal.style('blue', path));
      if (invocation.flags.json !== true) {
        for (const line of linesBelow(branchOf(root))) await terminal.out(`${line}\n`);
      }
      const told = await tellIfNobodys(run, path, files);
      await report.done({ files: files.length, ...told }, ['', counted(files.length, 'file')]);
      return 0;
    }, invocation),
  );
}

function grow(root: Entry, names: readonly string[]): void {
  let branch = root;
  for (const name of names) {
    const child = branch.children.get(name) ?? { name, children: new Map() };
    branch.children.set(name, child);
    branch = child;
  }
}

function branchOf({ name, children }: Entry): Branch {
  return { line: `${name}${children.size > 0 ? '/' : ''}`, below: [...children.values()].map(branchOf) };
}

/** Declares `du`. */
export function declareDu(program: Command, run: ChosenVerb<typeof runDu>): void {
  program
    .command('du')
    .addArgument(pathArgument('[path]'))
    .description('sum up sizes below a directory')
    .action((path: string = MEMORY_ROOT) => run(path));
}

/** Prints the bytes below each entry of a directory, the largest last, then those of all. */
export function runDu(path: string, invocation: Invocation) {
  return forReaders(() =>
    runOnFiles(async (run) => {
      const { report } = invocation;
      const sums = new Map<string, { bytes: number; files: number }>();
      const all = { bytes: 0, files: 0 };
      const files = await filesAt(run, path);
      for (const file of files) {
        const [name = file.path] = nameBelow(path, file).split('/');
        const child = file.path === path ? path : `${path}/${name}`;
        const sum = sums.get(child) ?? { bytes: 0, files: 0 };
        sums.set(child, sum);
        for (const each of [sum, all]) {
          each.bytes += file.size;
          each.files += 1;
        }
      }
      for (const [child, sum] of [...sums].sort(([, a], [, b]) => a.bytes - b.bytes)) {
        await report.entry({ path: child, ...sum }, sizeLine(child, sum));
      }
      const told = await tellIfNobodys(run, path, files);
      await report.done({ path, ...all, ...told }, [sizeLine(`${path} in all`, all)]);
      return 0;
    }, invocation),
  );
}

function sizeLine(
  name: string,
  { bytes, files }: { readonly bytes: number; readonly files: number },
): string {
  return `${formatSize(bytes).padStart(9)}  ${counted(files, 'file').padStart(10)}  ${name}`;
}

/** Declares `stat`. */
export function declareStat(program: Command, run: ChosenVerb<typeof runStat>): void {
  program
    .command('stat')
    .addArgument(pathArgument('<path>'))
    .description('show size, time and version')
    .action((path: string) => run(path));
}

export function runStat(path: string, invocation: Invocation) {
  return runOnFiles(async (run: FileRun) => {
    const entry = await requireEntry(run, path);
    const facts =
      entry.type === 'file'
        ? [
            `size:     ${counted(entry.size, 'byte')}`,
            `modified: ${timeOf(entry.modified)}`,
            `version:  ${entry.version}`,
          ]
        : [];
    await invocation.report.done({ ...entry }, [`path:     ${path}`, `type:     ${entry.type}`, ...facts]);
    return 0;
  }, invocation);
}
