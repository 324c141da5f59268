import type { Command } from 'commander';
import { MemoryError } from '../../errors.ts';
import type { FileStat } from '../../tool/files.ts';
import { type ChosenVerb, type Invocation, ofOneChange } from '../run/invocation.ts';
import { eachAhead, type FileRun, filesAt, requireEntry, runOnFiles, worded } from '../run/memory.ts';
import { pathArgument } from '../run/typed.ts';
import { redactionLines } from '../show/redaction-lines.ts';
import { counted } from '../show/report.ts';

/** Declares `cp`. */
export function declareCp(program: Command, run: ChosenVerb<typeof runCp>): void {
  program
    .command('cp')
    .addArgument(pathArgument('<from>'))
    .addArgument(pathArgument('<to>'))
    .description('copy a file')
    .option('-r, --recursive', 'a directory with all below it')
    .option('-f, --force', 'replace files that are there')
    .action((from: string, to: string, options: CpArguments) => run({ from, to }, options));
}

interface CpArguments {
  readonly recursive?: boolean;
  readonly force?: boolean;
}

export function runCp(
  { from, to }: { readonly from: string; readonly to: string },
  { recursive = false, force = false }: CpArguments,
  invocation: Invocation,
) {
  const copied = { done: 0, total: 0 };
  const copyAll = async (run: FileRun): Promise<number> => {
    const { report, signal, terminal } = invocation;
    const source = await requireEntry(run, from);
    if (source.type === 'directory' && !recursive) {
      throw new MemoryError('is_directory', `${from} is a directory: --recursive copies all below it.`);
    }
    if (`${to}/`.startsWith(`${from}/`)) {
      throw new MemoryError('invalid_command', `${from} cannot be copied into itself.`);
    }
    const sources = await filesAt(run, from);
    const targetOf = (path: string): string => `${to}${path.slice(from.length)}`;
    const paths = new Set(sources.map(({ path }) => path));
    const lost = sources.map(({ path }) => targetOf(path)).find((target) => paths.has(target));
    if (lost !== undefined) {
      throw new MemoryError(
        'invalid_command',
        `${lost} would be replaced before or after it is copied itself.`,
      );
    }
    copied.total = sources.length;
    const copy = ({ path }: FileStat) => {
      const target = targetOf(path);
      return worded({ command: 'create', path: target }, async () => {
        const { redacted } = await run.files.copy(path, target, {
          mode: force ? 'replace' : 'create',
          signal,
        });
        copied.done += 1;
        return { target, redacted };
      });
    };
    const copyInOrder = async (): Promise<void> => {
      for await (const { target, redacted } of eachAhead(run, sources, copy)) {
        for (const line of redactionLines(target, redacted)) {
          await report.entry({ path: target, redacted }, line);
        }
      }
    };
    await report.during(`copying ${from}`, copyInOrder).catch((error: unknown) => {
      if (copied.total > 1 && !signal.aborted) terminal.note(saidCopied());
      throw error;
    });
    await report.done({ from, to, files: copied.done });
    return 0;
  };
  const saidCopied = (): string =>
    `${copied.done} of ${counted(copied.total, 'file')} are copied to ${to}; the same command with --force copies all of them`;
  const interrupted = (failure: unknown): string => (copied.done === 0 ? ofOneChange(failure) : saidCopied());
  return runOnFiles(copyAll, invocation, { interrupted });
}
