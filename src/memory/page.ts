import { MemoryError } from '../errors.ts';
import { countLineBreaks, endOfLine, startOfLine } from './lines.ts';
import { startOfText } from './text.ts';

/** Characters (UTF-16 units) of text that one view shows, whatever the reply adds around them. */
const PAGE_CHARACTERS = 16_000;

/** The lines a view shows, and the note that says how to see the rest. */
export interface Page {
  readonly firstLine: number;
  readonly lines: readonly string[];
  /** Empty when the lines are all that was asked for, else one. */
  readonly notes: readonly string[];
}

/** What the lines are called in notes and errors. */
export type LineName = 'line' | 'row';

/**
 * The lines of `text` that `viewRange` names, or all, cut at a line boundary when they hold more than 16,000
 * characters, the line breaks between them included. A single line beyond that is shown as far as it goes.
 *
 * A range is `[first, last]` or `[only]`; -1 as last means the end, a first line below 1 means 1, a last line past
 * the end means the end.
 *
 * @throws MemoryError `line_out_of_range` with `lines` or `rows`, the number that can be shown, for any other range.
 */
export function pageOf(
  text: string,
  options: { readonly viewRange?: readonly number[] | undefined; readonly named: LineName },
): Page {
  const range = resolveRange(options.viewRange, countLineBreaks(text) + 1, options.named);
  const { first, last } = range;
  const from = startOfLine(text, first);
  const { count, end } = fittingLines(text, from, last - first + 1);
  if (count === 0) {
    const line = text.slice(from, endOfLine(text, from));
    const start = startOfText(line, PAGE_CHARACTERS);
    const cut = `First ${start.length} of the ${line.length} characters of ${options.named} ${first}`;
    return { firstLine: first, lines: [start], notes: [`(${cut}${remainder(range, first + 1)})`] };
  }
  const lines = text.slice(from, end).split('\n');
  if (count === last - first + 1) return { firstLine: first, lines, notes: [] };
  const note = `(Cut at ${PAGE_CHARACTERS} characters${remainder(range, first + count)})`;
  return { firstLine: first, lines, notes: [note] };
}

interface Range {
  readonly first: number;
  readonly last: number;
  /** Whether `last` is the end of the text whatever its number. */
  readonly toEnd: boolean;
  readonly named: LineName;
}

function resolveRange(viewRange: readonly number[] | undefined, total: number, named: LineName): Range {
  if (viewRange === undefined) return { first: 1, last: total, toEnd: true, named };
  const [start, end = Math.max(1, start ?? 0)] = viewRange;
  if (
    start !== undefined &&
    viewRange.length <= 2 &&
    Number.isInteger(start) &&
    Number.isInteger(end) &&
    end >= -1
  ) {
    const first = Math.max(1, start);
    const toEnd = end === -1;
    const last = toEnd ? total : Math.min(end, total);
    if (first <= last) return { first, last, toEnd, named };
  }
  throw new MemoryError('line_out_of_range', `the range of ${named}s to view is not valid`, {
    details: named === 'line' ? { lines: total } : { rows: total },
  });
}

/** How many of the next `wanted` lines fit on a page, and where the last of them ends. */
function fittingLines(
  text: string,
  from: number,
  wanted: number,
): { readonly count: number; readonly end: number } {
  let count = 0;
  let end = from;
  for (let at = from; count < wanted; at = end + 1) {
    const lineEnd = endOfLine(text, at);
    if (lineEnd - from > PAGE_CHARACTERS) break;
    count += 1;
    end = lineEnd;
  }
  return { count, end };
}

/** The end of a note: how many lines of the range come from `next` on, and the range that shows them. */
function remainder(range: Range, next: number): string {
  const left = range.last - next + 1;
  if (left === 0) return '.';
  const remain = left === 1 ? `1 more ${range.named} remains` : `${left} more ${range.named}s remain`;
  return `: ${remain}. Continue with view_range [${next}, ${range.toEnd ? -1 : range.last}].`;
}
