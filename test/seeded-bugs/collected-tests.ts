import * as vitest from 'vitest';

export const { expect, inject, onTestFinished, vi } = vitest;

type Run = (...args: readonly unknown[]) => unknown;
type Named = (name: string, ...rest: readonly unknown[]) => void;

interface Suite {
  readonly parent: Suite | undefined;
  readonly hooks: Record<'beforeAll' | 'afterAll' | 'beforeEach' | 'afterEach', Run[]>;
  isOpen: boolean;
}

interface CollectedTest {
  /** As it is written, before the values of a row come into it. */
  readonly title: string;
  readonly suite: Suite;
  readonly run: Run;
}

const tests: CollectedTest[] = [];
const root = suiteIn(undefined);
let current = root;

export const describe: Named = withTables(addSuite);
export const it: Named = withTables((title, run) => tests.push({ title, run, suite: current }));
export const beforeAll = (run: Run): unknown => current.hooks.beforeAll.push(run);
export const afterAll = (run: Run): unknown => current.hooks.afterAll.push(run);
export const beforeEach = (run: Run): unknown => current.hooks.beforeEach.push(run);
export const afterEach = (run: Run): unknown => current.hooks.afterEach.push(run);

/** The outcome of the tests of one title: how many ran, and which one failed, counted from 0. */
export interface Outcome {
  readonly ran: number;
  readonly failed?: { readonly at: number; readonly failure: unknown };
}

/** Runs the tests of that title until one fails, or the one of them at that place alone. */
export async function runTests(title: string, only?: number): Promise<Outcome> {
  const titled = tests.filter((each) => each.title === title);
  const opened = new Set<Suite>();
  let ran = 0;
  try {
    for (const [at, each] of titled.entries()) {
      if (only !== undefined && at !== only) continue;
      ran += 1;
      try {
        await runOne(each, opened);
      } catch (failure) {
        return { ran, failed: { at, failure } };
      }
    }
    return { ran };
  } finally {
    for (const suite of [...opened].reverse()) {
      suite.isOpen = false;
      for (const hook of suite.hooks.afterAll) await hook();
    }
  }
}

async function runOne({ suite, run }: CollectedTest, opened: Set<Suite>): Promise<void> {
  const suites = [...outwards(suite)].reverse();
  const after: Run[] = [];
  try {
    for (const each of suites) {
      if (each.isOpen) continue;
      each.isOpen = true;
      opened.add(each);
      for (const hook of each.hooks.beforeAll) await hook();
    }
    for (const each of suites) {
      after.unshift(...each.hooks.afterEach);
      for (const hook of each.hooks.beforeEach) {
        const undo = await hook();
        if (typeof undo === 'function') after.unshift(undo as Run);
      }
    }
    await run({ onTestFinished: (hook: Run) => after.unshift(hook) });
  } finally {
    for (const hook of after) await hook();
  }
}

function* outwards(suite: Suite): Generator<Suite> {
  for (let each: Suite | undefined = suite; each !== undefined; each = each.parent) yield each;
}

function suiteIn(parent: Suite | undefined): Suite {
  return {
    parent,
    hooks: { beforeAll: [], afterAll: [], beforeEach: [], afterEach: [] },
    isOpen: false,
  };
}

function addSuite(_title: string, run: Run): void {
  const outer = current;
  current = suiteIn(outer);
  run();
  current = outer;
}

/** `it('…', run)`, `it.each(rows)('…', run)` and their like. */
function withTables(add: (title: string, run: Run) => unknown): Named {
  const one: Named = (title, ...rest) => void add(title, runIn(rest));
  const each =
    (rows: readonly unknown[]): Named =>
    (title, ...rest) => {
      const run = runIn(rest);
      for (const row of rows) {
        const values = Array.isArray(row) ? row : [row];
        add(title, (...more) => run(...values, ...more));
      }
    };
  const when = (isWanted: boolean): Named => (isWanted ? one : () => {});
  return Object.assign(one, {
    each,
    concurrent: one,
    skip: () => {},
    skipIf: (isUnwanted: boolean) => when(!isUnwanted),
    runIf: when,
  });
}

function runIn(rest: readonly unknown[]): Run {
  return rest.find((each) => typeof each === 'function') as Run;
}
