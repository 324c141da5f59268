import { setTimeout as pause } from 'node:timers/promises';
import { styleText } from 'node:util';

/** A line of output; styles apply only where the terminal shows them. */
export interface Line {
  readonly text: string;
  readonly style?: 'bold' | 'dim' | 'green' | 'red' | 'cyan';
  /** Columns before the text. */
  readonly indent?: number;
  /** More columns before every line but the first. */
  readonly hang?: number;
}

export interface Columns {
  readonly left: readonly Line[];
  readonly right: readonly Line[];
}

const WIDEST = 100;
const NARROWEST_PAIR = 72;
/** A name of up to 15 bytes has 43 characters in the store; indented and with a slash it fits on one line. */
const RIGHT = 46;
const GAP = ' │ ';

function screenWidth(): number {
  const width = process.stdout.columns ?? Number(process.env['COLUMNS']);
  return width >= 20 ? Math.min(width, WIDEST) : WIDEST;
}

/** Two columns side by side; where there is no room for both, one below the other. */
export function sideBySide({ left, right }: Columns, width: number = screenWidth()): string {
  if (width < NARROWEST_PAIR) {
    return block([...left, { text: 'In the store:', style: 'dim' }, ...right], width);
  }
  const leftWidth = width - RIGHT - GAP.length;
  const leftLines = left.flatMap((line) => wrap(line, leftWidth));
  const rightLines = right.flatMap((line) => wrap(line, RIGHT));
  const rows = Array.from({ length: Math.max(leftLines.length, rightLines.length) }, (_, i) => {
    const cell = leftLines[i] ?? { text: '' };
    const padding = ' '.repeat(leftWidth - displayWidth(cell.text));
    return `${paint(cell)}${padding}${paint({ text: GAP, style: 'dim' })}${paint(rightLines[i] ?? { text: '' })}`.trimEnd();
  });
  return rows.map((row) => `${row}\n`).join('');
}

export function block(lines: readonly Line[], width: number = screenWidth()): string {
  return lines
    .flatMap((line) => wrap(line, width))
    .map((line) => `${paint(line)}\n`)
    .join('');
}

const LINE_MS = 90;

/** Writes a text: on a screen line by line, so that a person can follow. */
export async function writePaced(text: string): Promise<void> {
  if (process.stdout.isTTY !== true) {
    process.stdout.write(text);
    return;
  }
  for (const line of text.split(/(?<=\n)/)) {
    process.stdout.write(line);
    await pause(LINE_MS);
  }
}

/** A heading over the full width. */
export function rule(title: string, width: number = screenWidth()): string {
  const text = `── ${title} `;
  return `\n${paint({ text: text.padEnd(width, '─'), style: 'bold' })}\n\n`;
}

function wrap(line: Line, width: number): readonly Line[] {
  const { text, indent = 0, hang = 0 } = line;
  return printable(text)
    .split('\n')
    .flatMap((row) => breakText(row, width - indent - hang))
    .map((row, i) => ({ ...line, text: ' '.repeat(i === 0 ? indent : indent + hang) + row }));
}

/** Breaks after a space; a longer piece after a slash or before a dot; and what is still too long, anywhere. */
function breakText(text: string, width: number): readonly string[] {
  const fits = (piece: string) => displayWidth(piece.trimEnd()) <= width;
  const pieces = text
    .split(/(?<= )/)
    .flatMap((piece) => (fits(piece) ? piece : piece.split(/(?<=\/)|(?=\.)/)))
    .flatMap((piece) => (fits(piece) ? piece : graphemes(piece)));
  const lines: string[] = [];
  for (const piece of pieces) {
    const longer = (lines.at(-1) ?? '') + piece;
    if (lines.length > 0 && fits(longer)) lines[lines.length - 1] = longer;
    else lines.push(piece);
  }
  return lines.length > 0 ? lines.map((line) => line.trimEnd()) : [''];
}

/** Makes a file's text harmless to the terminal: tabs become spaces, control characters dots. */
function printable(text: string): string {
  return text.replaceAll('\t', '  ').replace(/[^\P{C}\n\u200c\u200d]/gu, '·');
}

function displayWidth(text: string): number {
  return graphemes(text).reduce((width, grapheme) => width + (isWide(grapheme) ? 2 : 1), 0);
}

function isWide(grapheme: string): boolean {
  return /\p{Emoji_Presentation}|\ufe0f|\p{scx=Han}|\p{scx=Hiragana}|\p{scx=Katakana}|\p{scx=Hangul}/u.test(
    grapheme,
  );
}

function graphemes(text: string): readonly string[] {
  return [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
}

function paint({ text, style }: Line): string {
  return style ? styleText(style, text, { stream: process.stdout }) : text;
}
