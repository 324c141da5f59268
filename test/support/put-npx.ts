import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Puts an `npx` into a folder for the path that runs the program from its sources, as in a checkout that was built. */
export function putNpx(folder: string): void {
  const line = `[ "$1" != --no-install ] || shift; shift; exec '${process.execPath}' '${resolve('src/cli/main.ts')}' "$@"`;
  writeFileSync(join(folder, 'npx'), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
}
