import { readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/**
 * What a program that a test starts is given of the test's own environment: where programs lie, and where Node keeps
 * compiled code, which halves the time that each of hundreds of processes needs to start.
 */
export const PROGRAM_ENV: Readonly<Record<string, string | undefined>> = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
};

/** Puts an `npx` into a folder for the path that runs the program from its sources, as in a checkout that was built. */
export function putNpx(folder: string): void {
  const line = `[ "$1" != --no-install ] || shift; shift; exec '${process.execPath}' '${resolve('src/cli/main.ts')}' "$@"`;
  writeFileSync(join(folder, 'npx'), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
}

/** Links what is installed here into the `node_modules` of another folder, scopes as a whole. */
export function linkModules(modules: string): void {
  for (const name of readdirSync('node_modules')) {
    if (!name.startsWith('.')) symlinkSync(resolve('node_modules', name), join(modules, name));
  }
}
