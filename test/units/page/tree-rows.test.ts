import { describe, expect, it } from 'vitest';
import {
  applied,
  type FilesByPath,
  grown,
  ROOT,
  regrown,
  rowsOf,
  showsPath,
} from '../../../src/page/client/data/tree-rows.ts';
import type { StoredFile } from '../../../src/page/protocol.ts';

/** Tells the rows of files below the root as `level name`, those of closed directories with a `+`. */
function told(paths: readonly string[], closed: readonly string[] = []): readonly string[] {
  return rows(paths, closed).map(
    ({ level, name, file, isOpen }) => `${level} ${name}${file || isOpen ? '' : ' +'}`,
  );
}

function rows(paths: readonly string[], closed: readonly string[] = []) {
  const files = paths.map((path) => ({ path: `${ROOT}/${path}`, size: 1, modified: 1 }) as StoredFile);
  const tree = grown(new Map(files.map((file) => [file.path, file])));
  return rowsOf(tree, new Set(closed.map((path) => `${ROOT}/${path}`)));
}

describe('the rows of the tree', () => {
  it('join directories that hold one directory and nothing else, though never the root', () => {
    expect(told(['acme/billing/2026/a.md', 'acme/billing/2026/b.md'])).toEqual([
      '1 memories',
      '2 acme/billing/2026',
      '3 a.md',
      '3 b.md',
    ]);
    expect(told(['acme/billing/2026/a.md', 'acme/b.md', 'bolt/c.md'])).toEqual([
      '1 memories',
      '2 acme',
      '3 billing/2026',
      '4 a.md',
      '3 b.md',
      '2 bolt',
      '3 c.md',
    ]);
    expect(told(['acme/x/a.md', 'acme/y/z/b.md'])).toEqual([
      '1 memories',
      '2 acme',
      '3 x',
      '4 a.md',
      '3 y/z',
      '4 b.md',
    ]);
  });

  it('have the path of the innermost directory, and show those around it', () => {
    const [, joined] = rows(['acme/billing/2026/a.md']);
    expect(joined).toMatchObject({ path: `${ROOT}/acme/billing/2026`, files: 1, position: 1, siblings: 1 });
    const paths = ['', '/acme', '/acme/billing', '/acme/billing/2026', '/acme/billing/2026/a.md', '/acm'];
    expect(paths.map((path) => joined && showsPath(joined, ROOT + path))).toEqual([
      false,
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it('are closed if one of the joined directories is, and stay so when they part', () => {
    expect(told(['acme/billing/a.md'], ['acme'])).toEqual(['1 memories', '2 acme/billing +']);
    expect(told(['acme/billing/a.md'], ['acme/billing'])).toEqual(['1 memories', '2 acme/billing +']);
    expect(told(['acme/billing/a.md', 'acme/b.md'], ['acme/billing'])).toEqual([
      '1 memories',
      '2 acme',
      '3 billing +',
      '3 b.md',
    ]);
  });
});

describe('the tree after a change', () => {
  const fileAt = (path: string, size = 1): StoredFile =>
    ({ path: `${ROOT}/${path}`, size, modified: size }) as StoredFile;

  it('is the one that is made of all files at once', () => {
    const steps: readonly (readonly [changed: readonly string[], removed: readonly string[]])[] = [
      [['b/f10.md', 'b/f9.md', 'a.md', 'c/d/e.md'], []],
      [['b/f2.md', 'B/f1.md', 'b/g.md', 'c/d/f.md'], []],
      [['b/f9.md', 'a/a.md'], ['a.md']],
      [
        ['b', 'c/d/a\u0301.md', 'c/d/\u00e1.md'],
        ['b/f9.md', 'b/f10.md', 'b/f2.md', 'b/g.md', 'none/at/all.md'],
      ],
      [[], ['c/d/e.md', 'c/d/f.md', 'c/d/a\u0301.md', 'c/d/\u00e1.md']],
    ];
    let files: FilesByPath = new Map();
    let tree = grown(files);
    for (const [at, [changed, removed]] of steps.entries()) {
      const change = {
        whole: false,
        changed: changed.map((path) => fileAt(path, at + 1)),
        removed: removed.map((path) => `${ROOT}/${path}`),
      };
      files = applied(files, {
        ...change,
        isPartial: false,
        foreign: 0,
        everyMs: 0,
        restMs: 0,
        requests: {},
      });
      tree = regrown(tree, change);
      expect(tree).toEqual(grown(files));
      expect(tree).toEqual(grown(new Map([...files].reverse())));
    }
    expect(told([...files.keys()].map((path) => path.slice(ROOT.length + 1)))).toEqual([
      '1 memories',
      '2 a',
      '3 a.md',
      '2 B',
      '3 f1.md',
      '2 b',
    ]);
    expect(regrown(tree, { whole: true, changed: [], removed: [] })).toEqual(grown(new Map()));
  });

  it('shares with the one before every directory in which nothing changed', () => {
    const paths = ['a/x/1.md', 'a/y/1.md', 'b/1.md'];
    const before = grown(new Map(paths.map((path) => [path, fileAt(path)])));
    const after = regrown(before, { whole: false, changed: [fileAt('a/x/2.md')], removed: [] });
    expect(after.files).toBe(4);
    expect(after.branches[1]).toBe(before.branches[1]);
    expect(after.branches[0]?.branches[1]).toBe(before.branches[0]?.branches[1]);
    expect(after.branches[0]?.branches[0]).not.toBe(before.branches[0]?.branches[0]);
  });
});
