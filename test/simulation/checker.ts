import { END, type Program, type Step, type Tree } from './program.ts';

/**
 * An operation as the checker sees it: the steps that it may have taken, and the instants between which it took them.
 */
export interface Claim {
  readonly label: string;
  readonly start: number;
  /** No step is taken later than this. */
  readonly end: number;
  readonly program: Program;
  /** It need not come to its end. */
  readonly mayStop: boolean;
  /** Instants at which it probably looked and changed something: a search that follows them is soon over. */
  readonly hints: Hints;
}

interface Hints {
  readonly looked: readonly number[];
  /** Its own changes, and where these fail it those of any process that may have finished it. */
  readonly landed: readonly Change[];
  readonly anyProcess: readonly Change[];
}

interface Change {
  readonly at: number;
  readonly path: string;
}

export type Verdict =
  | { readonly explained: true; readonly tree: Tree; readonly states: number }
  /** `stuck`: operations that found no place in the attempt that came furthest; `tree`: what it led to. */
  | {
      readonly explained: false;
      readonly stuck: readonly string[];
      readonly tree: Tree;
      readonly states: number;
      /** The search has ended at its limit; there may be an explanation. */
      readonly exhausted: boolean;
    };

interface Under {
  readonly claim: Claim;
  /** The steps that are left; undefined once the operation is over, or has come to nothing. */
  readonly program: Program | undefined;
  /** Hints that have been followed. */
  readonly changed: readonly Change[];
}

const MOST_STATES = 200_000;
/** The most steps of one search: a move that others may repeat at will can be followed in circles. */
const MOST_STEPS = 1_000;

/**
 * Tells whether an order of steps exists in which every operation does what its answer says, between its call and its
 * answer: the search of Wing and Gong, with Lowe's memory of states that were met before.
 */
export function check(claims: readonly Claim[], initial: Tree, mostStates: number = MOST_STATES): Verdict {
  const met = new Set<string>();
  let furthest: { readonly left: readonly Under[]; readonly tree: Tree } | undefined;

  let isTooLong = false;

  function search(given: readonly Under[], before: Tree, taken: number): Tree | undefined {
    const { all, tree } = takeLooks(given, before);
    const left = all.filter(({ program }) => program !== undefined);
    if (furthest === undefined || left.length < furthest.left.length) furthest = { left, tree };
    if (left.every(isStoppable)) return tree;
    const key = keyOf(all, tree);
    isTooLong ||= taken > MOST_STEPS;
    if (met.has(key) || met.size >= mostStates || taken > MOST_STEPS) return undefined;
    met.add(key);
    for (const { at, step } of candidates(all, tree)) {
      const found = search(afterStep(all, { at, step, tree }), step.tree, taken + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  const begun = claims.map((claim) => ({ claim, program: claim.program, changed: [] }));
  const explained = search(
    begun.toSorted((one, other) => one.claim.start - other.claim.start),
    initial,
    0,
  );
  const states = met.size;
  if (explained !== undefined) return { explained: true, tree: explained, states };
  const stuck = (furthest?.left ?? []).filter((each) => !isStoppable(each)).map(({ claim }) => claim.label);
  const tree = furthest?.tree ?? initial;
  return { explained: false, stuck, tree, states, exhausted: isTooLong || states >= mostStates };
}

/** Takes at once each step that only looks and stops no process: it hinders nothing that is still to come. */
function takeLooks(
  given: readonly Under[],
  tree: Tree,
): { readonly all: readonly Under[]; readonly tree: Tree } {
  let all = given;
  for (;;) {
    const at = all.findIndex(
      (each) =>
        each.program?.onlyLooks &&
        mayMove(all, each) &&
        !all.some((other) => isOver(other, each.claim.start)) &&
        each.program.steps(tree).length > 0,
    );
    const step = all[at]?.program?.steps(tree)[0];
    if (step === undefined) return { all, tree };
    all = afterStep(all, { at, step, tree });
  }
}

/** Tells whether the operation began before every other operation that is left had to be over. */
function mayMove(all: readonly Under[], { claim }: Under): boolean {
  return all.every(
    (other) => other.program === undefined || isStoppable(other) || claim.start <= other.claim.end,
  );
}

function isStoppable({ claim, program }: Under): boolean {
  return program === undefined || claim.mayStop || program.ended;
}

function candidates(
  all: readonly Under[],
  tree: Tree,
): readonly { readonly at: number; readonly step: Step }[] {
  return all
    .flatMap((each, at) => {
      if (each.program === undefined || !mayMove(all, each)) return [];
      return each.program.steps(tree).map((step) => ({ at, step, hint: hintFor(each, tree, step.tree) }));
    })
    .toSorted((one, other) => one.hint - other.hint);
}

function hintFor({ claim, changed }: Under, before: Tree, after: Tree): number {
  const { looked, landed, anyProcess } = claim.hints;
  const path = before === after ? undefined : differingPath(before, after);
  const isNext = (change: Change): boolean => change.path === path && !changed.includes(change);
  const likely = path === undefined ? looked[0] : (landed.find(isNext) ?? anyProcess.find(isNext))?.at;
  return likely ?? (claim.mayStop ? Number.POSITIVE_INFINITY : claim.end);
}

function followed({ claim, changed }: Under, before: Tree, after: Tree): readonly Change[] {
  if (before === after) return [];
  const path = differingPath(before, after);
  const { landed, anyProcess } = claim.hints;
  const change = [...landed, ...anyProcess].find((each) => each.path === path && !changed.includes(each));
  return change === undefined ? [] : [change];
}

function differingPath(before: Tree, after: Tree): string | undefined {
  return [...before.keys(), ...after.keys()].find((path) => before.get(path) !== after.get(path));
}

/** Answers the operations after a step. Those that could stop, and are over before this one began, have stopped. */
function afterStep(
  all: readonly Under[],
  move: { readonly at: number; readonly step: Step; readonly tree: Tree },
): readonly Under[] {
  const { step, tree } = move;
  const start = all[move.at]?.claim.start ?? 0;
  return all.map((each, at) => {
    if (at !== move.at) return isOver(each, start) ? { ...each, program: undefined } : each;
    const program = step.rest === END ? undefined : step.rest;
    return { ...each, program, changed: [...each.changed, ...followed(each, tree, step.tree)] };
  });
}

function isOver(under: Under, instant: number): boolean {
  return under.program !== undefined && isStoppable(under) && under.claim.end < instant;
}

function keyOf(all: readonly Under[], tree: Tree): string {
  const files = [...tree].map(([path, text]) => `${path}=${text}`).sort();
  const programs = all.map(({ program, claim }) =>
    program === undefined ? '' : program === claim.program ? '-' : program.key,
  );
  return `${files.join()}#${programs.join()}`;
}
