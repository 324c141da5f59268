import type { StoredFile, TreeChange } from '../../protocol.ts';

export const ROOT = '/memories';

/** A line of the tree as it is shown. */
export interface TreeRow {
  /** The innermost directory of a row for several. */
  readonly path: string;
  /** The directories around `path` that the row shows too, the outermost first. */
  readonly around: readonly string[];
  readonly name: string;
  /** The depth in the tree, from 1. */
  readonly level: number;
  readonly file: StoredFile | undefined;
  /** The number of files below a directory; 1 for a file. */
  readonly files: number;
  readonly size: number;
  readonly modified: number;
  readonly isOpen: boolean;
  /** Its place among its siblings, from 1. */
  readonly position: number;
  readonly siblings: number;
}

/** The files as a listing, by their paths. */
export type FilesByPath = ReadonlyMap<string, StoredFile>;

/** The files after a change; the same map when nothing changed. */
export function applied(files: FilesByPath, { whole, changed, removed }: TreeChange): FilesByPath {
  if (!whole && changed.length === 0 && removed.length === 0) return files;
  const next = new Map(whole ? [] : files);
  for (const path of removed) next.delete(path);
  for (const file of changed) next.set(file.path, file);
  return next;
}

/** A file with its own name. */
interface TreeLeaf {
  readonly name: string;
  readonly file: StoredFile;
}

/** A directory with all that lies below it. It is never changed: a tree after a change shares what stayed as it was. */
export interface TreeBranch {
  readonly path: string;
  readonly name: string;
  /** Sorted by name, as a tree shows them. */
  readonly branches: readonly TreeBranch[];
  readonly leaves: readonly TreeLeaf[];
  readonly files: number;
  readonly size: number;
  readonly modified: number;
}

/** The tree without a file. */
export const BARE: TreeBranch = branchOf({ path: ROOT, name: 'memories', branches: [], leaves: [] });

/** A path below a directory that changes: the names from there on, and its file, which is undefined once it is gone. */
interface PathChange {
  readonly names: readonly string[];
  readonly file: StoredFile | undefined;
}

/** Makes the tree of files. */
export function grown(files: FilesByPath): TreeBranch {
  return regrown(BARE, { whole: true, changed: [...files.values()], removed: [] });
}

/** Makes the tree after a change. Sorts what is new, and puts it among what was sorted before. */
export function regrown(
  root: TreeBranch,
  { whole, changed, removed }: Pick<TreeChange, 'whole' | 'changed' | 'removed'>,
): TreeBranch {
  const changes = [
    ...removed.map((path) => ({ names: namesOf(path), file: undefined })),
    ...changed.map((file) => ({ names: namesOf(file.path), file })),
  ];
  return withChanges(whole ? BARE : root, changes, 0);
}

function namesOf(path: string): readonly string[] {
  return path.slice(ROOT.length + 1).split('/');
}

/** Makes a directory after changes below it, whose names at `depth` lie in it. */
function withChanges(at: TreeBranch, changes: readonly PathChange[], depth: number): TreeBranch {
  const leaves = new Map<string, TreeLeaf | undefined>();
  const inside = new Map<string, PathChange[]>();
  for (const change of changes) {
    const name = change.names[depth] ?? '';
    const isHere = change.names.length === depth + 1;
    if (isHere) leaves.set(name, change.file && { name, file: change.file });
    else {
      const below = inside.get(name) ?? [];
      below.push(change);
      inside.set(name, below);
    }
  }
  const before = new Map(inside.size === 0 ? [] : at.branches.map((each) => [each.name, each]));
  const branches = new Map<string, TreeBranch | undefined>();
  for (const [name, below] of inside) {
    const bare = { ...BARE, path: `${at.path}/${name}`, name };
    const next = withChanges(before.get(name) ?? bare, below, depth + 1);
    branches.set(name, next.files === 0 ? undefined : next);
  }
  return branchOf({
    ...at,
    branches: merged(at.branches, branches),
    leaves: merged(at.leaves, leaves),
  });
}

