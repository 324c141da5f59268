import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import type { Answer, Case, Request } from './case.ts';
import { lineOf, linesOf } from './lines.ts';

const ANSWER_WITHIN_MS = 60_000;

/** The cases that a program answered wrongly, and how many cases of which group it passed. */
export interface Outcome {
  readonly passed: Readonly<Record<string, number>>;
  readonly failures: readonly Failure[];
}

export type Ask = (request: Request) => Promise<Answer>;

interface Failure {
  readonly case: string;
  readonly step: number;
  readonly expected: unknown;
  readonly answered: unknown;
}

/** Asks a program, which a shell starts, all cases one after the other, and judges its answers. */
export async function runCases(command: string, cases: readonly Case[]): Promise<Outcome> {
  const child = spawn(command, { shell: true, stdio: ['pipe', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  try {
    return await judge(cases, conversation(child));
  } finally {
    child.stdin.end();
    await closed;
  }
}

/** Judges what `ask` answers to each case; a case ends at its first wrong answer. */
export async function judge(cases: readonly Case[], ask: Ask): Promise<Outcome> {
  const passed: Record<string, number> = {};
  const failures: Failure[] = [];
  for (const { group, id, steps } of cases) {
    const failure = await firstFailure(steps, ask);
    if (failure === undefined) passed[group] = (passed[group] ?? 0) + 1;
    else failures.push({ case: `${group}: ${id}`, ...failure });
  }
  return { passed, failures };
}

async function firstFailure(steps: Case['steps'], ask: Ask): Promise<Omit<Failure, 'case'> | undefined> {
  for (const [step, { ask: request, answer: expected }] of steps.entries()) {
    const answered = await ask(request);
    if (!isDeepStrictEqual(answered, expected)) return { step, expected, answered };
  }
  return undefined;
}

/** One line to the program, one line back; a program that ends or does not answer fails the run. */
function conversation(child: ChildProcessByStdio<Writable, Readable, null>): Ask {
  const lines = linesOf(child.stdout);
  child.stdin.on('error', () => {});
  let id = 0;
  return async (request) => {
    id += 1;
    child.stdin.write(lineOf({ id, ...request }));
    const line = await within(lines.next());
    if (line.done) throw new Error(`The program ended before it answered request ${id}.`);
    const { id: answered, ...answer } = JSON.parse(line.value) as Answer & { readonly id: unknown };
    if (answered !== id) throw new Error(`The program answered request ${answered} in the place of ${id}.`);
    return answer;
  };
}

async function within<T>(answer: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`The program did not answer within ${ANSWER_WITHIN_MS / 1_000} seconds.`)),
    ANSWER_WITHIN_MS,
  );
  try {
    return await Promise.race([answer, promise]);
  } finally {
    clearTimeout(timer);
  }
}
