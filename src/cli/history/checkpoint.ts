import type { Command } from 'commander';
import { weightOf } from '../../admin/findings.ts';
import { runOnAdmin } from '../run/admin.ts';
import { type ChosenVerb, EXIT_FAILED, type Invocation } from '../run/invocation.ts';
import { findingLine } from '../show/finding-lines.ts';
import { counted } from '../show/report.ts';

/** Declares `checkpoint`. */
export function declareCheckpoint(program: Command, run: ChosenVerb<typeof runCheckpoint>): void {
  program
    .command('checkpoint')
    .description(
      'write down which version each file has, and print the line to keep elsewhere for verify --since',
    )
    .option('--since <line>', 'compare with that one first, and write nothing where that finds an alarm')
    .action((options: CheckpointArguments) => run(options));
}

interface CheckpointArguments {
  /** The line of an earlier checkpoint. */
  readonly since?: string;
}

/**
 * Prints the line of a new checkpoint, and nothing else on standard output. With `since` it first compares the memory
 * with that earlier checkpoint, prints the findings on standard error, and writes nothing where one of them is an
 * alarm.
 */
export function runCheckpoint({ since }: CheckpointArguments, invocation: Invocation): Promise<number> {
  return runOnAdmin(
    async ({ admin, report, signal }) => {
      const { terminal } = invocation;
      const onProgress = ({ done }: { readonly done: number }): void =>
        report.progress({ done }, { line: counted(done, 'file') });
      const taken = await report.during('reading the tenant', () =>
        admin.checkpoint({ since, signal, onProgress }),
      );
      for (const finding of taken.findings) terminal.complain(findingLine(finding));
      if (taken.line === undefined) {
        const alarms = taken.findings.filter((each) => weightOf(each) === 'alarm').length;
        terminal.complain(
          `no checkpoint was written: ${counted(alarms, 'alarm')} since that line; do what is said above`,
        );
        await report.cutOff('failed', { ...taken, alarms });
        return EXIT_FAILED;
      }
      for (const path of taken.unread)
        terminal.complain(`${path} cannot be opened and is not in it: run verify`);
      if (taken.untold !== undefined) terminal.complain(UNTOLD[taken.untold]);
      await report.done({ ...taken }, [taken.line]);
      return taken.unread.length > 0 ? EXIT_FAILED : 0;
    },
    { invocation, interrupted: 'no checkpoint was written; run it again' },
  );
}

/** The sentences, said with the new line, on what a later `verify --since` cannot tell. */
const UNTOLD = {
  history_off:
    'untold since this line: how a file ended, and what lay between two of its versions. The tenant keeps no history, or not yet for an hour: run "tenant history on", and "checkpoint" again an hour later',
  not_kept:
    'untold since this line: how a file ended, and what lay between two of its versions. The history is kept for a day or less: set SEALED_MEMORY_HISTORY_DAYS to more',
} as const;
