import { endOfLine } from './text.ts';

/*
 * The difference of two texts, line by line: the fewest lines that must be removed and added, by the algorithm of Myers
 * (An O(ND) difference algorithm and its variations, 1986). Its time grows with the square of the difference, so it has
 * a bound.
 */

/** A run of lines from `before` and `after` on, counted from 0: the same in both texts, or in one of them alone. */
interface LineRun {
  readonly kind: 'same' | 'removed' | 'added';
  readonly before: number;
  readonly after: number;
  readonly count: number;
}

export interface LineDiff {
  /** The lines, each with its line feed, which the last one may lack. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  /** The runs from the first line to the last; two neighbours are of different kinds. */
  readonly runs: readonly LineRun[];
  /** True where the texts differ so much that lines which both have are told as removed and added. */
  readonly isCoarse: boolean;
}

/** A part of a comparison as `diff -u` shows it: lines with their signs before them, without line feeds. */
interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: string[];
}

/** The UTF-16 units that one step splits into lines. */
const UNITS_PER_STEP = 16_384;
/** The lines that one step looks at. */
const LINES_PER_STEP = 16_384;
/** The lines that one step compares, in some milliseconds. */
const COMPARISONS_PER_STEP = 500_000;
/**
 * The most lines of both texts that may be moved or repeated. Lines that only one text has do not count, however many
 * they are.
 */
const MOST_EDITS = 1_000;
const MOST_COMPARISONS = 20_000_000;

/**
 * Compares two texts line by line, in steps of some milliseconds. Takes time in proportion to the texts: where more
 * than some 1,000 lines were moved or repeated, all between the first and the last change is told as removed and added.
 */
export function* diffLines(before: string, after: string): Generator<void, LineDiff> {
  const numbers = new Map<string, number>();
  const left = yield* readLines(before, numbers);
  const right = yield* readLines(after, numbers);
  const start = yield* commonStart(left.numbers, right.numbers);
  const end = yield* commonEnd(left.numbers, right.numbers, start);
  const inner = { from: start, toEnd: end, known: numbers.size };
  const a = yield* alsoIn(right.numbers, left.numbers, inner);
  const b = yield* alsoIn(left.numbers, right.numbers, inner);
  const found = yield* longestCommon(a.numbers, b.numbers);
  const matches: LineMatch[] = [{ before: 0, after: 0, count: start }];
  for (const [x, y] of found ?? []) {
    matches.push({ before: a.places[x] ?? 0, after: b.places[y] ?? 0, count: 1 });
    if (matches.length % LINES_PER_STEP === 0) yield;
  }
  matches.push({ before: left.lines.length - end, after: right.lines.length - end, count: end });
  const runs = yield* runsOf(matches);
  return { before: left.lines, after: right.lines, runs, isCoarse: found === undefined };
}

/** Compares two texts, and makes the changes, each with `context` lines around it. `isCoarse` is that of `diffLines`. */
export function* compareLines(
  before: string,
  after: string,
  context: number,
): Generator<void, { readonly hunks: readonly Hunk[]; readonly isCoarse: boolean }> {
  const found = yield* diffLines(before, after);
  return { hunks: yield* hunksOf(found, context), isCoarse: found.isCoarse };
}

/** Lines of the base from `from` on, up to `to`, in place of which a text has others. */
interface LineEdit {
  readonly from: number;
  readonly to: number;
  readonly lines: readonly string[];
}

/**
 * Merges two texts that were made of one base, line by line; undefined where both changed the same lines, or lines that
 * touch. A change that both made alike counts once.
 */
export function* mergeLines(base: string, one: string, other: string): Generator<void, string | undefined> {
  const found = yield* diffLines(base, one);
  const edits = [...editsOf(found), ...editsOf(yield* diffLines(base, other))].sort(
    (a, b) => a.from - b.from,
  );
  let text = '';
  let last: LineEdit | undefined;
  for (const edit of edits) {
    if (last !== undefined && edit.from <= last.to) {
      if (!isSameEdit(edit, last)) return undefined;
      continue;
    }
    text += found.before.slice(last?.to ?? 0, edit.from).join('') + edit.lines.join('');
    last = edit;
    yield;
  }
  return text + found.before.slice(last?.to ?? 0).join('');
}

/** Gathers the runs of a comparison that stand beside one another into edits. */
function editsOf({ after, runs }: LineDiff): readonly LineEdit[] {
  const edits: LineEdit[] = [];
  for (const { kind, before: from, after: at, count } of runs) {
    if (kind === 'same') continue;
    const edit =
      kind === 'removed'
        ? { from, to: from + count, lines: [] }
        : { from, to: from, lines: after.slice(at, at + count) };
    const last = edits.at(-1);
    if (last?.to !== from) edits.push(edit);
    else edits[edits.length - 1] = { from: last.from, to: edit.to, lines: [...last.lines, ...edit.lines] };
  }
  return edits;
}

