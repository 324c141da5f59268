import { FILE_HEADERS_ONLY, formatPatch } from 'diff';
import { compareLines, hunkLines } from '../../language/line-diff.ts';
import { decodeText, linesFrom } from '../../language/text.ts';
import { inTurns } from '../../time.ts';
import { shownVersion } from './shown.ts';
import type { Terminal } from './terminal.ts';

/** One side of a comparison: a text, and what it is called. */
export interface Side {
  readonly path: string;
  readonly text: string;
  /** The whole name of a version, or `NOW`. */
  readonly version?: string | undefined;
}

/** Stands in for a version where a side is what the file holds now. */
export const NOW = 'now';

/** Lines around a change. */
const CONTEXT = 4;

/** The difference between two texts. */
export interface TextPatch {
  /** The patch as `diff -u` writes it, with the version after the path, as it is shown to people. */
  readonly patch: string;
  /**
   * True where the texts differ so much that the patch shows lines that both have as removed and added; absent
   * elsewhere.
   */
  readonly coarse?: true;
}

/** Compares two texts, and lets others run meanwhile. @throws MemoryError `aborted`. */
export async function patchOf(
  before: Side,
  after: Side,
  signal: AbortSignal | undefined,
): Promise<TextPatch> {
  const { hunks, isCoarse } = await inTurns(compareLines(before.text, after.text, CONTEXT), signal);
  const [from, to] = [before, after].map(({ version }) =>
    version === undefined || version === NOW ? version : shownVersion(version),
  );
  const names = { oldFileName: before.path, newFileName: after.path, oldHeader: from, newHeader: to };
  const header = formatPatch({ ...names, hunks: [] }, FILE_HEADERS_ONLY);
  const patch = `${header}${await inTurns(hunkLines(hunks), signal)}`;
  return { patch, ...(isCoarse && { coarse: true }) };
}

/** The text that a file holds or is to hold; of a version, with its whole name, or `NOW`. */
export interface Content {
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly version?: string | undefined;
}

/** Compares the two sides of a change that creates, replaces or deletes a file; null where a side is no text. */
export async function changePatch(
  before: Content | undefined,
  after: Content | undefined,
  signal: AbortSignal | undefined,
): Promise<TextPatch | null> {
  const [from, to] = [sideOf(before), sideOf(after)];
  return from && to ? patchOf(from, to, signal) : null;
}

/** The place of a file that is not there, as `diff` writes it. */
const NO_FILE: Side = { path: '/dev/null', text: '' };

function sideOf(content: Content | undefined): Side | undefined {
  if (content === undefined) return NO_FILE;
  const { path, version } = content;
  const text = decodeText(content.bytes);
  return text === undefined ? undefined : { path, text, version };
}

export const NOT_TEXT = 'what the file holds is not text';

const COARSE = 'the texts differ so much that lines which both have are shown as removed and added';

/** Writes a patch of `changePatch` for people. */
export async function changeLines(
  found: TextPatch | null,
  { style, note }: Pick<Terminal, 'style' | 'note'>,
  signal: AbortSignal | undefined,
): Promise<readonly string[]> {
  if (found === null) return [NOT_TEXT];
  if (found.coarse) note(COARSE);
  return inTurns(colouredLines(found.patch, style), signal);
}

const LINES_PER_STEP = 4_096;

function* colouredLines(patch: string, style: Terminal['style']): Generator<void, readonly string[]> {
  const lines: string[] = [];
  for (const line of linesFrom(patch.trimEnd(), 0)) {
    if (line.startsWith('+')) lines.push(style('green', line));
    else if (line.startsWith('-')) lines.push(style('red', line));
    else lines.push(line.startsWith('@@') ? style('cyan', line) : line);
    if (lines.length % LINES_PER_STEP === 0) yield;
  }
  return lines;
}
