import type { Command } from 'commander';
import { hasCode, MemoryError } from '../../errors.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import type { ChosenVerb, Invocation } from '../run/invocation.ts';
import { callOf, type FileRun, runOnFiles, worded } from '../run/memory.ts';
import { pathArgument } from '../run/typed.ts';

/** Declares `mv`. */
export function declareMv(program: Command, run: ChosenVerb<typeof runMv>): void {
  program
    .command('mv')
    .addArgument(pathArgument('<from>'))
    .addArgument(pathArgument('<to>'))
    .description('rename a file or a directory')
    .action((from: string, to: string) => run({ from, to }));
}

export function runMv({ from, to }: { readonly from: string; readonly to: string }, invocation: Invocation) {
  const rename = async (run: FileRun): Promise<number> => {
    if (from === MEMORY_ROOT) {
      throw new MemoryError(
        'invalid_command',
        `${MEMORY_ROOT} itself cannot be renamed: name what lies below it.`,
      );
    }
    const input = { command: 'rename', old_path: from, new_path: to };
    await invocation.report.during(`moving ${from}`, () =>
      worded(input, () => run.files.rename(from, to, callOf(invocation))),
    );
    await invocation.report.done({ from, to });
    return 0;
  };
  const interrupted = (failure: unknown): string =>
    hasCode(failure, 'outcome_unknown')
      ? `the rename was begun: the next change to this memory, or "verify --repair", finishes it or takes it back; look at ${from} and ${to} then`
      : 'nothing was renamed; run it again';
  return runOnFiles(rename, invocation, { interrupted });
}
