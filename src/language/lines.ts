const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** A search that begins anew in each line is slow where lines are short, so so many characters are looked at first. */
const NEAR = 8;

/** How many line feeds stand from `from` up to `to`; a text shows as one more line than it holds. */
export function countLineBreaks(text: string, from = 0, to: number = text.length): number {
  let count = 0;
  for (let at = lineFeedFrom(text, from); at !== -1 && at < to; at = lineFeedFrom(text, at + 1)) count += 1;
  return count;
}

export interface LineBreaks {
  readonly all: number;
  /** Those of them that are CRLF. */
  readonly crlf: number;
}

export function lineBreaksOf(text: string): LineBreaks {
  let [all, crlf] = [0, 0];
  for (let at = lineFeedFrom(text, 0); at !== -1; at = lineFeedFrom(text, at + 1)) {
    all += 1;
    if (text.charCodeAt(at - 1) === CARRIAGE_RETURN) crlf += 1;
  }
  return { all, crlf };
}

/** Where the 1-based `line` begins; there are at least `line - 1` line feeds in the text. */
export function startOfLine(text: string, line: number): number {
  let at = 0;
  for (let passed = 1; passed < line; passed += 1) at = lineFeedFrom(text, at) + 1;
  return at;
}

/** Where the line begins that the character `at` stands in; a line feed belongs to the line it ends. */
export function lineStartAt(text: string, at: number): number {
  return at === 0 ? 0 : text.lastIndexOf('\n', at - 1) + 1;
}

/** Where the line that begins at `from` ends, its line feed excluded. */
export function endOfLine(text: string, from: number): number {
  const at = lineFeedFrom(text, from);
  return at === -1 ? text.length : at;
}

/** The line that begins at `from`, and those behind it. */
export function* linesFrom(text: string, from: number): Generator<string, void> {
  for (let start = from; start <= text.length; ) {
    const end = endOfLine(text, start);
    yield text.slice(start, end);
    start = end + 1;
  }
}

/** The next line feed, or -1. */
function lineFeedFrom(text: string, from: number): number {
  const near = Math.min(from + NEAR, text.length);
  for (let at = from; at < near; at += 1) if (text.charCodeAt(at) === LINE_FEED) return at;
  return text.indexOf('\n', near);
}
