import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';
import type { DriverOptions, MemoryDriver, OpenDriver, Outcome } from '../contracts/memory-tool/driver.ts';
import type { Answer, Case, Request, Step } from './case.ts';

/** A longer line is left out: what it tells of many files and long texts is told by others. */
const LONGEST_LINE = 20_000;

/** The cases of a suite that ran through `open`, as data. */
export interface Recording {
  readonly open: OpenDriver;
  /** In the order of their ids; without what is asked at once or of one tenant twice, whose answers may vary. */
  cases(): readonly Case[];
}

export function recording(open: OpenDriver): Recording {
  const found = new Map<string, Step[]>();
  const varying = new Set<string>();
  return {
    open: async (settings = {}) => recordedDriver(await open(settings), { settings, found, varying }),
    cases: () =>
      [...found]
        .filter(([id]) => !varying.has(id))
        .map(
          ([id, steps]): Case => ({
            group: 'commands',
            // Without the name of the suite.
            id: id.slice(id.indexOf(' > ') + 3),
            steps: withoutDoubleLooks(steps),
          }),
        )
        .filter((one) => one.steps.some(({ ask }) => ask.do === 'command'))
        .filter((one) => JSON.stringify(one).length <= LONGEST_LINE)
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

function recordedDriver(
  driver: MemoryDriver,
  {
    settings,
    found,
    varying,
  }: {
    readonly settings: DriverOptions;
    readonly found: Map<string, Step[]>;
    readonly varying: Set<string>;
  },
): MemoryDriver {
  const fresh: Step = { ask: { do: 'memory', settings: toldOf(settings) }, answer: { result: null } };
  /** The steps that made the memory what it is. */
  let past: Step[] = [fresh];
  const note = (ask: Request, answer: Answer): void => {
    const step: Step = { ask, answer };
    const id = expect.getState().currentTestName;
    if (id !== undefined) {
      const steps = found.get(id) ?? [...past];
      // Another memory of the same test would need a second program.
      if (!isDeepStrictEqual(steps[0], fresh) || settings.tenant !== undefined) varying.add(id);
      found.set(id, [...steps, step]);
    }
    const changes = ask.do === 'put' || (ask.do === 'command' && 'result' in answer && !isView(ask));
    if (changes) past.push(step);
  };
  return {
    async run(input) {
      const outcome = await driver.run(input);
      note({ do: 'command', input }, answerOf(outcome));
      return outcome;
    },
    runAll(inputs) {
      varying.add(expect.getState().currentTestName ?? '');
      return driver.runAll(inputs);
    },
    async put(path, bytes) {
      await driver.put(path, bytes);
      note({ do: 'put', path, base64: Buffer.from(bytes).toString('base64') }, { result: null });
    },
    async dump() {
      const files = await driver.dump();
      note({ do: 'files' }, { result: files });
      return files;
    },
    async reset() {
      await driver.reset();
      past = [fresh];
      const id = expect.getState().currentTestName ?? '';
      if (found.has(id)) varying.add(id);
    },
    close: () => driver.close(),
  };
}

/** A look at the files before a command that fails shows what the look after it shows. */
function withoutDoubleLooks(steps: readonly Step[]): readonly Step[] {
  return steps.filter(({ ask, answer }, index) => {
    const [next, after] = steps.slice(index + 1, index + 3);
    const isDouble = next?.ask.do === 'command' && after?.ask.do === 'files';
    return ask.do !== 'files' || !isDouble || !isDeepStrictEqual(after.answer, answer);
  });
}

function toldOf({ wording, onExists, maxFileBytes }: DriverOptions): DriverOptions {
  return {
    ...(wording !== undefined && { wording }),
    ...(onExists !== undefined && { onExists }),
    ...(maxFileBytes !== undefined && { maxFileBytes }),
  };
}

function isView(ask: Request): boolean {
  return (ask['input'] as { readonly command?: unknown } | undefined)?.command === 'view';
}

function answerOf(outcome: Outcome): Answer {
  return outcome.ok ? { result: outcome.content } : { code: outcome.code, content: outcome.content };
}
