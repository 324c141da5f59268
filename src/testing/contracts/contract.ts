import { deepStrictEqual, fail, rejects } from 'node:assert/strict';

/** One promise of a contract, for a test of any runner: `test(name, () => run(subject))`. */
export interface ContractCase<Subject> {
  /** Says what is promised; no two cases of a contract have the same name. */
  readonly name: string;
  /**
   * Rejects where the subject breaks the promise, with the `AssertionError` of `node:assert` or with what the subject
   * threw. Cases run in any order, at once too.
   */
  readonly run: (subject: Subject) => Promise<void>;
  /** The time that the case may take on a slow server, in milliseconds; as the time limit of its test. */
  readonly withinMs: number;
}

/** The time limit of a case that says nothing else, in milliseconds. */
export const CASE_MS = 60_000;

/** Compares bytes, whatever class of array holds them. Tells a difference in one line, for bodies have megabytes. */
export function sameBytes(actual: Uint8Array | undefined, expected: Uint8Array): void {
  if (actual !== undefined && Buffer.compare(actual, expected) === 0) return;
  fail(`there ${actual === undefined ? 'is nothing' : `are ${shown(actual)}`} instead of ${shown(expected)}`);
}

function shown(bytes: Uint8Array): string {
  return `${bytes.length} bytes (${Buffer.from(bytes.subarray(0, 16)).toString('hex')}…)`;
}

/** Compares the fields of `expected` alone. */
export function sameFields<T extends object>(actual: unknown, expected: T): void {
  const fields = Object.keys(expected).map((name) => [name, Object(actual)[name]]);
  deepStrictEqual(Object.fromEntries(fields), expected);
}

/** Waits for a failure with these fields. */
export async function failsWith(work: Promise<unknown>, expected: object): Promise<void> {
  await rejects(work, (error) => {
    sameFields(error, expected);
    return true;
  });
}
