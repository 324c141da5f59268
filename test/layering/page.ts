import { readFileSync, writeFileSync } from 'node:fs';
import { FOLDERS, type Folder, type Room } from './rooms.ts';

const PAGE = 'docs/architecture.md';

/** docs/architecture.md with its two tables as `FOLDERS` has them. */
export function withRooms(): string {
  const rows: readonly (readonly [string, Room | Folder])[] = Object.entries(FOLDERS);
  const rooms = rows.flatMap(([path, row]) =>
    'never' in row ? [`| \`src/${path}\` | ${row.has} | ${row.never} |`] : [],
  );
  const folders = rows
    .filter(([path, { offers }]) => path.includes('/') || offers !== undefined)
    .map(([path, { has, offers = {} }]) => {
      const what = path.includes('/') ? has : 'as above';
      return `| \`src/${path}\` | ${what} | ${offersIn(offers)} |`;
    });
  const page = readFileSync(PAGE, 'utf8');
  const first = replaceTable(page, ['room', 'what it knows', 'what it never knows'], rooms);
  return replaceTable(first, ['folder', 'has', 'offers'], folders);
}

/** Nouns for everybody, then those for some: `wrap`. To page, tree: `header`. */
function offersIn(offers: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(offers)
    .map(([key, nouns]) => {
      const listed = nouns.map((noun) => `\`${noun}\``).join(', ');
      return key === '*' ? listed : `To ${key.split(' ').join(', ')}: ${listed}`;
    })
    .join('. ');
}

/** @throws Error where the page has no table of those columns. */
function replaceTable(page: string, columns: readonly string[], rows: readonly string[]): string {
  const head = `| ${columns.join(' | ')} |`;
  const start = page.indexOf(head);
  if (start < 0) throw new Error(`${PAGE} has no table "${head}"`);
  const end = page.indexOf('\n\n', start);
  const rule = `| ${columns.map(() => '---').join(' | ')} |`;
  return page.slice(0, start) + [head, rule, ...rows].join('\n') + page.slice(end);
}

if (import.meta.main) writeFileSync(PAGE, withRooms());
