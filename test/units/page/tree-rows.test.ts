import { describe, expect, it } from 'vitest';
import { grown, ROOT, rowsOf, showsPath } from '../../../src/page/client/data/tree-rows.ts';
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
