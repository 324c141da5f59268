import { diffWordsWithSpace, structuredPatch } from 'diff';

/** Lines around a change. */
const CONTEXT = 3;
/** Texts that differ more than can be told in this time are not compared line by line. */
const MOST_MS = 1_500;
/** Longer lines are not compared word by word. */
const LONGEST_LINE = 2_000;

export interface DiffPart {
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

/** How two texts differ, line by line; undefined where they differ too much to tell. Nothing for the same text. */
export function diffLines(before: string, after: string): readonly DiffLine[] | undefined {
  const options = { context: CONTEXT, timeout: MOST_MS };
  const patch = structuredPatch('', '', before, after, '', '', options);
  if (patch === undefined) return undefined;
  const lines: DiffLine[] = [];
  for (const { oldStart, newStart, lines: hunk } of patch.hunks) {
    if (oldStart > 1 || newStart > 1) lines.push({ kind: 'gap' });
    lines.push(...numbered(hunk, { before: oldStart, after: newStart }));
  }
  return lines;
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

/** Where as many lines were added as removed, each is compared with its own, word by word; by their places in the hunk. */
function partsOf(hunk: readonly string[]): ReadonlyMap<number, readonly DiffPart[]> {
  const parts = new Map<number, readonly DiffPart[]>();
  for (let start = 0; start < hunk.length; ) {
    const removed = countOf('-', hunk, start);
    const added = countOf('+', hunk, start + removed);
    for (let at = start; removed === added && at < start + removed; at += 1) {
      const [before, after] = [hunk[at]?.slice(1) ?? '', hunk[at + removed]?.slice(1) ?? ''];
      if (before.length + after.length > LONGEST_LINE) continue;
      const words = diffWordsWithSpace(before, after);
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
