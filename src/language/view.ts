import { MemoryError } from '../errors.ts';
import type { Replacement } from './edit.ts';
import { cutToPage, echoText, type Page, pageOf } from './page.ts';
import { countLineBreaks, endOfLine, lineStartAt, linesFrom, startOfLine } from './text.ts';

const MAX_LINES = 999_999;
const NUMBER_WIDTH = 6;
/** The lines of context that a snippet shows before and after the change. */
const CONTEXT_LINES = 2;

/**
 * Makes the reply to the view of a text file: numbered lines, where a final newline shows as one more empty line, cut
 * to one page with a note on how to continue.
 *
 * @throws MemoryError `limit_exceeded` (`limit`: `lines`) above 999,999 lines; `line_out_of_range`.
 */
export function viewFile(request: {
  readonly given: string;
  readonly text: string;
  readonly viewRange?: readonly number[] | undefined;
}): string {
  const { given, text, viewRange } = request;
  const count = countLineBreaks(text) + 1;
  if (count > MAX_LINES) {
    throw new MemoryError('limit_exceeded', 'The file has too many lines to be shown.', {
      details: { limit: 'lines', value: count, max: MAX_LINES },
    });
  }
  const lines = { count, from: (first: number) => linesFrom(text, startOfLine(text, first)) };
  const page = pageOf(lines, { viewRange, named: 'line' });
  return [`Here's the content of ${echoText(given)} with line numbers:`, ...numbered(page)].join('\n');
}

/**
 * Makes the numbered lines around a replacement, two before its first and two after its last, as far as the text goes,
 * cut to one page. It looks at the text near the replacement alone, however long the text is.
 */
export function editSnippet({ text, start, end, firstLine, lineBreaks }: Replacement): string {
  let from = lineStartAt(text, start);
  let first = firstLine;
  for (; first > Math.max(1, firstLine - CONTEXT_LINES); first -= 1) from = lineStartAt(text, from - 1);
  let last = firstLine + lineBreaks;
  let lastEnd = endOfLine(text, end);
  for (let more = CONTEXT_LINES; more > 0 && lastEnd < text.length; more -= 1) {
    last += 1;
    lastEnd = endOfLine(text, lastEnd + 1);
  }
  const page = cutToPage(linesFrom(text, from), { first, last, toEnd: false, named: 'line' });
  return numbered(page).join('\n');
}

function numbered({ lines, firstLine, notes }: Page): readonly string[] {
  const rows = lines.map((line, index) => `${String(firstLine + index).padStart(NUMBER_WIDTH)}\t${line}`);
  return [...rows, ...notes];
}
