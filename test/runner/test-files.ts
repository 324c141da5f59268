import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Many seeds and inputs, an attack at every byte, bugs that are planted one by one, kills and meetings of two processes at
 * every request, days of a queue, growth by size, thousands of files, the transcripts of the command line, the frameworks,
 * which are installed first, and the template of the cloud, which takes seconds.
 */
export const TAKES_LONG: readonly string[] = [
  ...[
    'attacks',
    'checkpoints',
    'commands',
    'end-to-end',
    'fuzz',
    'infra',
    'kills',
    'pairs',
    'redactions',
  ].map((part) => `test/${part}/**/*.test.ts`),
  ...['seeded-bugs/runs', 'simulation', 'units/cdk', 'units/hosts', 'warm'].map(
    (part) => `test/${part}/**/*.test.ts`,
  ),
  // `npm run check` makes them.
  'test/{folders,layering}.test.ts',
  'test/docs/prose.test.ts',
  'test/properties/{cost-by-size,cost-of-calls,spellings}.test.ts',
  'test/units/admin/expiry/access-records.test.ts',
  'test/units/cli/many-files.test.ts',
  'test/units/cli/serve/lines.test.ts',
  'test/units/format/native-box.test.ts',
  'test/units/format/wasm-memory.test.ts',
  'test/units/history/agreed-plan.test.ts',
  'test/units/page/tenant-view.test.ts',
  'test/units/store/s3/lean-answers.test.ts',
  'test/units/store/s3/lean-credentials.test.ts',
  'test/units/store/s3/lean-requests.test.ts',
  'test/units/store/s3/sdk/versions-answers.test.ts',
  'test/units/worker/attempts.test.ts',
  'test/units/worker/bad-days.test.ts',
  'test/units/worker/leases/conversation-kills.test.ts',
  'test/units/worker/leases/conversations.test.ts',
  'test/units/worker/outages.test.ts',
  'test/units/worker/traced-turns.test.ts',
];

/**
 * Matches the code that leaves something behind in its process: a module in another's place, a global tracer, watches
 * in the memory of libsodium.
 */
const STAYS_BEHIND =
  /\bvi\.(?:mock|doMock|resetModules)\(|\bsetGlobal\w+Provider\b|from 'libsodium-wrappers'/;

/**
 * The test files that `npm run test:quick` leaves out: they take long, or start processes. One that only takes long is in
 * where a word of the command is a part of its path.
 */
export function slowFiles(words: readonly string[] = []): readonly string[] {
  const long = TAKES_LONG.flatMap((glob) => globSync(glob));
  return [
    ...withoutNamed(long, words),
    ...unitFiles(({ imports }) => imports.includes('node:child_process')),
  ];
}

/** The files that `TEST_THOROUGH=1` takes besides, by the reason for which a usual run does without them. */
const AT_LENGTH: Readonly<Record<string, readonly string[]>> = {
  'They judge the tests, and not the code.': [
    'test/mutants/main.test.ts',
    'test/seeded-bugs/runs/{simulation,suites}.test.ts',
  ],
  'They go on where a suite beside them begins.': [
    'test/simulation/{crashes,kept,rollback}.test.ts',
    'test/units/page/browser/{changes,long,unseen,views}.test.ts',
  ],
  'They start the whole cloud, of which some parts are built first.': [
    'test/infra/local/{cloud,main}.s3.test.ts',
  ],
  'They follow a page to its end.': ['test/docs/drill.s3.test.ts'],
  'They try what is published once more, packed and installed.': [
    'test/npm-programs.test.ts',
    'test/package.test.ts',
    'test/units/cli/npx.test.ts',
    'test/units/index.test.ts',
  ],
};

/** The test files of a run with `TEST_THOROUGH=1` alone, but for those that a word of the command names. */
export function filesAtLength(words: readonly string[] = []): readonly string[] {
  const listed = Object.values(AT_LENGTH).flatMap((globs) => globSync([...globs]));
  return withoutNamed([...repeatedContracts(), ...listed], words);
}

/**
 * The test files that declare contracts alone, for a bucket or for `exec`, while others declare them for SQLite and the
 * library.
 */
export function repeatedContracts(): readonly string[] {
  return globSync('test/**/*.{s3,exec}.test.ts').filter((file) => {
    const text = readFileSync(file, 'utf8');
    return /from '[./]*\/contracts\//.test(text) && !/\bit(?:\.\w+)*\(/.test(text);
  });
}

/** The test files that want a process of their own, because of what they leave behind in it. */
export function filesThatRunAlone(): readonly string[] {
  return unitFiles(({ file, text }) => file.startsWith('test/') && STAYS_BEHIND.test(text));
}

/** The files but for those that a word of the command names, as a part of their path. */
function withoutNamed(files: readonly string[], words: readonly string[]): readonly string[] {
  return files.filter((file) => !words.some((word) => file.includes(word)));
}

interface Source {
  readonly file: string;
  readonly text: string;
  readonly imports: readonly string[];
}

/** The test files that are wanted themselves, or import what is, be it through other files. */
function unitFiles(wanted: (source: Source) => boolean): readonly string[] {
  const known = new Map<string, boolean>();
  const reaches = (file: string): boolean => {
    const answer = known.get(file);
    if (answer !== undefined) return answer;
    // Files that import each other: the answer comes from the rest of them.
    known.set(file, false);
    if (!existsSync(file)) return false;
    const text = readFileSync(file, 'utf8');
    const imports = [...text.matchAll(/^(?:import|export) (?!type )[^;]*?from '([^']+)';/gms)].map(
      ([, name = '']) => name,
    );
    const found =
      wanted({ file, text, imports }) ||
      imports.some((name) => name.startsWith('.') && reaches(join(dirname(file), name)));
    known.set(file, found);
    return found;
  };
  return globSync('test/**/*.test.ts').filter((file) => !file.endsWith('.s3.test.ts') && reaches(file));
}