function branchOf({
  path,
  name,
  branches,
  leaves,
}: Pick<TreeBranch, 'path' | 'name' | 'branches' | 'leaves'>): TreeBranch {
  let [files, size, modified] = [leaves.length, 0, 0];
  for (const { file } of leaves) {
    size += file.size;
    modified = Math.max(modified, file.modified);
  }
  for (const each of branches) {
    files += each.files;
    size += each.size;
    modified = Math.max(modified, each.modified);
  }
  return { path, name, branches, leaves, files, size, modified };
}

/**
 * Puts each new entry in the place of the old one of its name, or among the others in their order; leaves out an entry
 * that is undefined.
 */
function merged<T extends { readonly name: string }>(
  sorted: readonly T[],
  changes: ReadonlyMap<string, T | undefined>,
): readonly T[] {
  if (changes.size === 0) return sorted;
  const kept = sorted.filter(({ name }) => !changes.has(name));
  const fresh = [...changes.values()].filter((each) => each !== undefined).sort(byName);
  const all: T[] = [];
  let from = 0;
  for (const each of fresh) {
    const to = placeIn(kept, each, from);
    for (; from < to; from += 1) all.push(kept[from] as T);
    all.push(each);
  }
  return [...all, ...kept.slice(from)];
}

/** Finds the place of a new entry among the sorted ones, from a place on. */
function placeIn<T extends { readonly name: string }>(sorted: readonly T[], each: T, from: number): number {
  let [low, high] = [from, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = sorted[middle];
    if (other !== undefined && byName(other, each) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Tells whether a row shows a path: as its own, or as a directory that it joins with the one inside. */
export function showsPath({ path, around }: TreeRow, wanted: string): boolean {
  return path === wanted || around.includes(wanted);
}

/**
 * The lines of the tree: directories first, each by name; those in `closed` without what lies below them. A directory
 * below the root that holds one directory and nothing else shares its line with that one: `acme/billing/2026`.
 */
export function rowsOf(root: TreeBranch, closed: ReadonlySet<string>): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (at: TreeBranch, level: number, position: number, siblings: number): void => {
    const joined = at === root ? [at] : chainOf(at);
    const { path, files, size, modified, branches: inside, leaves: held } = joined.at(-1) ?? at;
    const isOpen = !joined.some((each) => closed.has(each.path));
    const name = joined.map((each) => each.name).join('/');
    const around = joined.slice(0, -1).map((each) => each.path);
    rows.push({
      path,
      around,
      name,
      level,
      file: undefined,
      files,
      size,
      modified,
      isOpen,
      position,
      siblings,
    });
    if (!isOpen) return;
    const below = inside.length + held.length;
    for (const [index, inner] of inside.entries()) add(inner, level + 1, index + 1, below);
    for (const [index, leaf] of held.entries()) {
      rows.push({
        path: leaf.file.path,
        around: [],
        name: leaf.name,
        level: level + 1,
        file: leaf.file,
        files: 1,
        size: leaf.file.size,
        modified: leaf.file.modified,
        isOpen: false,
        position: inside.length + index + 1,
        siblings: below,
      });
    }
  };
  add(root, 1, 1, 1);
  return rows;
}

/** Lists a directory and those inside, each of which is all that the one before holds. */
function chainOf(outermost: TreeBranch): readonly TreeBranch[] {
  const chain = [outermost];
  for (let at = outermost; at.leaves.length === 0 && at.branches.length === 1; ) {
    const [inner] = at.branches;
    if (inner === undefined) break;
    chain.push(inner);
    at = inner;
  }
  return chain;
}

/** The files whose paths hold the text, whatever its case. */
export function filtered(files: FilesByPath, text: string): FilesByPath {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return files;
  return new Map([...files].filter(([path]) => path.slice(ROOT.length).toLowerCase().includes(wanted)));
}

const collator = new Intl.Collator('en', { numeric: true });

/** Compares names as people sort them (2 before 10), and two names that they take for one by their characters. */
function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return collator.compare(a.name, b.name) || (a.name < b.name ? -1 : 1);
}
