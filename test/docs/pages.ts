import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A fenced block of a page. */
export interface Block {
  readonly page: string;
  /** The number of the line below the fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly text: string;
}

/** The pages that are written by hand. */
export const PAGES: readonly string[] = [
  'README.md',
  ...globSync('docs/**/*.md')
    .filter((page) => !page.startsWith('docs/api/'))
    .sort(),
];

/** All that people read, what stands outside of the documentation as well. */
export const ALL_PAGES: readonly string[] = [
  ...PAGES,
  ...['SECURITY.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'test/testkit/README.md'],
  ...globSync('examples/**/*.md').sort(),
];

/** The fenced blocks of a page in these languages, without the indentation of a list they stand in. */
export function blocksOf(page: string, ...languages: readonly string[]): readonly Block[] {
  const source = readFileSync(page, 'utf8');
  const fences = source.matchAll(/^( *)```(\w+)\n([\s\S]*?)^\1```$/gm);
  return [...fences]
    .map(({ 1: indentation = '', 2: language = '', 3: text = '', index }) => ({
      page,
      line: source.slice(0, index).split('\n').length + 1,
      language,
      text: text.replaceAll(new RegExp(`^${indentation}`, 'gm'), ''),
    }))
    .filter(({ language }) => languages.includes(language));
}

/** Answers the places in this repository to which a page leads: a file, and a heading of it. */
export function linksOf(
  page: string,
): readonly { readonly file: string; readonly heading: string | undefined }[] {
  const targets = [...readFileSync(page, 'utf8').matchAll(/\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)/g)];
  return targets.map(({ 1: file = '', 2: heading }) => ({
    file: file === '' ? page : join(dirname(page), file),
    heading,
  }));
}

/** The names under which the headings of a page are linked to. */
export const headingsOf = (page: string): readonly string[] =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => slugOf(heading));

/** The anchor that GitHub makes of a heading that stands once on its page. */
export function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
