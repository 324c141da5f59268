import { existsSync, globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../src/errors.ts';
import { OBJECT_CLASSES } from '../../src/format/object-keys.ts';
import { ALL_PAGES, headingsOf, linksOf, PAGES } from './pages.ts';

const CODES: Readonly<Record<MemoryErrorCode, true>> = {
  invalid_command: true,
  invalid_path: true,
  not_found: true,
  already_exists: true,
  is_directory: true,
  not_text: true,
  no_match: true,
  ambiguous_match: true,
  line_out_of_range: true,
  limit_exceeded: true,
  read_only: true,
  policy_refused: true,
  version_conflict: true,
  outcome_unknown: true,
  unavailable: true,
  timeout: true,
  aborted: true,
  access_denied: true,
  key_unavailable: true,
  tenant_unknown: true,
  unsupported_format: true,
  misconfigured: true,
  integrity: true,
};

const read = (page: string): string => readFileSync(page, 'utf8');

describe('the pages', () => {
  it.each(ALL_PAGES)('%s leads to files and headings that there are', (page) => {
    const dead = linksOf(page).filter(
      ({ file, heading }) =>
        !existsSync(file) || (heading !== undefined && !headingsOf(file).includes(heading)),
    );
    expect(dead).toEqual([]);
  });

  it.each(ALL_PAGES)('%s names tests that there are', (page) => {
    const named = [...read(page).matchAll(/`(test\/[\w./-]+\.ts)`/g)].map(([, path = '']) => path);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  });

  it.each(ALL_PAGES)('%s has each row of its tables once', (page) => {
    const lines = read(page).split('\n');
    const isRule = (line = ''): boolean => /^\|[-|: ]+$/.test(line);
    const rows = lines.filter(
      (line, index) => line.startsWith('| ') && !isRule(line) && !isRule(lines[index + 1]),
    );
    expect(rows.filter((row, index) => rows.indexOf(row) < index)).toEqual([]);
  });

  it('are all in the index', () => {
    const listed = linksOf('docs/README.md').map(({ file }) => file);
    const pages = PAGES.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md');
    expect(pages.filter((page) => !listed.includes(page))).toEqual([]);
  });
});

it.each(['README.md', 'docs/README.md', 'docs/operations.md'])(
  '%s leads to the drill of a poisoned agent',
  (page) => {
    const lines = read(page)
      .split('\n\n')
      .filter((part) => part.includes('poisoned'));
    expect(lines.join('')).toContain('drill.md)');
  },
);

describe('docs/operations.md', () => {
  const drills = read('docs/operations.md').split('\n## ').slice(1);

  it.each(drills.map((drill) => [drill.split('\n')[0] ?? '', drill]))(
    'names the suite that ran: %s',
    (_, drill) => {
      const suites = [...drill.matchAll(/`(test\/[^`]+\.test\.ts)`/g)].map(([, path = '']) => path);
      expect(suites.length).toBeGreaterThan(0);
      expect(suites.filter((path) => !existsSync(path))).toEqual([]);
    },
  );
});

it('docs/troubleshooting.md quotes messages that the library has', () => {
  const quoted = [...read('docs/troubleshooting.md').matchAll(/^\| `([A-Z][^`]+)` \|/gm)].map(
    ([, text = '']) => text,
  );
  expect(quoted.length).toBeGreaterThan(2);
  const sources = globSync('src/**/*.ts').map(read).join('');
  expect(quoted.filter((text) => !sources.includes(text))).toEqual([]);
});

it('docs/how-it-works.md shows every kind of object that lies in a bucket', () => {
  const page = read('docs/how-it-works.md');
  expect(OBJECT_CLASSES.filter((kind) => !page.includes(`${kind}/`))).toEqual([]);
});

describe('docs/glossary.md', () => {
  it.each(['actor', 'version', 'checkpoint', 'redact'])('says what "%s" means', (word) => {
    expect(read('docs/glossary.md')).toContain(`\n| ${word} | `);
  });
});

describe('docs/errors.md', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code);

  it('has a row for every code, and no other', () => {
    expect(rows.toSorted()).toEqual(Object.keys(CODES).toSorted());
  });

  it('names every advice that an error gives', () => {
    for (const code of Object.keys(CODES) as MemoryErrorCode[]) {
      expect(read('docs/errors.md')).toContain(`\`${new MemoryError(code, '').retry}\``);
    }
  });
});
