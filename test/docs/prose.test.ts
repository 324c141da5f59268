import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ALL_PAGES } from './pages.ts';
import { commentsOf, sentencesOf, TURNED_BEGINNING } from './prose.ts';

const MOST_WORDS = 40;

/** The most words of a label or the head of a column, which may ask a question. */
const HEADING_WORDS = 3;

const CODE = globSync('{src,infra,bench,examples,test}/**/*.{ts,tsx}').filter(
  (path) => !/(^|\/)(node_modules|dist)\//.test(path),
);

describe.each([...ALL_PAGES, 'test/README.md'])('%s', (page) => {
  const sentences = sentencesOf(readFileSync(page, 'utf8'));

  it(`has no sentence above ${MOST_WORDS} words`, () => {
    expect(sentences.filter(({ words }) => words > MOST_WORDS).map(told(page))).toEqual([]);
  });

  it('has no sentence that begins with a word to be turned around', () => {
    const turned = sentences.filter(
      ({ words, text }) => words > HEADING_WORDS && TURNED_BEGINNING.test(text),
    );
    expect(turned.map(told(page))).toEqual([]);
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
