import { type Command, Option } from 'commander';
import type { LogArguments } from '../history/history.ts';
import type { RestoreAtArguments, UndoArguments } from '../history/take-back.ts';
import { type Choose, forReaders } from '../run/choose.ts';
import type { Consent } from '../run/consent.ts';
import { parseCount, pathArgument, typedPath, versionArgument } from '../run/typed.ts';

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
    .addArgument(versionArgument('<version>'))
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
    .addArgument(versionArgument('<version>'))
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
    .addArgument(versionArgument('[version]'))
    .description('show which turns read a version, or any of that path, and what came of it')
    .action((path: string, version?: string) =>
      choose(
        forReaders(async (run) => (await import('../history/trace.ts')).runTrace({ path, version }, run)),
      ),
    );
}

const BACKUP_GOES_OUT =
  'error: "restore" is of one version of a file; "export --from BACKUP FOLDER" writes the files of a backup into a new folder.';

/** Adds `restore`. It took backups as well once, by options that name the command for those now. */
export function addRestore(program: Command, choose: Choose): void {
  const restore = program
    .command('restore')
    .addArgument(pathArgument('<path>', 'the file that gets the text of one of its versions again'))
    .addArgument(versionArgument('<version>', 'the version, as "log" names it'))
    .description('give a file the text of one of its versions again')
    .option('--dry-run', 'show how the texts differ, and write nothing')
    .option('--yes', 'do not ask')
    .action((path: string, version: string, consent: Consent) =>
      choose(async (run) =>
        (await import('../history/restore-version.ts')).runRestoreVersion({ path, version, ...consent }, run),
      ),
    );
  for (const name of ['from', 'to']) {
    restore.addOption(new Option(`--${name} [value]`).hideHelp()).on(`option:${name}`, () => {
      restore.error(BACKUP_GOES_OUT, { code: 'commander.conflictingOption' });
    });
  }
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
