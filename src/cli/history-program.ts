import type { Command } from 'commander';
import { type Choose, parseVersion } from './arguments.ts';
import type { RestoreAtArguments, UndoArguments } from './verbs/take-back.ts';

/** Adds the commands of docs/history.md. What they do is loaded when one of them runs. */
export function addHistoryVerbs(program: Command, choose: Choose): void {
  program
    .command('log [path]')
    .description(
      'show what happened to a file, or to all files, where the tenant keeps history; the newest first',
    )
    .action((path?: string) => choose(async (run) => (await verbs()).runLog(path, run)));
  program
    .command('show <path>')
    .argument('<version>', '', parseVersion)
    .description('print one version of a file, as "log" names it')
    .action((path: string, version: string) =>
      choose(async (run) => (await verbs()).runShow({ path, version }, run)),
    );
  program
    .command('restore-at <time>')
    .description('make the files what they were at a moment: 2026-11-17T09:30:00Z, or with +01:00 for Z')
    .option('--below <path>', 'that file alone, or what lies below that directory')
    .option('--partial', 'restore what can be had, where some of it cannot')
    .option('--dry-run', 'show the plan, and write nothing')
    .option('--yes', 'do not ask')
    .action((time: string, options: RestoreAtArguments) =>
      choose(async (run) => (await takingBack()).runRestoreAt(time, options, run)),
    );
  program
    .command('undo [writer]')
    .description('take back what one actor did, as "log" names it, as far as nobody has built on it')
    .option('--turn <id>', 'what that turn of a worker did, instead of a writer')
    .option('--force', 'also what others have built on, and with it what they built')
    .option('--dry-run', 'show the plan, and write nothing')
    .option('--yes', 'do not ask')
    .action((writer: string | undefined, options: UndoArguments) =>
      choose(async (run) => (await takingBack()).runUndo(writer, options, run)),
    );
  program
    .command('redact <path>')
    .argument('<version>', '', parseVersion)
    .description(
      'take the text of one version out of the history for good, and out of the versions a bucket keeps',
    )
    .option('--yes', 'do not ask')
    .action((path: string, version: string, { yes }: { readonly yes?: boolean }) =>
      choose(async (run) => (await import('./verbs/redact.ts')).runRedact({ path, version, yes }, run)),
    );
  program
    .command('trace <path>')
    .argument('[version]', '', parseVersion)
    .description('show which turns read a version, or any of that path, and what came of it')
    .action((path: string, version?: string) =>
      choose(async (run) => (await import('./verbs/trace.ts')).runTrace({ path, version }, run)),
    );
}

/** Adds `history` to the commands about the tenant as a whole. */
export function addHistorySwitch(tenant: Command, choose: Choose): void {
  const history = tenant
    .command('history')
    .description('whether the versions of files are kept; docs/history.md');
  for (const to of ['on', 'off'] as const) {
    history
      .command(to)
      .description(to === 'on' ? 'keep what is replaced and deleted from now on' : 'keep nothing from now on')
      .action(() => choose(async (run) => (await verbs()).runTurnHistory(to, run)));
  }
}

const verbs = (): Promise<typeof import('./verbs/history.ts')> => import('./verbs/history.ts');
const takingBack = (): Promise<typeof import('./verbs/take-back.ts')> => import('./verbs/take-back.ts');
