import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { Command } from 'commander';
import type { ChosenVerb, Invocation } from '../run/invocation.ts';
import { type FileRun, readFile, runOnFiles } from '../run/memory.ts';
import { cannotWrite, existsAlready, writeOwnFile } from '../run/own-file.ts';
import { pathArgument } from '../run/typed.ts';
import { contentFields } from '../show/shown.ts';

/** Declares `get`. */
export function declareGet(program: Command, run: ChosenVerb<typeof runGet>): void {
  program
    .command('get')
    .addArgument(pathArgument('<path>'))
    .argument('[file]')
    .description('copy a file of the memory to your disk; - for standard output')
    .option('-f, --force', 'replace a file that is there')
    .action((path: string, to: string | undefined, { force }: { readonly force?: boolean }) =>
      run(path, { to, ...(force && { force }) }),
    );
}

/**
 * Writes one file to one of the user's, which is replaced with `force` alone, or to standard output; with `--json` its
 * content stands in the line there.
 */
export function runGet(
  path: string,
  { to = basename(path), force = false }: { readonly to?: string | undefined; readonly force?: boolean },
  invocation: Invocation,
) {
  const get = async (run: FileRun): Promise<number> => {
    const bytes = await readFile(run, path);
    const { terminal, report, flags } = invocation;
    const isInJson = to === '-' && flags.json === true;
    if (to !== '-') await writeOwn(to, bytes, { force });
    else if (!isInJson) await terminal.out(bytes);
    await report.done({ path, to, size: bytes.length, ...(isInJson && contentFields(bytes)) });
    return 0;
  };
  const interrupted = to === '-' ? {} : { interrupted: 'nothing was written; run it again' };
  return runOnFiles(get, invocation, interrupted);
}

async function writeOwn(
  to: string,
  bytes: Uint8Array,
  { force }: { readonly force: boolean },
): Promise<void> {
  if (!force && existsSync(to)) throw existsAlready(to);
  await writeOwnFile(to, (file) => file.writeFile(bytes)).catch((error: unknown) => {
    throw cannotWrite(to, error);
  });
}
