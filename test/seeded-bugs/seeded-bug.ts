import type { Kind } from '../linearizability/plan.ts';
import type { Theme } from '../simulation/workload.ts';

/** A mistake that somebody might make in the code. */
export interface SeededBug {
  /** The wrong that is done, which names the bug. */
  readonly name: string;
  /** The page of `docs/` and the chapter of it whose promise is broken then. */
  readonly breaks: `${'protocols' | 'history' | 'policies'}: ${string}` | 'checkpoints';
  /** The run of CI that turns red. */
  readonly seenBy: Judge;
  /** `seam`: what `SEAMS`, or for races `RACED_SEAMS`, has under the name of the bug stands around a process. Else one text stands in place of another. */
  readonly planted: 'seam' | PlantedText;
}

interface PlantedText {
  /** From the root of the repository. */
  readonly file: string;
  /** It stands there once. */
  readonly replaces: string;
  readonly by: string;
}

type Judge = SimulationJudge | RaceJudge | SuiteJudge;

/** The seeds that CI runs of a theme: one of them turns red, on each class of store that is meant. */
export interface SimulationJudge {
  readonly run: 'simulation';
  readonly theme: Theme['name'];
  /** Both unless one is named. */
  readonly store?: 'guarded' | 'unguarded';
  /** The seeds of a tenant that keeps history; `taken back`: with a process that undoes and restores. */
  readonly history?: 'kept' | 'taken back';
  /** A seed that met the bug once. CI runs it beside the others. */
  readonly seed?: number;
  /** The words of the judge; any words unless given. */
  readonly says?: string;
}

/** Porcupine, of histories of a kind: `npm run prove linearizability` races them, with and without the bug. */
interface RaceJudge {
  readonly run: 'races';
  readonly kind: Kind['name'];
  /** Guarded unless another is named. */
  readonly store?: 'unguarded';
  readonly history?: 'kept';
}

/** A suite of tests. */
export interface SuiteJudge {
  readonly run: 'suite';
  readonly file: `test/${string}.test.ts`;
  /** The title of the test that turns red, as it is written there. */
  readonly title: string;
}

export function inSimulation(
  theme: Theme['name'],
  more: Omit<SimulationJudge, 'run' | 'theme'> = {},
): SimulationJudge {
  return { run: 'simulation', theme, ...more };
}

export function inRaces(kind: Kind['name'], more: Omit<RaceJudge, 'run' | 'kind'> = {}): RaceJudge {
  return { run: 'races', kind, ...more };
}

export function inSuite(file: SuiteJudge['file'], title: string): SuiteJudge {
  return { run: 'suite', file, title };
}
