import { MemoryError } from '../errors.ts';
import { PAGE_CHARACTERS } from './page.ts';
import {
  countLineBreaks,
  endOfLine,
  type LineBreaks,
  LONGEST_TEXT,
  lineBreaksOf,
  type Search,
  searchFor,
  startOfLine,
} from './text.ts';

/** A text after a replacement, and the place of the new text in it. */
export interface Replacement {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** The 1-based line of `start`. */
  readonly firstLine: number;
  /** The number of line feeds from `start` to `end`. */
  readonly lineBreaks: number;
}

/**
 * Replaces the only occurrence of `oldStr`, which may span lines, by `newStr`; no character of either has a meaning
 * of its own. Occurrences are counted without overlap.
 *
 * @throws MemoryError `invalid_command` for an empty `oldStr`; `no_match`; `ambiguous_match` with `lines`, the lines
 * where an occurrence begins, each once, ascending, as many as a reply can name, and `more` when there are others;
 * `limit_exceeded` for a text that no string can hold.
 */
export function replaceOnce(text: string, oldStr: string, newStr: string): Replacement {
  if (oldStr === '') {
    throw new MemoryError('invalid_command', 'The text to replace is empty.', {
      details: { problem: 'empty', field: 'old_str' },
    });
  }
  const search = searchFor(oldStr);
  const at = search(text, 0);
  if (at === -1) throw new MemoryError('no_match', 'The text to replace does not occur.');
  if (search(text, at + oldStr.length) !== -1) {
    throw new MemoryError('ambiguous_match', 'The text to replace occurs more than once.', {
      details: matchingLines(text, oldStr, search),
    });
  }
  refuseTooLong(text.length - oldStr.length + newStr.length);
  return {
    text: text.slice(0, at) + newStr + text.slice(at + oldStr.length),
    start: at,
    end: at + newStr.length,
    firstLine: countLineBreaks(text, 0, at) + 1,
    lineBreaks: countLineBreaks(newStr),
  };
}

/**
 * Inserts `insertText` as lines of their own after line `insertLine`, 0 being the start. One final newline of it is
 * dropped, its line endings become those that prevail in `text`, and `text` ends with a newline afterwards only if
 * it did before. An empty text counts as one that does, but has no line after its last.
 *
 * @throws MemoryError `line_out_of_range` with `lines`, the number of lines of `text`: a final newline ends the last
 * line and begins none. The number after that one is taken as well when the text ends with a newline.
 * `limit_exceeded` for a text that no string can hold.
 */
export function insertAfterLine(text: string, insertLine: number, insertText: string): string {
  const terminated = text === '' || text.endsWith('\n');
  const breaks = lineBreaksOf(text);
  const lines = terminated ? breaks.all : breaks.all + 1;
  const last = terminated && text !== '' ? lines + 1 : lines;
  if (!Number.isInteger(insertLine) || insertLine < 0 || insertLine > last) {
    throw new MemoryError('line_out_of_range', 'The line to insert after is outside the file.', {
      details: { lines },
    });
  }
  const lineBreak = prevailing(breaks) ?? prevailing(lineBreaksOf(insertText)) ?? '\n';
  const inserted = insertText.replace(/\r?\n$/, '');
  const body = breaks.all === 0 ? inserted : inserted.replace(/\r?\n/g, lineBreak);
  refuseTooLong(text.length + lineBreak.length + body.length);
  if (insertLine >= lines && !terminated) return text + lineBreak + body;
  const at = startOfLine(text, Math.min(insertLine, lines) + 1);
  return text.slice(0, at) + body + lineBreak + text.slice(at);
}

/** Finds the lines where a match begins, as many as a page can name. */
function matchingLines(
  text: string,
  oldStr: string,
  search: Search,
): { readonly lines: readonly number[]; readonly more?: true } {
  const isOneLine = !oldStr.includes('\n');
  const lines: number[] = [];
  let characters = 0;
  for (let at = search(text, 0), counted = 0, line = 1; at !== -1; ) {
    line += countLineBreaks(text, counted, at);
    counted = at;
    if (lines.at(-1) !== line) {
      characters += String(line).length + ', '.length;
      if (characters > PAGE_CHARACTERS) return { lines, more: true };
      lines.push(line);
    }
    // Occurrences within one line count once, so the search goes on at the end of the line.
    at = search(text, isOneLine ? endOfLine(text, at) : at + oldStr.length);
  }
  return { lines };
}

/** Chooses the line ending of most lines, LF if both are equally frequent; undefined in a text without line breaks. */
function prevailing({ all, crlf }: LineBreaks): '\r\n' | '\n' | undefined {
  if (all === 0) return undefined;
  return crlf * 2 > all ? '\r\n' : '\n';
}

function refuseTooLong(characters: number): void {
  if (characters <= LONGEST_TEXT) return;
  throw new MemoryError('limit_exceeded', 'The text would be longer than a string can be.', {
    details: { limit: 'text_characters', value: characters, max: LONGEST_TEXT },
  });
}
