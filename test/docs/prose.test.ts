import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ALL_PAGES } from './pages.ts';
import { commentsOf, sentencesOf, TURNED_BEGINNING } from './prose.ts';

const MOST_WORDS = 40;

/** The most words of a label or the head of a column, which may ask a question. */
const HEADING_WORDS = 3;

/** Sentences that are longer, and those with a turned beginning, of the pages that still have any. The numbers only fall. */
const LEFT: Readonly<Record<string, { readonly long?: number; readonly turned?: number }>> = {
  'README.md': { long: 1, turned: 1 },
  'docs/agent.md': { long: 5, turned: 8 },
  'docs/architecture.md': { long: 3, turned: 4 },
  'docs/byok.md': { long: 5, turned: 8 },
  'docs/command-line.md': { long: 10, turned: 8 },
  'docs/deployment.md': { long: 6, turned: 4 },
  'docs/errors.md': { long: 1 },
  'docs/faq.md': { long: 2, turned: 5 },

  'docs/hosts.md': { long: 1, turned: 5 },
  'docs/library.md': { long: 1, turned: 1 },
  'docs/mcp.md': { long: 1, turned: 4 },
  'docs/migrating.md': { long: 1, turned: 1 },
  'docs/mounts.md': { long: 2, turned: 3 },
  'docs/operations.md': { long: 5, turned: 4 },
  'docs/page.md': { long: 6, turned: 12 },
  'docs/performance.md': { long: 6, turned: 7 },
  'docs/policies.md': { turned: 10 },
  'docs/quick-start.md': { turned: 2 },
  'docs/recipes.md': { long: 3, turned: 4 },
  'docs/sessions.md': { turned: 2 },
  'docs/stores.md': { long: 4, turned: 5 },
  'docs/tenants.md': { long: 1, turned: 2 },
  'docs/testing.md': { long: 18, turned: 13 },
  'docs/worker.md': { long: 16, turned: 18 },
  'SECURITY.md': { long: 2 },
  'CONTRIBUTING.md': { turned: 2 },
  'CHANGELOG.md': { long: 12, turned: 4 },
  'test/testkit/README.md': { long: 1, turned: 1 },
  'examples/python/sealed_memory/README.md': { long: 1, turned: 2 },
  'test/README.md': { turned: 1 },
};

const CODE = globSync('{src,infra,bench,examples}/**/*.{ts,tsx}', {
  exclude: ['**/node_modules/**', '**/dist/**'],
});

describe.each([...ALL_PAGES, 'test/README.md'])('%s', (page) => {
  const sentences = sentencesOf(readFileSync(page, 'utf8'));
  const { long = 0, turned = 0 } = LEFT[page] ?? {};

  it(`has ${long === 0 ? 'no' : long} sentences above ${MOST_WORDS} words`, () => {
    const found = sentences.filter(({ words }) => words > MOST_WORDS);
    expect.soft(found.length, found.map(told(page)).join('\n')).toBe(long);
  });

  it(`has ${turned === 0 ? 'no' : turned} sentences that begin with a word to be turned around`, () => {
    const found = sentences.filter(({ words, text }) => words > HEADING_WORDS && TURNED_BEGINNING.test(text));
    expect.soft(found.length, found.map(told(page)).join('\n')).toBe(turned);
  });
});

it('no comment begins with a word to be turned around', () => {
  const found = CODE.flatMap((path) =>
    commentsOf(path)
      .filter(({ text }) => TURNED_BEGINNING.test(text))
      .map(told(path)),
  );
  expect(found).toEqual([]);
});

it('help has no sentence that begins with a word to be turned around', () => {
  const helps = globSync('test/commands/help/*.txt');
  expect(helps.length).toBeGreaterThan(5);
  const found = helps.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => TURNED_BEGINNING.test(line)),
  );
  expect(found).toEqual([]);
});

describe('the reader of prose', () => {
  it('counts the words of a sentence, a piece of code as one', () => {
    expect(sentencesOf('One `a b c` three. Two words')).toEqual([
      { line: 1, words: 3, text: 'One `a b c` three.' },
      { line: 1, words: 2, text: 'Two words' },
    ]);
  });

  it('reads lists and cells, and leaves headings and code out', () => {
    const page = '# A heading\n\n- An item\n\n```sh\ncode\n```\n\n| head |\n| --- |\n| a cell |\n';
    expect(sentencesOf(page).map(({ line, text }) => [line, text])).toEqual([
      [3, 'An item'],
      [9, 'head'],
      [11, 'a cell'],
    ]);
  });
});

const told =
  (path: string) =>
  ({ line, text }: { readonly line: number; readonly text: string }) =>
    `${path}:${line} ${text.slice(0, 120)}`;
