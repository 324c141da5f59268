import type { Command } from 'commander';
import type { LogArguments } from '../history/history.ts';
import type { RestoreAtArguments, UndoArguments } from '../history/take-back.ts';
import type { Consent } from '../run/consent.ts';
import { pathArgument, typedPath } from '../run/typed-path.ts';
import { type Choose, parseCount } from './arguments.ts';
import { forReaders } from './readers.ts';

/** Adds the commands of docs/history.md. What they do is loaded when one of them runs. */
export function addHistoryVerbs(program: Command, choose: Choose): void {
  program
    .command('log')
    .addArgument(pathArgument('[path]'))
    .description(
      'show what happened to a file, or to all files, where the tenant keeps history; the newest first',
    )
    .option('--limit <count>', 'so many entries, the newest', parseCount)
    .action((path: string | undefined, options: LogArguments) =>
      choose(forReaders(async (run) => (await verbs()).runLog(path, options, run))),
    );
  program
    .command('show')
    .addArgument(pathArgument('<path>'))
    .argument('<version>', '')
    .description('print one version of a file, as "log" names it')
    .action((path: string, version: string) =>
      choose(forReaders(async (run) => (await verbs()).runShow({ path, version }, run))),
    );
  program
    .command('restore-at <time>')
    .description('make the files what they were at a moment: 2026-11-17T09:30:00Z, or with +01:00 for Z')
    .option('--below <path>', 'that file alone, or what lies below that directory', typedPath)
    .option('--partial', 'restore what can be had, where some of it cannot')
    .option('--diff', 'show how the texts of all those files differ')
    .option('--dry-run', 'show the plan, and write nothing')
    .option('--yes', 'do not ask')
    .action((time: string, options: RestoreAtArguments) =>
      choose(async (run) => (await takingBack()).runRestoreAt(time, options, run)),
    );
  program
    .command('undo [writer]')
    .description('take back what one actor did, as "log" names it, unless another actor has built on it')
    .option('--turn <id>', 'what that turn of a worker did, instead of a writer')
    .option('--force', 'also what others have built on, and with it what they built')
    .option('--diff', 'show how the texts of all those files differ')
    .option('--dry-run', 'show the plan, and write nothing')
    .option('--yes', 'do not ask')
    .action((writer: string | undefined, options: UndoArguments) =>
      choose(async (run) => (await takingBack()).runUndo(writer, options, run)),
    );
  program
    .command('redact')
    .addArgument(pathArgument('<path>'))
    .argument('<version>', '')
    .description(
      'take the text of one version out of the history for good, and out of the versions a bucket keeps',
    )
    .option('--dry-run', 'show which version it is, and change nothing')
    .option('--yes', 'do not ask')
    .action((path: string, version: string, consent: Consent) =>
      choose(async (run) =>
        (await import('../history/redact.ts')).runRedact({ path, version, ...consent }, run),
      ),
    );
  program
    .command('trace')
    .addArgument(pathArgument('<path>'))
    .argument('[version]', '')
    .description('show which turns read a version, or any of that path, and what came of it')
    .action((path: string, version?: string) =>
      choose(
        forReaders(async (run) => (await import('../history/trace.ts')).runTrace({ path, version }, run)),
      ),
    );
}

interface RestoreArguments extends Consent {
  readonly from?: string;
  readonly to?: string;
}

/** Adds `restore`: of one version of a file, or of a backup. */
export function addRestore(program: Command, choose: Choose): void {
  program
    .command('restore')
    .usage('[options] <path> <version> | --from <source> --to <folder>')
    .addArgument(pathArgument('[path]', 'the file that gets the text of one of its versions again'))
    .argument('[version]', 'the version, as "log" names it')
    .description(
      'give a file the text of one of its versions again; or write every file of a backup, opened and checked, into a new folder',
    )
    .option('--from <source>', 'the backup: a folder of raw objects, s3://bucket/prefix or sqlite:PATH')
    .option('--to <folder>', 'the folder to make; nothing but the whole of it ever lies there')
    .option('--dry-run', 'of a version: show how the texts differ, and write nothing')
    .option('--yes', 'of a version: do not ask')
    .action(
      (
        path: string | undefined,
        version: string | undefined,
        options: RestoreArguments,
        command: Command,
      ) => {
        const { from, to, ...consent } = options;
        const isOfBackup = from !== undefined || to !== undefined;
        if (isOfBackup && (path !== undefined || Object.keys(consent).length > 0)) {
          command.error('error: --from and --to stand alone: they are of a backup, not of a version', {
            code: 'commander.conflictingOption',
          });
        }
        if (from !== undefined && to !== undefined) {
          choose(async (run) => (await import('../keys/restore.ts')).runRestore({ from, to }, run));
        } else if (path !== undefined && version !== undefined) {
          const asked = { path, version, ...consent };
          choose(async (run) =>
            (await import('../history/restore-version.ts')).runRestoreVersion(asked, run),
          );
        } else {
          command.error('error: give a path and a version, or --from and --to', {
            code: 'commander.missingArgument',
          });
        }
      },
    );
}

/** Adds `history` to the commands about the tenant as a whole. */
export function addHistorySwitch(tenant: Command, choose: Choose): void {
  const history = tenant
    .command('history')
    .description(
      'show whether the versions of files are kept, turn it on or off, or begin it anew; docs/history.md',
    )
    .allowExcessArguments()
    .action((_, command: Command) => {
      const [unknown] = command.args;
      if (unknown !== undefined) {
        command.error(`error: unknown command '${unknown}'`, { code: 'commander.unknownCommand' });
      }
      choose(async (run) => (await verbs()).runHistoryState(run));
    });
  for (const [to, description] of [
    ['on', 'keep what is replaced and deleted from now on'],
    ['off', 'keep nothing from now on'],
    ['anew', 'after a restore on purpose: keep it on, and hold no file to what it says of the time before'],
  ] as const) {
    history
      .command(to)
      .description(description)
      .action(() => choose(async (run) => (await verbs()).runTurnHistory(to, run)));
  }
}

const verbs = (): Promise<typeof import('../history/history.ts')> => import('../history/history.ts');
const takingBack = (): Promise<typeof import('../history/take-back.ts')> => import('../history/take-back.ts');
