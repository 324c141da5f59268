import { globSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { readSource, resolveImport } from './stage/source-file.ts';

/** The folders that the code of a folder may import; the longest name that fits a file is its row. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  src: [],
  infra: ['src'],
  bench: ['infra', 'src'],
  examples: ['infra', 'src'],
  // A stranger's code: it has the package, and no other file of this project.
  'examples/api': [],
  'examples/metrics': [],
  'examples/minimal': [],
  'examples/python': [],
  'examples/slack': [],
  'examples/stream': [],
  test: [
    'bench',
    'examples',
    'examples/api',
    'examples/metrics',
    'examples/slack',
    'examples/stream',
    'infra',
    'src',
  ],
};

const WRITTEN_ELSEWHERE = /(^|\/)(node_modules|dist)(\/|$)/;
const FILE_BESIDE = /new URL\(\s*'(\.{1,2}\/[^']*)',\s*import\.meta\.url/g;

const folders = readdirSync('.', { withFileTypes: true }).filter(
  (entry) => entry.isDirectory() && !entry.name.startsWith('.') && !WRITTEN_ELSEWHERE.test(entry.name),
);
const files = folders
  .flatMap(({ name }) => globSync(`${name}/**/*.{ts,tsx,mts,cts}`))
  .filter((path) => !WRITTEN_ELSEWHERE.test(path));

function rowOf(path: string): string | undefined {
  const rows = Object.keys(ARROWS).filter((row) => path.startsWith(`${row}/`));
  return rows.sort((a, b) => b.length - a.length)[0];
}

/** The files that a file names by its own place, in imports and in URLs, as paths from the root. */
function namedBy(path: string): readonly string[] {
  const urls = [...readFileSync(path, 'utf8').matchAll(FILE_BESIDE)].map(([, url = '']) => url);
  const imports = readSource(path).imports.map(({ from }) => from);
  return [...imports, ...urls]
    .filter((from) => from.startsWith('.'))
    .map((from) => resolveImport(path, from));
}

function mayName(path: string, target: string): boolean {
  const [row = '', named] = [rowOf(path), rowOf(target)];
  return named === undefined || named === row || (ARROWS[row] ?? []).some((open) => named === open);
}

describe('the folders at the top', () => {
  it('have a row each', () => {
    expect(files.filter((path) => rowOf(path) === undefined)).toEqual([]);
  });

  it('import what the table lets them import', () => {
    const forbidden = files.flatMap((path) =>
      namedBy(path)
        .filter((target) => !mayName(path, target))
        .map((target) => `${path} imports ${target}`),
    );
    expect(forbidden).toEqual([]);
  });

  it('form no ring', () => {
    const done: string[] = [];
    const rows = Object.entries(ARROWS);
    while (done.length < rows.length) {
      const next = rows.find(
        ([row, open]) => !done.includes(row) && open.every((each) => done.includes(each)),
      );
      expect(
        next,
        `of ${rows.map(([row]) => row).join(', ')} only ${done.join(', ')} have an order`,
      ).toBeDefined();
      done.push(next?.[0] ?? '');
    }
  });
});
