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

interface TreeBranch {
  readonly path: string;
  readonly name: string;
  readonly branches: Map<string, TreeBranch>;
  readonly leaves: StoredFile[];
  files: number;
  size: number;
  modified: number;
}

/** Every file in its directory; made once for each change. */
export function grown(files: FilesByPath): TreeBranch {
  const root = branch(ROOT, 'memories');
  for (const file of files.values()) {
    const names = file.path.slice(ROOT.length + 1).split('/');
    let at = root;
    count(at, file);
    for (const name of names.slice(0, -1)) {
      const next = at.branches.get(name) ?? branch(`${at.path}/${name}`, name);
      at.branches.set(name, next);
      at = next;
      count(at, file);
    }
    at.leaves.push(file);
  }
  return root;
}

function branch(path: string, name: string): TreeBranch {
  return { path, name, branches: new Map(), leaves: [], files: 0, size: 0, modified: 0 };
}

function count(at: TreeBranch, { size, modified }: StoredFile): void {
  at.files += 1;
  at.size += size;
  at.modified = Math.max(at.modified, modified);
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
    const below = inside.size + held.length;
    const branches = [...inside.values()].sort(byName);
    for (const [index, inner] of branches.entries()) add(inner, level + 1, index + 1, below);
    const leaves = held.map((file) => ({ file, name: nameOf(file.path) })).sort(byName);
    for (const [index, leaf] of leaves.entries()) {
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
        position: branches.length + index + 1,
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
  for (let at = outermost; at.leaves.length === 0 && at.branches.size === 1; ) {
    const [inner] = at.branches.values();
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

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return collator.compare(a.name, b.name);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