function isSameEdit(a: LineEdit, b: LineEdit): boolean {
  return a.from === b.from && a.to === b.to && a.lines.join('') === b.lines.join('');
}

/** Makes the changes of a comparison, each with `context` lines around it. */
export function* hunksOf(
  { before, after, runs }: LineDiff,
  context: number,
): Generator<void, readonly Hunk[]> {
  const hunks: Hunk[] = [];
  let open: { -readonly [Key in keyof Hunk]: Hunk[Key] } | undefined;
  for (const [index, run] of runs.entries()) {
    const isLast = index === runs.length - 1;
    if (run.kind !== 'same') {
      open ??= { oldStart: run.before + 1, oldLines: 0, newStart: run.after + 1, newLines: 0, lines: [] };
      yield* show(open, run, { before, after });
    } else if (open !== undefined && !isLast && run.count <= 2 * context) {
      yield* show(open, run, { before, after });
      continue;
    } else if (open !== undefined) {
      yield* show(open, { ...run, count: Math.min(context, run.count) }, { before, after });
      hunks.push(open);
      open = undefined;
    }
    if (run.kind === 'same' && !isLast) {
      const count = Math.min(context, run.count);
      const lead = { before: run.before + run.count - count, after: run.after + run.count - count };
      open = { oldStart: lead.before + 1, oldLines: 0, newStart: lead.after + 1, newLines: 0, lines: [] };
      yield* show(open, { kind: 'same', ...lead, count }, { before, after });
    }
  }
  if (open !== undefined) hunks.push(open);
  return hunks;
}

/** Writes the hunks in the form of a patch, after the names of its files. */
export function* hunkLines(hunks: readonly Hunk[]): Generator<void, string> {
  let text = '';
  for (const { oldStart, oldLines, newStart, newLines, lines } of hunks) {
    text += `@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@\n`;
    for (let at = 0; at < lines.length; at += LINES_PER_STEP) {
      text += `${lines.slice(at, at + LINES_PER_STEP).join('\n')}\n`;
      yield;
    }
  }
  return text;
}

/** Writes the range of a hunk; one without lines names the line in front. */
function rangeOf(start: number, count: number): string {
  return `${count === 0 ? start - 1 : start},${count}`;
}

const SIGNS = { same: ' ', removed: '-', added: '+' } as const;

function* show(
  hunk: { oldLines: number; newLines: number; readonly lines: string[] },
  { kind, before, after, count }: LineRun,
  texts: Pick<LineDiff, 'before' | 'after'>,
): Generator<void, void> {
  const from = kind === 'added' ? after : before;
  const lines = kind === 'added' ? texts.after : texts.before;
  for (let at = from; at < from + count; at += 1) {
    const line = lines[at] ?? '';
    if (line.endsWith('\n')) hunk.lines.push(`${SIGNS[kind]}${line.slice(0, -1)}`);
    else hunk.lines.push(`${SIGNS[kind]}${line}`, '\\ No newline at end of file');
    if (at % LINES_PER_STEP === LINES_PER_STEP - 1) yield;
  }
  if (kind !== 'added') hunk.oldLines += count;
  if (kind !== 'removed') hunk.newLines += count;
}

/** Splits a text into its lines, and numbers them: the same line has the same number. */
function* readLines(
  text: string,
  numbers: Map<string, number>,
): Generator<void, { readonly lines: readonly string[]; readonly numbers: readonly number[] }> {
  const lines: string[] = [];
  const found: number[] = [];
  for (let start = 0, step = UNITS_PER_STEP; start < text.length; ) {
    const end = Math.min(endOfLine(text, start) + 1, text.length);
    const line = text.slice(start, end);
    const number = numbers.get(line) ?? numbers.size;
    numbers.set(line, number);
    lines.push(line);
    found.push(number);
    start = end;
    if (start < step) continue;
    step = start + UNITS_PER_STEP;
    yield;
  }
  return { lines, numbers: found };
}

function* commonStart(a: readonly number[], b: readonly number[]): Generator<void, number> {
  let count = 0;
  while (count < a.length && count < b.length && a[count] === b[count]) {
    count += 1;
    if (count % LINES_PER_STEP === 0) yield;
  }
  return count;
}

function* commonEnd(a: readonly number[], b: readonly number[], start: number): Generator<void, number> {
  const most = Math.min(a.length, b.length) - start;
  let count = 0;
  while (count < most && a[a.length - 1 - count] === b[b.length - 1 - count]) {
    count += 1;
    if (count % LINES_PER_STEP === 0) yield;
  }
  return count;
}

