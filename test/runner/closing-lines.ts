import { writeFileSync } from 'node:fs';
import type { UserConsoleLog } from 'vitest';
import type { Reporter, SerializedError, TestModule, Vitest } from 'vitest/node';
import { isCi } from '../../infra/local/programs/install-options.ts';
import { type S3Outcome, type S3Server, serverTitle } from '../../infra/local/servers/s3-server.ts';
import { notRunLines } from './not-run.ts';

/** Counts of one run; `s3` are the tests that ran on a real server. */
export interface RunSummary {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly s3: number;
}

/**
 * Writes the last lines of a run: the seed of its draws where a test failed, how many suites were left out, which ones
 * did not run and why, what ran on which S3 server, and `N passed, N failed, N skipped`.
 * When no server was there the very last line says `S3 suites NOT RUN` and how to get one. Where
 * `TEST_SUMMARY_FILE` is set the counts go there too, as JSON.
 */
export class ClosingLines implements Reporter {
  readonly #leftOut: number;
  /** The suites for which something was missing; several files of one suite say the same. */
  readonly #notRun = new Set<string>();
  #vitest: Vitest | undefined;
  #lines: readonly string[] = [];

  /** `leftOut` suites of this run are left to `TEST_THOROUGH=1`. */
  constructor({ leftOut }: { readonly leftOut: number }) {
    this.#leftOut = leftOut;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    // Teardown and time-out messages come after onTestRunEnd; the closing lines must come after those.
    if (!vitest.config.watch) process.once('exit', () => this.#print());
  }

  onUserConsoleLog({ content }: UserConsoleLog): void {
    for (const line of notRunLines(content)) this.#notRun.add(line);
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const vitest = this.#vitest;
    if (!vitest) return;
    const summary = summarize(modules, unhandled);
    const s3Modules = modules.filter((module) => module.project.name === 's3');
    const context = s3Modules[0]?.project.getProvidedContext();
    const closing = closingLines(summary, {
      servers: context?.s3Servers ?? [],
      outcome: context?.s3Outcome,
      everyTestWanted: vitest.config.testNamePattern === undefined && summary.failed === 0,
      inCi: isCi(process.env),
    });
    if (closing.fails) process.exitCode = 1;
    this.#lines = [
      ...seedLines(summary, process.env['TEST_SEED']),
      ...leftOutLines(this.#leftOut),
      ...this.#notRun,
      ...closing.lines,
    ];
    const file = process.env['TEST_SUMMARY_FILE'];
    if (file) writeFileSync(file, `${JSON.stringify(summary)}\n`);
    if (vitest.config.watch) this.#print();
  }

  #print(): void {
    if (this.#lines.length > 0) process.stdout.write(`${this.#lines.join('\n')}\n`);
    this.#lines = [];
  }
}

function summarize(modules: readonly TestModule[], unhandled: readonly SerializedError[]): RunSummary {
  let passed = 0;
  let skipped = 0;
  let s3 = 0;
  // A file that does not load, a hook that throws, a stray rejection: no test failed, something did.
  let failed = unhandled.length;
  for (const module of modules) {
    failed += module.errors().length;
    for (const suite of module.children.allSuites()) failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') passed += 1;
      else if (state === 'failed') failed += 1;
      else skipped += 1;
      if (module.project.name === 's3' && (state === 'passed' || state === 'failed')) s3 += 1;
    }
  }
  return { passed, failed, skipped, s3 };
}

/** How the draws of a run that failed are repeated. */
export function seedLines({ failed }: RunSummary, seed: string | undefined): readonly string[] {
  return failed > 0 && seed !== undefined ? [`Drawn with TEST_SEED=${seed}, which repeats the draws.`] : [];
}

/** Says what a run leaves to `TEST_THOROUGH=1`. */
export function leftOutLines(suites: number): readonly string[] {
  return suites > 0
    ? [
        `${suites} suites are left to CI and to TEST_THOROUGH=1; test/runner/test-files.ts says which and why.`,
      ]
    : [];
}

/** The lines in order, and whether they report something that must fail a run of passing tests. */
export function closingLines(
  summary: RunSummary,
  s3: {
    readonly servers: readonly S3Server[];
    readonly outcome: S3Outcome | undefined;
    readonly everyTestWanted: boolean;
    readonly inCi: boolean;
  },
): { readonly lines: readonly string[]; readonly fails: boolean } {
  const counts = `${summary.passed} passed, ${summary.failed} failed, ${summary.skipped} skipped`;
  const { outcome } = s3;
  const skipsCount = s3.inCi && s3.everyTestWanted && summary.skipped > 0;
  const skipped = skipsCount ? ['Tests were skipped; with CI=true that is a failure.'] : [];
  if (!outcome) return { lines: [...skipped, counts], fails: skipsCount };
  if (outcome.notRun !== undefined) {
    return { lines: [counts, `S3 suites NOT RUN: ${outcome.notRun}`], fails: outcome.fails || skipsCount };
  }
  const servers = s3.servers.map(({ name, version, how }) => `${serverTitle(name)} ${version} (${how})`);
  const nothingRan = summary.s3 === 0 && s3.everyTestWanted;
  const lines = [
    ...outcome.notes.map((note) => `S3: ${note}`),
    `S3: ${servers.join(', ')}: ${summary.s3} tests ran on S3`,
    ...(nothingRan ? ['S3: a server was there and no test ran on it; that is a failure'] : []),
    ...skipped,
    counts,
  ];
  return { lines, fails: outcome.fails || nothingRan || skipsCount };
}
