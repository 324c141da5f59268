import type { HistoryEntry } from '../../tree/history/entries.ts';
import { timeOf } from './list.ts';
import { counted } from './report.ts';
import { shortVersion } from './short-version.ts';
import { onOneLine, type Style, type Terminal } from './terminal.ts';

/** A piece of a line, in its colour. */
interface Piece {
  readonly text: string;
  readonly style?: Style;
}

/** Pieces of one line keep this distance. */
const GAP = '  ';

/**
 * Draws what happened to each file that was at a path, the newest file and version first: below the path that it has, or had
 * last, a line for each version, rename and delete. What does not fit beside the rest of its line stands below it.
 */
export function logPicture(
  entries: readonly HistoryEntry[],
  screen: Pick<Terminal, 'style' | 'columns'>,
): readonly string[] {
  return filesOf(entries).flatMap((file) => [
    screen.style('bold', lastPathOf(file)),
    ...file.flatMap((entry, index) => {
      const isLast = index === file.length - 1;
      const indent = isLast ? ['└── ', '    '] : ['├── ', '│   '];
      return wrapped(piecesOf(entry), screen).map((line, row) => `${indent[Math.min(row, 1)]}${line}`);
    }),
  ]);
}

/** Versions that replaced one another are of one file, and so is what became of them. */
function filesOf(entries: readonly HistoryEntry[]): readonly (readonly HistoryEntry[])[] {
  const files = new Map<string, HistoryEntry[]>();
  const fileOf = new Map<string, HistoryEntry[]>();
  for (const entry of entries) {
    const { version } = entry;
    const file = fileOf.get(version) ?? [];
    if (file.length === 0) files.set(version, file);
    file.push(entry);
    fileOf.set(version, file);
    if (entry.kind === 'written' && entry.previous !== undefined) fileOf.set(entry.previous, file);
  }
  return [...files.values()];
}

function lastPathOf([newest]: readonly HistoryEntry[]): string {
  if (newest === undefined) return '';
  return newest.kind === 'written' ? newest.path : (newest.to ?? newest.path);
}

function piecesOf(entry: HistoryEntry): readonly Piece[] {
  const by = entry.writer === undefined ? [] : [{ text: `by ${onOneLine(entry.writer)}` }];
  const time = { text: timeOf(entry.time) };
  if (entry.kind !== 'written') {
    return entry.to === undefined
      ? [{ text: '× deleted', style: 'red' }, time, ...by]
      : [{ text: '→ renamed', style: 'cyan' }, time, { text: `from ${entry.path}` }, ...by];
  }
  const { version, end, size, text, redacted, sameTextAs } = entry;
  const isCurrent = end === 'current';
  return [
    { text: `${isCurrent ? '●' : '○'} ${shortVersion(version)}`, style: isCurrent ? 'green' : 'yellow' },
    time,
    ...(isCurrent ? [{ text: 'current' }] : []),
    ...(end === 'unrecorded' ? [{ text: 'its end is not recorded' }] : []),
    { text: text === 'redacted' ? 'redacted' : counted(size, 'byte') },
    ...(sameTextAs === undefined ? [] : [{ text: `the text of ${shortVersion(sameTextAs)}` }]),
    ...by,
    ...(redacted?.writer === undefined ? [] : [{ text: `redacted by ${onOneLine(redacted.writer)}` }]),
  ];
}

function wrapped(
  pieces: readonly Piece[],
  { style, columns }: Pick<Terminal, 'style' | 'columns'>,
): readonly string[] {
  const room = columns - '├── '.length;
  const rows: Piece[][] = [[]];
  let used = 0;
  for (const piece of pieces) {
    const width = [...piece.text].length;
    const row = rows.at(-1) ?? [];
    if (row.length > 0 && used + GAP.length + width > room) {
      rows.push([piece]);
      used = width;
    } else {
      used += (row.length > 0 ? GAP.length : 0) + width;
      row.push(piece);
    }
  }
  return rows.map((row) =>
    row.map(({ text, style: how }) => (how === undefined ? text : style(how, text))).join(GAP),
  );
}