/**
 * Picks the lines of a text that the other text has as well, with their places. A longest common part consists of these
 * alone.
 */
function* alsoIn(
  other: readonly number[],
  own: readonly number[],
  { from, toEnd, known }: { readonly from: number; readonly toEnd: number; readonly known: number },
): Generator<void, { readonly numbers: Int32Array; readonly places: readonly number[] }> {
  const isThere = new Uint8Array(known);
  for (let at = from; at < other.length - toEnd; at += 1) {
    isThere[other[at] ?? 0] = 1;
    if (at % LINES_PER_STEP === 0) yield;
  }
  const places: number[] = [];
  const numbers = new Int32Array(own.length);
  for (let at = from; at < own.length - toEnd; at += 1) {
    const number = own[at] ?? 0;
    if (isThere[number] === 1) numbers[places.push(at) - 1] = number;
    if (at % LINES_PER_STEP === 0) yield;
  }
  return { numbers: numbers.subarray(0, places.length), places };
}

/**
 * Finds the places of a longest common part, in order; undefined beyond the bounds. For each number of edits, and on
 * each diagonal, it keeps the farthest place reached in `a`; -1 for unreached.
 */
function* longestCommon(
  a: Int32Array,
  b: Int32Array,
): Generator<void, readonly (readonly [number, number])[] | undefined> {
  const most = Math.min(a.length + b.length, MOST_EDITS);
  const zero = most + 1;
  const reached = new Int32Array(2 * most + 3).fill(-1);
  reached[zero + 1] = 0;
  const earlier: Int32Array[] = [];
  let [comparisons, step] = [0, COMPARISONS_PER_STEP];
  for (let edits = 0; edits <= most; edits += 1) {
    earlier.push(reached.slice(zero - edits - 1, zero + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const x = next(reached, zero + diagonal, { diagonal, a: a.length, b: b.length });
      let end = x;
      while (x >= 0 && end < a.length && end - diagonal < b.length && a[end] === b[end - diagonal]) end += 1;
      reached[zero + diagonal] = end;
      comparisons += end - x + 1;
      if (end === a.length && end - diagonal === b.length) return wayBack(a, b, earlier);
      if (comparisons < step) continue;
      if (comparisons > MOST_COMPARISONS) return undefined;
      step = comparisons + COMPARISONS_PER_STEP;
      yield;
    }
  }
  return undefined;
}

/**
 * Answers the place to which one edit more leads: a line added from the diagonal above, or one removed from that below.
 */
function next(
  reached: Int32Array,
  at: number,
  { diagonal, a, b }: { readonly diagonal: number; readonly a: number; readonly b: number },
): number {
  const added = reached[at + 1] ?? -1;
  const removed = reached[at - 1] ?? -1;
  return Math.max(added - diagonal <= b ? added : -1, removed >= 0 && removed < a ? removed + 1 : -1);
}

function wayBack(
  a: Int32Array,
  b: Int32Array,
  earlier: readonly Int32Array[],
): readonly (readonly [number, number])[] {
  const places: [number, number][] = [];
  let [x, y] = [a.length, b.length];
  for (let edits = earlier.length - 1; edits >= 0; edits -= 1) {
    const reached = earlier[edits] ?? new Int32Array(0);
    const diagonal = x - y;
    const at = edits + 1 + diagonal;
    const begin = next(reached, at, { diagonal, a: a.length, b: b.length });
    for (; x > begin; x -= 1, y -= 1) places.push([x - 1, y - 1]);
    if (begin === reached[at + 1]) y -= 1;
    else x -= 1;
  }
  return places.reverse();
}

/** Lines that are the same in both texts. */
interface LineMatch {
  readonly before: number;
  readonly after: number;
  readonly count: number;
}

function* runsOf(matches: readonly LineMatch[]): Generator<void, readonly LineRun[]> {
  const runs: LineRun[] = [];
  let [x, y, same] = [0, 0, 0];
  const add = (kind: LineRun['kind'], count: number): void => {
    if (count > 0) runs.push({ kind, before: x, after: y, count });
  };
  for (const [index, { before, after, count }] of matches.entries()) {
    if (before > x || after > y) {
      [x, y] = [x - same, y - same];
      add('same', same);
      [x, y, same] = [x + same, y + same, 0];
      add('removed', before - x);
      x = before;
      add('added', after - y);
      y = after;
    }
    [x, y, same] = [x + count, y + count, same + count];
    if (index % LINES_PER_STEP === LINES_PER_STEP - 1) yield;
  }
  [x, y] = [x - same, y - same];
  add('same', same);
  return runs;
}
