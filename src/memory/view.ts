import { MemoryError } from '../errors.ts';
import type { Replacement } from './edit.ts';
import { countLineBreaks } from './lines.ts';
import { pageOf } from './page.ts';

const MAX_LINES = 999_999;
const NUMBER_WIDTH = 6;
/** Lines of context a snippet shows before and after the change. */
const CONTEXT_LINES = 2;

/**
 * The reply to the view of a text file: numbered lines, where a final newline shows as one more empty line, cut to
 * one page with a note on how to go on.
 *
 * @throws MemoryError `limit_exceeded` (`limit`: `lines`) above 999,999 lines; `line_out_of_range`.
 */
export function viewFile(request: {
  readonly given: string;
  readonly text: string;
  readonly viewRange?: readonly number[] | undefined;
}): string {
  const value = countLineBreaks(request.text) + 1;
  if (value > MAX_LINES) {
    throw new MemoryError('limit_exceeded', 'the file has too many lines to be shown', {
      details: { limit: 'lines', value, max: MAX_LINES },
    });
  }
  const page = pageOf(request.text, { viewRange: request.viewRange, named: 'line' });
  const header = `Here's the content of ${request.given} with line numbers:`;
  return [header, ...numbered(page.lines, page.firstLine), ...page.notes].join('\n');
}

/** The numbered lines around a replacement, two before its first and two after its last, as far as the text goes. */
export function editSnippet(replacement: Replacement): string {
  const lines = replacement.text.split('\n');
  const first = Math.max(1, replacement.firstLine - CONTEXT_LINES);
  const last = replacement.firstLine + replacement.lineBreaks + CONTEXT_LINES;
  return numbered(lines.slice(first - 1, last), first).join('\n');
}

function numbered(lines: readonly string[], firstLine: number): readonly string[] {
  return lines.map((line, index) => `${String(firstLine + index).padStart(NUMBER_WIDTH)}\t${line}`);
}
