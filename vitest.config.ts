import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { ClosingLines } from './test/runner/closing-lines.ts';
import { seedOfRun } from './test/runner/draws.ts';
import { sourcesOfEntryPoints } from './test/runner/entry-points.ts';
import { LongestFirst } from './test/runner/longest-first.ts';
import { filesAtLength, filesThatRunAlone, slowFiles } from './test/runner/test-files.ts';
import { QUICK, THOROUGH } from './test/runner/thorough.ts';
import { plantBugs } from './test/seeded-bugs/plant.ts';

// Workers and the programs they start keep what Node compiled: a start costs half.
process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/compiled');

// One seed a run, which the workers take from here.
process.env['TEST_SEED'] = String(seedOfRun(process.env));

// A word of the command that is a part of a file's path takes the file in.
const words = process.argv.slice(2).filter((word) => word !== 'run' && !word.startsWith('-'));
const atLength = THOROUGH ? [] : filesAtLength(words);
/** A run of named files or projects is told of nothing that it did not want. */
const isWhole = words.length === 0;
const leftOut = ['test/**/*.s3.test.ts', ...atLength, ...(QUICK ? slowFiles(words) : [])];
const alone = [...filesThatRunAlone()];
const ofHosts = ['test/units/hosts/**/*.test.ts'];

/** What hangs ends; what is slow, at length on a busy machine, may take its time. */
const LIMIT_MS = THOROUGH ? 120_000 : 60_000;

export default defineConfig({
  plugins: [plantBugs()],
  // An example imports the package by its name, which stands for the sources here.
  resolve: {
    alias: sourcesOfEntryPoints().map(([name, replacement]) => ({
      find: new RegExp(`^${name}$`),
      replacement,
    })),
  },
  test: {
    reporters: ['default', new ClosingLines({ leftOut: isWhole ? atLength.length : 0 })],
    // On two cores Vitest would take one: half of what tests do is to wait for processes, servers and leases.
    maxWorkers: Math.max(3, availableParallelism() - 1),
    sequence: { sequencer: LongestFirst },
    // A busy machine may take its time: what is waited for comes, or the test fails a little later.
    expect: { poll: { timeout: 10_000 } },
    setupFiles: ['test/runner/seed-draws.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          // Files of one worker share what they import, which saves two fifths of the processor's time.
          isolate: false,
          include: ['test/**/*.test.ts'],
          exclude: [...leftOut, ...alone, ...ofHosts],
          globalSetup: ['test/runner/built-programs.ts'],
          testTimeout: LIMIT_MS,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'unit-alone',
          include: alone,
          exclude: leftOut,
          globalSetup: ['test/runner/built-programs.ts'],
          testTimeout: LIMIT_MS,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 'unit-hosts',
          isolate: false,
          include: ofHosts,
          exclude: leftOut,
          globalSetup: ['test/units/hosts/global-setup.ts'],
          testTimeout: LIMIT_MS,
          hookTimeout: 60_000,
        },
      },
      {
        extends: true,
        test: {
          name: 's3',
          include: ['test/**/*.s3.test.ts'],
          exclude: [...atLength],
          globalSetup: [
            'test/runner/built-programs.ts',
            'test/runner/global-setup.ts',
            'test/units/hosts/global-setup.ts',
          ],
          testTimeout: LIMIT_MS,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
