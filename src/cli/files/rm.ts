import type { Command } from 'commander';
import { damagedFile, hasCode, MemoryError } from '../../errors.ts';
import { MEMORY_ROOT } from '../../language/path.ts';
import type { ChosenVerb, Invocation } from '../run/invocation.ts';
import { type Count, callOf, type FileRun, runOnFiles, worded } from '../run/memory.ts';
import { pathArgument } from '../run/typed.ts';
import { counted } from '../show/report.ts';

/** Declares `rm`. */
export function declareRm(program: Command, run: ChosenVerb<typeof runRm>): void {
  program
    .command('rm')
    .addArgument(pathArgument('<path...>'))
    .description('remove files')
    .option('-r, --recursive', 'directories with all below them')
    .option('-f, --force', 'do not fail when there is nothing')
    .action((paths: string[], options: RmArguments) => run(paths, options));
}

interface RmArguments {
  readonly recursive?: boolean;
  readonly force?: boolean;
}

export function runRm(
  paths: readonly string[],
  { recursive = false, force = false }: RmArguments,
  invocation: Invocation,
) {
  let removed = 0;
  let current: Count | undefined;
  const call = callOf(invocation, (progress) => {
    current = progress;
  });
  const removeAll = async (run: FileRun): Promise<number> => {
    for (const path of paths) {
      if (path === MEMORY_ROOT && recursive) {
        throw new MemoryError(
          'invalid_command',
          `${path} itself cannot be removed: name what lies below it.`,
        );
      }
      const { report, signal } = invocation;
      const look = () => worded({ command: 'delete', path }, () => run.files.stat(path, { signal }));
      const found = await report.during(`looking for ${path}`, look).catch(damagedFile);
      if (found === undefined && force) continue;
      if (found?.type === 'directory' && !recursive) {
        throw new MemoryError('is_directory', `${path} is a directory: --recursive removes all below it.`);
      }
      await report.during(`removing ${path}`, () =>
        worded({ command: 'delete', path }, () => run.files.remove(path, call)),
      );
      current = undefined;
      removed += 1;
    }
    await invocation.report.done({ paths });
    return 0;
  };
  const interrupted = (failure: unknown): string => {
    const isPartly = current !== undefined && current.done > 0;
    if (removed === 0 && !isPartly && !hasCode(failure, 'outcome_unknown')) return 'nothing was removed';
    const told = [
      ...(removed > 0 ? [`${removed} of ${counted(paths.length, 'path')}`] : []),
      ...(current && isPartly ? [`${current.done} of ${current.total} files below ${paths[removed]}`] : []),
    ];
    const what = told.length === 0 ? 'some of it may be removed' : `${told.join(' and ')} are removed`;
    return `${what}; the same command with --force removes the rest`;
  };
  return runOnFiles(removeAll, invocation, { interrupted });
}
