import { describe, expect, it } from 'vitest';
import { createDirectoryView, formatSize } from '../../../src/language/listing.ts';
import { MEMORY_ROOT, parseMemoryPath } from '../../../src/language/path.ts';
import { viewDirectory } from './view-directory.ts';

function filesOf(sizes: Readonly<Record<string, number>>) {
  return Object.entries(sizes).map(([path, size]) => ({ path: parseMemoryPath(`/memories/${path}`), size }));
}

function rowsOf(sizes: Readonly<Record<string, number>>, viewRange?: readonly number[]): readonly string[] {
  const reply = viewDirectory({
    given: '/memories/',
    path: MEMORY_ROOT,
    files: filesOf(sizes),
    viewRange,
  });
  const [header, ...rows] = reply.split('\n');
  expect(header).toBe(
    "Here're the files and directories up to 2 levels deep in /memories/, excluding hidden items and node_modules:",
  );
  return rows;
}

describe('viewDirectory', () => {
  it('shows an empty store as one row', () => {
    expect(rowsOf({})).toEqual(['0B\t/memories']);
  });

  it('shows two levels depth first, directories with a slash', () => {
    expect(rowsOf({ 'b.txt': 1024, 'a/x.txt': 1, 'a/deep/er/y.txt': 1000, 'c/z': 0 })).toEqual([
      '2.0K\t/memories',
      '1001B\t/memories/a/',
      '1000B\t/memories/a/deep/',
      '1B\t/memories/a/x.txt',
      '1K\t/memories/b.txt',
      '0B\t/memories/c/',
      '0B\t/memories/c/z',
    ]);
  });

  it('sorts siblings by UTF-16 code units, files and directories mixed', () => {
    expect(
      rowsOf({ a: 0, B: 0, 'a-b': 0, 'a/x': 0, '\uffee': 0, '😀': 0, 'A/x': 0 }).map((row) => row.slice(3)),
    ).toEqual([
      '/memories',
      '/memories/A/',
      '/memories/A/x',
      '/memories/B',
      '/memories/a',
      '/memories/a/',
      '/memories/a/x',
      '/memories/a-b',
      '/memories/😀',
      '/memories/\uffee',
    ]);
  });

  it('shows a file before the directory of its name, whichever came first', () => {
    for (const sizes of [
      { a: 0, 'a/x': 0 },
      { 'a/x': 0, a: 0 },
    ]) {
      const names = rowsOf(sizes).map((row) => row.slice(3));
      expect(names).toEqual(['/memories', '/memories/a', '/memories/a/', '/memories/a/x']);
    }
  });

  it('leaves hidden entries out at every level but counts them', () => {
    expect(
      rowsOf({
        '.git/config': 100,
        '.env': 10,
        'node_modules/x/y': 1,
        'src/node_modules': 2,
        'src/.cache/z': 3,
        'src/deep/.hidden': 4,
        'only/.hidden': 5,
      }),
    ).toEqual(['125B\t/memories', '5B\t/memories/only/', '9B\t/memories/src/', '4B\t/memories/src/deep/']);
  });

  it('lists a hidden directory viewed by name', () => {
    const path = parseMemoryPath('/memories/.git');
    const reply = viewDirectory({
      given: '/memories/.git',
      path,
      files: filesOf({ '.git/a': 1, '.git/.b': 2 }),
    });
    expect(reply.split('\n').slice(1)).toEqual(['3B\t/memories/.git', '1B\t/memories/.git/a']);
  });

  it('echoes the path as given and lists canonical paths, the first without a slash', () => {
    const path = parseMemoryPath('/memories//a/');
    expect(viewDirectory({ given: '/memories//a/', path, files: filesOf({ 'a/b/c': 1536 }) })).toBe(
      "Here're the files and directories up to 2 levels deep in /memories//a/, excluding hidden items and node_modules:\n" +
        '1.5K\t/memories/a\n1.5K\t/memories/a/b/\n1.5K\t/memories/a/b/c',
    );
  });

  it('pages rows by view range, row 1 being the directory itself', () => {
    const sizes = { a: 1, b: 2, c: 3 };
    expect(rowsOf(sizes, [1, 2])).toEqual(['6B\t/memories', '1B\t/memories/a']);
    expect(rowsOf(sizes, [4, -1])).toEqual(['3B\t/memories/c']);
    expect(() => rowsOf(sizes, [5, 6])).toThrow(
      expect.objectContaining({ code: 'line_out_of_range', details: { rows: 4 } }),
    );
  });

  it('cuts a listing of more than 16,000 characters at a row', () => {
    const sizes = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`file-${String(index).padStart(4, '0')}`, 1]),
    );
    const rows = rowsOf(sizes);
    const shown = rows.slice(0, -1);
    expect(shown.join('\n').length).toBeLessThanOrEqual(16_000);
    expect(shown.join('\n').length).toBeGreaterThan(15_900);
    expect(rows.at(-1)).toBe(
      `(Cut at 16000 characters: ${1_001 - shown.length} more rows remain. Continue with view_range [${shown.length + 1}, -1].)`,
    );
    const rest = rowsOf(sizes, [shown.length + 1, -1]);
    expect([...shown, ...rest]).toHaveLength(1_001);
    expect(rest[0]).toBe(`1B\t/memories/file-${String(shown.length - 1).padStart(4, '0')}`);
  });

  it('says when the listing was capped', () => {
    const reply = viewDirectory({
      given: '/memories',
      path: MEMORY_ROOT,
      files: filesOf({ a: 1 }),
      truncatedAt: 1,
    });
    expect(reply.split('\n').at(-1)).toMatch(/^\(Only 1 files were listed\. There are more/);
  });
});

