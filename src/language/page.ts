import { MemoryError } from '../errors.ts';
import { startOfText } from './text.ts';

/** The most characters (UTF-16 units) of text that one reply shows, whatever it adds around them. */
export const PAGE_CHARACTERS = 16_000;

/** The most characters of a malformed value that a sentence repeats. */
const MALFORMED_CHARACTERS = 1_000;

/** Lines that can be shown page by page. */
export interface Lines {
  readonly count: number;
  /** Yields the 1-based line `first` and every line after it. */
  from(first: number): Iterable<string>;
}

/** The lines a reply shows, and the note that says how to see the rest. */
export interface Page {
  readonly firstLine: number;
  readonly lines: readonly string[];
  /** One note, or none if all requested lines are shown. */
  readonly notes: readonly string[];
}

/** The name of the lines in notes and errors. */
type LineName = 'line' | 'row';

/** The requested lines, by their 1-based numbers. */
interface RequestedLines {
  readonly first: number;
  readonly last: number;
  /** True where the caller asked for the end of the text, not for a number. */
  readonly toEnd: boolean;
  readonly named: LineName;
}

/**
 * Makes the page of the lines that `viewRange` names, or of all, cut as `cutToPage` does.
 *
 * A range is `[first, last]` or `[only]`; -1 as last means the end, a first line below 1 means 1, a last line past the
 * end means the end.
 *
 * @throws MemoryError `line_out_of_range` with `lines` or `rows`, the number that can be shown, for any other range.
 */
export function pageOf(
  lines: Lines,
  options: { readonly viewRange?: readonly number[] | undefined; readonly named: LineName },
): Page {
  const range = resolveRange(options.viewRange, lines.count, options.named);
  return cutToPage(lines.from(range.first), range);
}

/**
 * Cuts the lines of `range`, which are the first of `lines`, at a line boundary when they hold more than 16,000
 * characters, the line breaks between them included. A single line beyond that is shown as far as it goes.
 */
export function cutToPage(lines: Iterable<string>, range: RequestedLines): Page {
  const { first, last, named } = range;
  const shown: string[] = [];
  let characters = 0;
  for (const line of lines) {
    characters += line.length;
    if (characters > PAGE_CHARACTERS) {
      if (shown.length > 0) break;
      const start = startOfText(line, PAGE_CHARACTERS);
      const cut = `First ${start.length} of the ${line.length} characters of ${named} ${first}`;
      return { firstLine: first, lines: [start], notes: [`(${cut}${remainder(range, first + 1)})`] };
    }
    shown.push(line);
    characters += 1;
    if (shown.length > last - first) return { firstLine: first, lines: shown, notes: [] };
  }
  const note = `(Cut at ${PAGE_CHARACTERS} characters${remainder(range, first + shown.length)})`;
  return { firstLine: first, lines: shown, notes: [note] };
}

function resolveRange(
  viewRange: readonly number[] | undefined,
  total: number,
  named: LineName,
): RequestedLines {
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
  throw new MemoryError('line_out_of_range', `The range of ${named}s to view is not valid.`, {
    details: named === 'line' ? { lines: total } : { rows: total },
  });
}

/** Makes the end of a note: the number of lines of the range from `next` on, and the range that shows them. */
function remainder(range: RequestedLines, next: number): string {
  const left = range.last - next + 1;
  if (left === 0) return '.';
  const remain = left === 1 ? `1 more ${range.named} remains` : `${left} more ${range.named}s remain`;
  return `: ${remain}. Continue with view_range [${next}, ${range.toEnd ? -1 : range.last}].`;
}

/**
 * Answers the part of the model's text that a sentence repeats: all of it, or as many lines as a page holds, or the
 * start of a longer line; if it is cut, a note tells its length.
 */
export function echoText(text: string): string {
  if (text.length <= PAGE_CHARACTERS) return text.toWellFormed();
  const start = startOfText(text, PAGE_CHARACTERS);
  const lineEnd = text[start.length] === '\n' ? start.length : start.lastIndexOf('\n');
  return cutEcho(text, lineEnd > 0 ? start.slice(0, lineEnd) : start);
}

/** Answers the text itself, or its first 1,000 characters and a note of its length. */
export function shorten(text: string): string {
  if (text.length <= MALFORMED_CHARACTERS) return text.toWellFormed();
  return cutEcho(text, startOfText(text, MALFORMED_CHARACTERS));
}

function cutEcho(text: string, start: string): string {
  return `${start.toWellFormed()}… (${text.length} characters)`;
}
