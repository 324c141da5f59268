import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { ClosingLines } from './test/support/closing-lines.ts';
import { slowFiles } from './test/support/slow-files.ts';

// Workers and the programs they start keep what Node compiled: a start costs half.
process.env['NODE_COMPILE_CACHE'] ??= resolve('node_modules/.cache/compiled');

const quick = process.env['TEST_QUICK'] === '1';

export default defineConfig({
  test: {
    reporters: ['default', new ClosingLines()],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.s3.test.ts', ...(quick ? slowFiles() : [])],
          testTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: {
          name: 's3',
          include: ['test/**/*.s3.test.ts'],
          globalSetup: ['test/servers/global-setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
