import { MOST_KEPT_BYTES } from '../../format/sizes.ts';
import type { HistoryEntry } from '../../history/past/entries.ts';
import { visibleName } from '../../language/invisible.ts';
import { counted } from '../show/report.ts';
import { exactTimeOf, shownVersion } from '../show/shown.ts';
import type { Style, Terminal } from '../show/terminal.ts';
import { rowsOf } from '../show/wrap.ts';

/** A piece of a line, in its colour. */
interface PicturePiece {
  readonly text: string;
  readonly style?: Style;
}

/**
 * Draws what happened to each file that was at a path, the newest file and version first: the path that the file has,
 * or had last, and below it a line for each version, rename and delete. What does not fit into a line stands below it.
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
      const pieces = piecesOf(entry).map(({ text, style }) =>
        style === undefined ? text : screen.style(style, text),
      );
      return rowsOf(pieces, { room: screen.columns - '├── '.length }).map(
        (line, row) => `${indent[Math.min(row, 1)]}${line}`,
      );
    }),
  ]);
}

/** Groups entries by file: versions that replaced one another are of one file, with their renames and deletes. */
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

function piecesOf(entry: HistoryEntry): readonly PicturePiece[] {
  const isRedacted = entry.kind === 'written' && entry.text === 'redacted';
  const word = isRedacted ? 'written by' : 'by';
  const by = entry.writer === undefined ? [] : [{ text: `${word} ${visibleName(entry.writer)}` }];
  const time = { text: exactTimeOf(entry.time) };
  if (entry.kind !== 'written') {
    return entry.to === undefined
      ? [{ text: '× deleted', style: 'red' }, time, ...by]
      : [{ text: '→ renamed', style: 'cyan' }, time, { text: `from ${entry.path}` }, ...by];
  }
  const { version, end, size, redacted, sameTextAs } = entry;
  const isCurrent = end === 'current';
  const isTooLarge = size > MOST_KEPT_BYTES;
  return [
    { text: `${isCurrent ? '●' : '○'} ${shownVersion(version)}`, style: isCurrent ? 'green' : 'yellow' },
    time,
    ...(isCurrent ? [{ text: 'current' }] : []),
    ...(end === 'unrecorded' ? [{ text: 'its end is not recorded' }] : []),
    { text: isRedacted ? (isTooLarge ? 'too large to keep' : 'redacted') : counted(size, 'byte') },
    ...(sameTextAs === undefined ? [] : [{ text: `the text of ${shownVersion(sameTextAs)}` }]),
    ...by,
    ...(redacted?.writer === undefined || isTooLarge
      ? []
      : [{ text: `redacted by ${visibleName(redacted.writer)}` }]),
  ];
}
