import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const PAGE = readFileSync('docs/security.md', 'utf8');

interface NamedTest {
  readonly title: string;
  readonly file: string;
}

/** A test's title, and behind it the file: no link, because the package carries this page and no test. */
const named: readonly NamedTest[] = [...PAGE.matchAll(/\*([^*]+)\* \(`(test\/[^`]+)`\)/g)].map(
  ([, title = '', file = '']) => ({ title, file }),
);

/** Titles of tests and of kinds of attacks, as they stand in the code. */
function titlesIn(source: string): readonly string[] {
  const literals = source.matchAll(/\b(?:it|forging)\(\s*'([^'\n]+)'|\btitle: '([^'\n]+)'/g);
  return [...literals].map(([, called, given]) => called ?? given ?? '');
}

describe('docs/security.md', () => {
  it.each(named)('names a test that exists: $title', ({ title, file }) => {
    expect(titlesIn(readFileSync(file, 'utf8'))).toContain(title);
  });

  it.each(globSync('test/attacks/*.ts'))('leaves out no attack of %s', (file) => {
    const listed = named.filter((test) => join(test.file) === join(file)).map(({ title }) => title);
    const missing = titlesIn(readFileSync(file, 'utf8')).filter((title) => !listed.includes(title));
    expect(missing).toEqual([]);
  });

  it('names a test for every attacker and for what leaks', () => {
    expect(named.length).toBeGreaterThan(50);
    for (const section of PAGE.split(/^### /m).slice(1)) expect(section).toMatch(/\(`test\/attacks\//);
  });
});