describe('createDirectoryView', () => {
  const viewOf = (path: string) => createDirectoryView(parseMemoryPath(path));
  const rows = (view: ReturnType<typeof viewOf>, truncatedAt?: number): readonly string[] =>
    view.reply({ given: '/memories', truncatedAt }).split('\n').slice(1);
  const paths = (...names: readonly string[]) => names.map((name) => parseMemoryPath(`/memories/${name}`));

  it('gives a row to directories that are empty, once, but to no hidden ones', () => {
    const view = viewOf('/memories');
    view.addDirectories(paths('b', 'a', 'node_modules', '.git'));
    view.add(filesOf({ 'a/x': 2 }));
    view.addDirectories(paths('a'));
    expect(rows(view)).toEqual([
      '2B\t/memories',
      '2B\t/memories/a/',
      '2B\t/memories/a/x',
      '0B\t/memories/b/',
    ]);
  });

  it('names such directories below the one that is viewed', () => {
    const view = viewOf('/memories/top');
    view.addDirectories(paths('top/b'));
    expect(rows(view)).toEqual(['0B\t/memories/top', '0B\t/memories/top/b/']);
  });

  it('adds the sizes of files that come in several parts', () => {
    const view = viewOf('/memories');
    view.add(filesOf({ 'a/b/c': 1, 'a/b/d/e/f': 2 }));
    view.add(filesOf({ 'a/b/c2': 4, 'a/x': 8 }));
    expect(rows(view)).toEqual([
      '15B\t/memories',
      '15B\t/memories/a/',
      '7B\t/memories/a/b/',
      '8B\t/memories/a/x',
    ]);
  });

  it('says before the notes of a page that there are more files than were listed', () => {
    const view = viewOf('/memories');
    view.add(filesOf({ a: 1 }));
    const more =
      '(Only 7 files were listed. There are more, and the sizes of directories are too small: view a directory further down to see all of its files.)';
    expect(rows(view, 7)).toEqual(['1B\t/memories', '1B\t/memories/a', more]);
    const many = viewOf('/memories');
    many.add(filesOf(Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`file-${index}`, 1]))));
    expect(rows(many, 7).at(-2)).toBe(more);
    expect(rows(many, 7).at(-1)).toMatch(/^\(Cut at 16000 characters: /);
  });

  it('shows rows from any one on, within directories too', () => {
    const view = viewOf('/memories');
    view.add(filesOf({ 'a/x': 1, 'a/y': 1, b: 1, 'c/x': 1, 'c/y': 1 }));
    const all = rows(view);
    expect(all).toHaveLength(8);
    for (let first = 1; first <= all.length; first++) {
      const shown = view
        .reply({ given: '/memories', viewRange: [first, -1] })
        .split('\n')
        .slice(1);
      expect(shown).toEqual(all.slice(first - 1));
    }
  });
});

describe('formatSize', () => {
  it.each([
    [0, '0B'],
    [1, '1B'],
    [1000, '1000B'],
    [1023, '1023B'],
    [1024, '1K'],
    [1025, '1.0K'],
    [1536, '1.5K'],
    [5632, '5.5K'],
    [102_400, '100K'],
    [1_048_575, '1024.0K'],
    [1_048_576, '1M'],
    [1_258_291, '1.2M'],
    [1_073_741_824, '1G'],
    [1_610_612_736, '1.5G'],
    [2 ** 41, '2048G'],
  ])('prints %d bytes as %s', (bytes, size) => {
    expect(formatSize(bytes)).toBe(size);
  });
});
