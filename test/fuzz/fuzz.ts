import fc from 'fast-check';
import { it } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../src/errors.ts';
import { watchProcessor } from '../stage/measures.ts';

/** No input of a parser may take more of the processor's time, which other programs do not prolong. */
const LONGEST_MS = 3_000;
/** How many times over the usual number of inputs is tried. */
const RUNS = Math.max(1, Number(process.env['FUZZ_RUNS']) || 1);

/** The outcome of one input. */
export type Verdict<T> = { readonly value: T } | { readonly code: MemoryErrorCode };

/**
 * Declares a test that tries `runs` inputs, and FUZZ_RUNS times as many where that is set. A failing input is told with
 * the seed that finds it again.
 */
export function fuzz<Inputs extends [unknown, ...unknown[]]>(
  title: string,
  search: {
    readonly runs: number;
    readonly inputs: { readonly [Place in keyof Inputs]: fc.Arbitrary<Inputs[Place]> };
    readonly check: (...inputs: Inputs) => void | Promise<void>;
  },
): void {
  const numRuns = Math.round(search.runs * RUNS);
  const timeout = 60_000 * RUNS;
  it(title, { timeout }, async () => {
    const property = fc.asyncProperty(...search.inputs, async (...inputs: Inputs) => {
      await search.check(...inputs);
    });
    await fc.assert(property, { numRuns });
  });
}

/**
 * Answers what `parse` does. Throws where it takes long, and where it comes to anything but a value or a `MemoryError`.
 */
export function verdictOf<T>(parse: () => T): Verdict<T> {
  const taken = watchProcessor();
  const verdict = judge(parse);
  refuseSlow(taken());
  return verdict;
}

export async function asyncVerdictOf<T>(parse: () => Promise<T>): Promise<Verdict<T>> {
  const taken = watchProcessor();
  const verdict = await parse().then(
    (value) => ({ value }),
    (error: unknown) => ({ code: codeOf(error) }),
  );
  refuseSlow(taken());
  return verdict;
}

/** The most bytes that one array had which was made while `action` ran, its own result included. */
export function largestArray(action: () => unknown): number {
  const original = globalThis.Uint8Array;
  let largest = 0;
  globalThis.Uint8Array = new Proxy(original, {
    construct(target, given, newTarget) {
      if (typeof given[0] === 'number') largest = Math.max(largest, given[0]);
      return Reflect.construct(target, given, newTarget) as object;
    },
  });
  try {
    action();
  } finally {
    globalThis.Uint8Array = original;
  }
  return largest;
}

function judge<T>(parse: () => T): Verdict<T> {
  try {
    return { value: parse() };
  } catch (error) {
    return { code: codeOf(error) };
  }
}

function codeOf(error: unknown): MemoryErrorCode {
  if (error instanceof MemoryError) return error.code;
  throw error;
}

function refuseSlow(took: number): void {
  if (took > LONGEST_MS) throw new Error(`one input took ${took} ms of the processor`);
}
