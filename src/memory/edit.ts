import { MemoryError } from '../errors.ts';
import { countLineBreaks, startOfLine } from './lines.ts';

/** A text after a replacement: the 1-based line where it happened and the line breaks that were put in. */
export interface Replacement {
  readonly text: string;
  readonly firstLine: number;
  readonly lineBreaks: number;
}

/**
 * Replaces the only occurrence of `oldStr`, which may span lines, by `newStr`; no character of either has a meaning
 * of its own. Occurrences are counted without overlap.
 *
 * @throws MemoryError `invalid_command` for an empty `oldStr`; `no_match`; `ambiguous_match` with `lines`, the lines
 * where an occurrence begins, each once, ascending.
 */
export function replaceOnce(text: string, oldStr: string, newStr: string): Replacement {
  if (oldStr === '') {
    throw new MemoryError('invalid_command', 'the text to replace is empty', {
      details: { problem: 'empty', field: 'old_str' },
    });
  }
  const at = text.indexOf(oldStr);
  if (at === -1) throw new MemoryError('no_match', 'the text to replace does not occur');
  if (text.indexOf(oldStr, at + oldStr.length) !== -1) {
    throw new MemoryError('ambiguous_match', 'the text to replace occurs more than once', {
      details: { lines: matchingLines(text, oldStr) },
    });
  }
  return {
    text: text.slice(0, at) + newStr + text.slice(at + oldStr.length),
    firstLine: countLineBreaks(text.slice(0, at)) + 1,
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
 */
export function insertAfterLine(text: string, insertLine: number, insertText: string): string {
  const terminated = text === '' || text.endsWith('\n');
  const breaks = countLineBreaks(text);
  const lines = terminated ? breaks : breaks + 1;
  const last = terminated && text !== '' ? lines + 1 : lines;
  if (!Number.isInteger(insertLine) || insertLine < 0 || insertLine > last) {
    throw new MemoryError('line_out_of_range', 'the line to insert after is outside the file', {
      details: { lines },
    });
  }
  const lineBreak = prevailingBreak(text) ?? prevailingBreak(insertText) ?? '\n';
  const inserted = insertText.replace(/\r?\n$/, '');
  const body = breaks === 0 ? inserted : inserted.replace(/\r?\n/g, lineBreak);
  if (insertLine >= lines && !terminated) return text + lineBreak + body;
  const at = startOfLine(text, Math.min(insertLine, lines) + 1);
  return text.slice(0, at) + body + lineBreak + text.slice(at);
}

function matchingLines(text: string, oldStr: string): readonly number[] {
  const lines: number[] = [];
  let line = 1;
  let counted = 0;
  for (let at = text.indexOf(oldStr); at !== -1; at = text.indexOf(oldStr, at + oldStr.length)) {
    line += countLineBreaks(text.slice(counted, at));
    counted = at;
    if (lines.at(-1) !== line) lines.push(line);
  }
  return lines;
}

/** The line ending most lines have, LF when there are as many of both; undefined in a text without line breaks. */
function prevailingBreak(text: string): '\r\n' | '\n' | undefined {
  const all = countLineBreaks(text);
  if (all === 0) return undefined;
  let crlf = 0;
  for (let at = text.indexOf('\r\n'); at !== -1; at = text.indexOf('\r\n', at + 2)) crlf += 1;
  return crlf * 2 > all ? '\r\n' : '\n';
}
