import { echoText, type Lines, pageOf } from './page.ts';
import type { MemoryPath } from './path.ts';

/** A file below a viewed directory; `size` in bytes of plaintext. */
interface SizedPath {
  readonly path: MemoryPath;
  readonly size: number;
}

const LEVELS = 2;
const UNITS = ['B', 'K', 'M', 'G'] as const;

/** A name of a directory's listing. A file and a directory of one name are two entries. */
interface ListingEntry {
  readonly name: string;
  readonly directory: boolean;
  size: number;
  /** The rows of this entry and of all entries below it. */
  rows: number;
  readonly children: Map<string, ListingEntry>;
}

/** The view of a directory, made while its files are found. */
interface DirectoryView {
  /** Adds files, in about a microsecond each. All files below the directory must be added, in any order. */
  add(files: readonly SizedPath[]): void;
  /** Adds directories that get a row even when they are empty. */
  addDirectories(directories: readonly MemoryPath[]): void;
  /**
   * Makes the reply: one row for the directory and for every visible entry two levels deep, cut to one page.
   * `truncatedAt`: the listing ended after that many files, and the reply says so.
   *
   * @throws MemoryError `line_out_of_range` when `viewRange` names no rows.
   */
  reply(request: {
    readonly given: string;
    readonly viewRange?: readonly number[] | undefined;
    readonly truncatedAt?: number | undefined;
  }): string;
}

export function createDirectoryView(path: MemoryPath): DirectoryView {
  const root = directoryEntry('');
  return {
    add(files) {
      for (const file of files) addFile(root, file, path);
    },
    addDirectories(directories) {
      for (const directory of directories) addDirectory(root, directory, path);
    },
    reply({ given, viewRange, truncatedAt }) {
      const page = pageOf(listingRows(path, root), { viewRange, named: 'row' });
      const header =
        `Here're the files and directories up to 2 levels deep in ${echoText(given)}, ` +
        'excluding hidden items and node_modules:';
      return [header, ...page.lines, ...truncation(truncatedAt), ...page.notes].join('\n');
    },
  };
}

function truncation(truncatedAt: number | undefined): readonly string[] {
  if (truncatedAt === undefined) return [];
  return [
    `(Only ${truncatedAt} files were listed. There are more, and the sizes of directories are too small: ` +
      'view a directory further down to see all of its files.)',
  ];
}

/**
 * Makes the rows `{size}\t{path}`: first the directory at `path`, then everything visible two levels deep, depth first,
 * siblings by the UTF-16 code units of their names. Hidden entries get no row and count in their directory's size. Only
 * requested rows are sorted and worded.
 */
function listingRows(path: MemoryPath, root: ListingEntry): Lines {
  return { count: root.rows, from: (first) => rowsOf(root, path, first - 1) };
}

/**
 * Formats a size as the listing prints it, in units of 1,024: no decimal for whole numbers of a unit, else one.
 * Gigabytes are the largest unit; rounding never moves a size up to the next one (1,048,575 is `1024.0K`).
 */
export function formatSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)}${UNITS[unit]}`;
}

function addFile(root: ListingEntry, { path, size }: SizedPath, directory: MemoryPath): void {
  const names = path.slice(directory.length + 1).split('/', LEVELS + 1);
  const entries = [root];
  root.size += size;
  for (const [depth, name] of names.slice(0, LEVELS).entries()) {
    if (isHidden(name)) return;
    const entry = childOf(entries, name, depth < names.length - 1);
    entry.size += size;
    entries.push(entry);
  }
}

/** Adds the row of a directory directly below the viewed one. */
function addDirectory(root: ListingEntry, directory: MemoryPath, viewed: MemoryPath): void {
  const name = directory.slice(viewed.length + 1);
  if (!isHidden(name)) childOf([root], name, true);
}

/** Finds or makes the entry below the last of `ancestors`; each of them counts a new one. */
function childOf(ancestors: readonly ListingEntry[], name: string, directory: boolean): ListingEntry {
  const key = directory ? `${name}/` : name;
  const siblings = ancestors.at(-1)?.children ?? new Map<string, ListingEntry>();
  const known = siblings.get(key);
  if (known !== undefined) return known;
  const entry = { name, directory, size: 0, rows: 1, children: new Map<string, ListingEntry>() };
  siblings.set(key, entry);
  for (const ancestor of ancestors) ancestor.rows += 1;
  return entry;
}

/** Yields the rows of an entry and of those below it, without the first `skipped`. */
function* rowsOf(entry: ListingEntry, path: string, skipped: number): Generator<string, void> {
  if (skipped === 0) yield `${formatSize(entry.size)}\t${path}${slashOf(entry)}`;
  let skip = Math.max(0, skipped - 1);
  for (const child of [...entry.children.values()].sort(byName)) {
    if (skip < child.rows) yield* rowsOf(child, `${path}/${child.name}`, skip);
    skip = Math.max(0, skip - child.rows);
  }
}

/** Answers the slash after the name of a directory; the viewed directory itself, whose name is empty here, has none. */
function slashOf({ name, directory }: ListingEntry): string {
  return directory && name !== '' ? '/' : '';
}

function byName(a: ListingEntry, b: ListingEntry): number {
  if (a.name !== b.name) return a.name < b.name ? -1 : 1;
  return Number(a.directory) - Number(b.directory);
}

function isHidden(name: string): boolean {
  return name.startsWith('.') || name === 'node_modules';
}

function directoryEntry(name: string): ListingEntry {
  return { name, directory: true, size: 0, rows: 1, children: new Map() };
}
