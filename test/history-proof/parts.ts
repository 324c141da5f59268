/** The parts of the proof, by the names that `--part` takes. */
export const PARTS = ['simulation', 'states', 'chain', 'checkpoints', 'redactions', 'traces'] as const;

export type Part = (typeof PARTS)[number];

/** A program that tries something many times. */
export interface Task {
  readonly part: string;
  readonly what: string;
  /** How often it has to be tried. */
  readonly count: number;
  /** The arguments with which Node is started. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Finds the lines in which the program says how often it was tried, by the first group, and that all is well so far.
   */
  readonly tried: RegExp;
}

/** How much of the proof: 1 is its full size. */
export interface Extent {
  readonly share: number;
  /** From 1 on; another one draws others. */
  readonly seed: number;
}

/** All that is to be tried, what takes longest first. */
export function tasksOf(parts: ReadonlySet<Part>, { share, seed }: Extent): readonly Task[] {
  const some = (count: number): number => Math.max(1, Math.round(count * share));
  const env = { HISTORY_PROOF: '1', HISTORY_SEED: `${seed}` };
  const vitest = (file: string): readonly string[] => [
    'node_modules/vitest/vitest.mjs',
    ...['run', '--project', 'unit', '--maxWorkers=1', file],
  ];
  const simulation = (history: string, ...more: readonly string[]): Task => {
    const [count, last] = [some(4_000), some(4_000) * seed];
    const seeds = `${last - count + 1}..${last}`;
    const kept = [history, ...more].join(' ');
    return {
      part: 'simulation',
      what: `seeds on both kinds of store, history ${kept}`,
      count: 2 * count,
      args: ['test/simulation/main.ts', '--seeds', seeds, '--history', history, ...more],
      tried: /^(\d+) simulations, 0 failed.*/gm,
    };
  };
  const checkpoints = (kind: 'attacks' | 'runs', total: number, word: string): Task => {
    const count = some(total);
    const counts = { attacks: '0', runs: '0', [kind]: `${count}` };
    return {
      part: 'checkpoints',
      count,
      what: kind === 'attacks' ? 'attacks after a checkpoint' : 'honest runs since a checkpoint',
      args: [
        'test/checkpoints/main.ts',
        ...['--attacks', counts.attacks, '--runs', counts.runs, '--seed', `history ${seed}${word}`],
      ],
      tried: kind === 'attacks' ? /^(\d+) attacks, 0 not named/gm : /^(\d+) honest runs, 0 with an alarm.*/gm,
    };
  };
  const chain = (kind: 'attempts' | 'runs', total: number): Task => {
    const count = some(total);
    const counts = { attempts: '0', runs: '0', [kind]: `${count}` };
    return {
      part: 'chain',
      count,
      args: vitest('test/units/admin/verify/verify-history.test.ts'),
      what: kind === 'attempts' ? 'attempts in the middle of a chain' : 'honest runs',
      env: { ...env, HISTORY_ATTEMPTS: counts.attempts, HISTORY_RUNS: counts.runs },
      tried: kind === 'attempts' ? /^(\d+) attempts were named/gm : /^(\d+) honest runs raised no alarm/gm,
    };
  };
  const [states, redactions] = [some(10_000), some(10_000)];
  const all: readonly Task[] = [
    ...['', ' b', ' c', ' d'].map((word) => checkpoints('runs', 50_000, word)),
    checkpoints('attacks', 10_000, ''),
    chain('runs', 100_000),
    simulation('always'),
    simulation('turned on'),
    simulation('always', '--take-back'),
    chain('attempts', 10_000),
    {
      part: 'states',
      what: 'restored states',
      count: states,
      args: vitest('test/units/history/restore-at-states.test.ts'),
      env: { ...env, TEST_STATES: `${states}` },
      tried: /^(\d+) states were restored/gm,
    },
    {
      part: 'redactions',
      what: 'redactions beside writers',
      count: redactions,
      args: [...vitest('test/redactions/redactions.test.ts'), '-t', 'up to three'],
      env: { REDACTIONS: `${redactions}`, TEST_SEED: `${seed}` },
      tried: /^(\d+) redactions, no byte left.*/gm,
    },
    {
      part: 'traces',
      what: 'traced turns',
      count: share < 1 ? 80 : 3_000,
      args: vitest('test/units/worker/traced-turns.test.ts'),
      env: { ...env, TEST_TRACED_TURNS: share < 1 ? 'some' : 'full' },
      tried: /^(\d+) turns were traced/gm,
    },
  ];
  return all.filter(({ part }) => parts.has(part as Part));
}
