import { defineConfig } from 'vitest/config';
import { filesThatRunAlone } from '../runner/test-files.ts';
import { testsOfRun } from './rooms.ts';

const tests = testsOfRun();
const alone = new Set(filesThatRunAlone());
const limits = { testTimeout: 60_000, hookTimeout: 60_000, setupFiles: ['test/runner/seed-draws.ts'] };

/** The tests that judge the mutants of one run, as the suites run them: most share a process, some want their own. */
export default defineConfig({
  test: {
    projects: [
      { isolate: false, name: 'shared', include: tests.filter((file) => !alone.has(file)) },
      { isolate: true, name: 'alone', include: tests.filter((file) => alone.has(file)) },
    ]
      .filter(({ include }) => include.length > 0)
      .map((project) => ({ test: { ...limits, ...project } })),
  },
});
