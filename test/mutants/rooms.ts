import { globSync } from 'node:fs';
import { slowFiles } from '../runner/test-files.ts';

/** A room whose mutants are counted. */
export interface MutatedRoom {
  /** The share of all its mutants that its tests have to kill. */
  readonly goal: number;
  /** The tests beside `test/units/<room>` that judge its mutants, as globs. */
  readonly alsoJudgedBy?: readonly string[];
  /** The tests that judge its mutants although the quick run leaves them out: nothing else tells some from the code. */
  readonly oracles?: readonly string[];
}

/** The rooms in the order in which they are worked on. */
export const ROOMS: Readonly<Record<string, MutatedRoom>> = {
  keys: { goal: 0.95 },
  format: { goal: 0.95 },
  store: {
    goal: 0.95,
    oracles: [
      'test/units/store/s3/lean-{answers,credentials,requests}.test.ts',
      'test/units/store/s3/sdk/versions-answers.test.ts',
    ],
  },
  tree: { goal: 0.95 },
  history: { goal: 0.95 },
  tool: { goal: 0.95 },
  language: { goal: 0.9, alsoJudgedBy: ['test/properties/{edit,lines,path,schema,view}.test.ts'] },
  sessions: { goal: 0.9 },
  turns: { goal: 0.9, alsoJudgedBy: ['test/units/worker/leases/**/*.test.ts'] },
  open: {
    goal: 0.9,
    alsoJudgedBy: [
      'test/units/{cli/typed-names,worker/settings}.test.ts',
      'test/units/tool/{events,limits,mounts}.test.ts',
    ],
  },
  policy: { goal: 0.85 },
  admin: { goal: 0.85 },
  worker: { goal: 0.85 },
  agent: { goal: 0.85 },
};

/** Every room may keep this share of its mutants as rows of survivors. */
export const MOST_ROWS = 0.03;

/** Carries the room from the process that makes mutants to those that run its tests. */
export const ROOM_VARIABLE = 'MUTATED_ROOM';

/** The room of a source file; undefined for what belongs to none that is counted. */
export function roomOf(file: string): string | undefined {
  const room = /^src\/([^/]+)\//.exec(file)?.[1];
  return room !== undefined && room in ROOMS ? room : undefined;
}

/** The files of a room in which mutants are made: an `index.ts` only passes names on. */
export function sourcesOf(room: string): readonly string[] {
  return globSync(`src/${room}/**/*.ts`)
    .filter((file) => !file.endsWith('/index.ts'))
    .sort();
}

/** The test files that judge the room named in the environment: those of the quick run, and the room's oracles. */
export function testsOfRun(): readonly string[] {
  const room = process.env[ROOM_VARIABLE] ?? '';
  const { alsoJudgedBy = [], oracles = [] } = ROOMS[room] ?? {};
  const slow = new Set(slowFiles());
  const quick = [`test/units/${room}/**/*.test.ts`, ...alsoJudgedBy]
    .flatMap((glob) => globSync(glob))
    .filter((file) => !file.endsWith('.s3.test.ts') && !slow.has(file));
  return [...quick, ...oracles.flatMap((glob) => globSync(glob))].sort();
}
