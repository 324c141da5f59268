import type { StoredFile, TreeChange } from '../../protocol.ts';

export const ROOT = '/memories';

/** A line of the tree as it is shown. */
export interface TreeRow {
  readonly path: string;
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

/** The lines of the tree: directories first, each by name; those in `closed` without what lies below them. */
export function rowsOf(root: TreeBranch, closed: ReadonlySet<string>): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (at: TreeBranch, level: number, position: number, siblings: number): void => {
    const isOpen = !closed.has(at.path);
    const { path, name, files, size, modified } = at;
    rows.push({ path, name, level, file: undefined, files, size, modified, isOpen, position, siblings });
    if (!isOpen) return;
    const below = at.branches.size + at.leaves.length;
    const branches = [...at.branches.values()].sort(byName);
    for (const [index, inner] of branches.entries()) add(inner, level + 1, index + 1, below);
    const leaves = at.leaves.map((file) => ({ file, name: nameOf(file.path) })).sort(byName);
    for (const [index, leaf] of leaves.entries()) {
      rows.push({
        path: leaf.file.path,
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
