import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The part of the test's own environment for a program that a test starts: where programs lie, and where Node keeps
 * compiled code, which halves the time that each of hundreds of processes needs to start.
 */
export const PROGRAM_ENV: Readonly<Record<string, string | undefined>> = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};

/** The command line that `test/runner/built-programs.ts` has built for this run. */
export const CLI_PROGRAM: string =
  process.env['TEST_CLI'] ?? fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

/** The folder beside the built command line that has the built programs of `test/crashes`. */
export const PROCESSES = 'processes';

/** Finds the program of that name in `test/crashes`, built for this run or from source. */
export function crashProgram(name: string): string {
  const cli = process.env['TEST_CLI'];
  return cli === undefined
    ? fileURLToPath(new URL(`../crashes/${name}.ts`, import.meta.url))
    : join(dirname(cli), PROCESSES, `${name}.js`);
}

/** Puts an `npx` into a folder for the path that runs the command line, as in a checkout that was built. */
export function putNpx(folder: string): void {
  const cache = PROGRAM_ENV['NODE_COMPILE_CACHE'];
  const lines = [
    '#!/bin/sh',
    '[ "$1" != --no-install ] || shift',
    'shift',
    ...(cache === undefined ? [] : [`export NODE_COMPILE_CACHE='${cache}'`]),
    `exec '${process.execPath}' '${CLI_PROGRAM}' "$@"`,
  ];
  writeFileSync(join(folder, 'npx'), `${lines.join('\n')}\n`, { mode: 0o755 });
}

/** Links what is installed here into the `node_modules` of another folder, scopes as a whole. */
export function linkModules(modules: string): void {
  for (const name of readdirSync('node_modules')) {
    if (!name.startsWith('.')) symlinkSync(resolve('node_modules', name), join(modules, name));
  }
}
