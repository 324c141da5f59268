import { diffWordsWithSpace } from 'diff';
import { compareLines } from '../../../language/line-diff.ts';

/** Lines around a change. */
const CONTEXT = 3;
/** Longer lines are not compared word by word. */
const LONGEST_LINE = 2_000;
/** The most words that may differ in a line: with more of them, the line counts as changed altogether. */
const MOST_WORDS = 100;

interface DiffPart {
  readonly text: string;
  readonly isChanged: boolean;
}

/** A line of a comparison. `gap`: lines that are the same were left out before the next one. */
export type DiffLine =
  | {
      readonly kind: 'same' | 'removed' | 'added';
      readonly before: number | undefined;
      readonly after: number | undefined;
      readonly parts: readonly DiffPart[];
    }
  | { readonly kind: 'gap' };

interface Comparison {
  /** The lines that differ and those around them; none for the same text. */
  readonly lines: readonly DiffLine[];
  /** The number of lines that follow on them. */
  readonly more: number;
  /** The texts differ so much that lines which both have are told as removed and added. */
  readonly isCoarse: boolean;
}

/** Compares two texts line by line, and gives the first `most` lines of the comparison. */
export function compareTexts(before: string, after: string, most: number): Comparison {
  const { hunks, isCoarse } = toEnd(compareLines(before, after, CONTEXT));
  const lines: DiffLine[] = [];
  let more = 0;
  for (const { oldStart, newStart, lines: hunk } of hunks) {
    if (oldStart > 1 || newStart > 1) lines.push({ kind: 'gap' });
    const shown = hunk.slice(0, Math.max(0, most - lines.length));
    lines.push(...numbered(shown, { before: oldStart, after: newStart }));
    more += hunk.length - shown.length;
  }
  return { lines: lines.slice(0, most), more, isCoarse };
}

/**
 * Runs the steps of a comparison at once: the longest takes some hundred milliseconds, and nothing else in a page waits for
 * it.
 */
export function toEnd<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

const KINDS: Readonly<Record<string, 'same' | 'removed' | 'added'>> = {
  ' ': 'same',
  '-': 'removed',
  '+': 'added',
};

function numbered(
  hunk: readonly string[],
  from: { readonly before: number; readonly after: number },
): readonly DiffLine[] {
  let { before, after } = from;
  const parts = partsOf(hunk);
  return hunk.flatMap((line, index): readonly DiffLine[] => {
    const kind = KINDS[line[0] ?? ''];
    // A backslash stands before a note that the text ends without a line break.
    if (kind === undefined) return [];
    const told = {
      kind,
      before: kind === 'added' ? undefined : before,
      after: kind === 'removed' ? undefined : after,
      parts: parts.get(index) ?? [{ text: line.slice(1), isChanged: false }],
    };
    if (kind !== 'added') before += 1;
    if (kind !== 'removed') after += 1;
    return [told];
  });
}

/**
 * Compares removed and added lines word by word where there are as many of each; answers the parts by the places of the
 * lines in the hunk.
 */
function partsOf(hunk: readonly string[]): ReadonlyMap<number, readonly DiffPart[]> {
  const parts = new Map<number, readonly DiffPart[]>();
  for (let start = 0; start < hunk.length; ) {
    const removed = countOf('-', hunk, start);
    const added = countOf('+', hunk, start + removed);
    for (let at = start; removed === added && at < start + removed; at += 1) {
      const [before, after] = [hunk[at]?.slice(1) ?? '', hunk[at + removed]?.slice(1) ?? ''];
      if (before.length + after.length > LONGEST_LINE) continue;
      const words = diffWordsWithSpace(before, after, { maxEditLength: MOST_WORDS });
      if (words === undefined) continue;
      const side = (other: 'added' | 'removed'): readonly DiffPart[] =>
        words
          .filter((part) => !part[other])
          .map((part) => ({ text: part.value, isChanged: part.added || part.removed }));
      parts.set(at, side('added'));
      parts.set(at + removed, side('removed'));
    }
    start += Math.max(1, removed + added);
  }
  return parts;
}

function countOf(sign: string, hunk: readonly string[], start: number): number {
  let end = start;
  while (hunk[end]?.startsWith(sign)) end += 1;
  return end - start;
}
