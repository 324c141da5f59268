import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Row {
  readonly page: string;
  readonly promise: string;
  readonly title: string;
  readonly file: string;
}

const PROOFS = readFileSync('test/README.md', 'utf8');

const rows: readonly Row[] = PROOFS.split(/^## /m).flatMap((section) => {
  const page = section.slice(0, section.indexOf('\n'));
  return [...section.matchAll(/^\| (.+) \| \*(.+)\* \(`(test\/[^`]+)`\) \|$/gm)].map(
    ([, promise = '', title = '', file = '']) => ({ page, promise, title, file }),
  );
});

/** The words of a page, however its lines are broken and stressed. */
const wordsOf = (text: string): string => text.replaceAll(/[*_]/g, '').replaceAll(/\s+/g, ' ');

/** The items of a list that stands below a heading, each up to its first sentence. */
function itemsBelow(page: string, heading: string): readonly string[] {
  const section = readFileSync(page, 'utf8').split(`## ${heading}\n`)[1]?.split(/^## /m)[0] ?? '';
  return section.split(/^- /m).slice(1).map(wordsOf);
}

/** Matches the call of a test or a suite with that title. */
const calledWith = (title: string): RegExp =>
  new RegExp(`\\(\\s*(['"\`])${title.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')}\\1`);

describe('test/README.md', () => {
  it('has a row for each line of its tables', () => {
    expect(rows).toHaveLength(PROOFS.split('\n').filter((line) => /^\| (?!promise|---)/.test(line)).length);
    expect(rows.length).toBeGreaterThan(40);
  });

  it.each(rows)('names a promise that $page makes: $promise', ({ page, promise }) => {
    expect(wordsOf(readFileSync(page, 'utf8'))).toContain(wordsOf(promise));
  });

  it.each(rows)('names a suite that has the title $title', ({ title, file }) => {
    expect(readFileSync(file, 'utf8')).toMatch(calledWith(title));
  });

  it('names a suite for each of the promises with which docs/protocols.md begins', () => {
    const promises = rows
      .filter(({ page }) => page === 'docs/protocols.md')
      .map(({ promise }) => wordsOf(promise));
    const items = itemsBelow('docs/protocols.md', 'Promises');
    expect(items).toHaveLength(6);
    expect(items.filter((item) => !promises.some((promise) => item.startsWith(promise)))).toEqual([]);
  });
});
