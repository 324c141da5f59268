import type { Command } from 'commander';
import { MOST_DAYS } from '../../admin/expiry/expire.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import { runOnAdmin } from '../run/admin.ts';
import {
  type ChosenVerb,
  CONTINUES,
  type Invocation,
  NOTHING_CHANGED,
  wrongCall,
} from '../run/invocation.ts';
import { readOptions } from '../run/settings.ts';
import { ofAdmin, tellIfAbsent } from '../run/tenant-state.ts';
import { wholeNumber } from '../run/typed.ts';
import { expiryLines } from '../show/operate-lines.ts';

/** Declares `expire`. */
export function declareExpire(program: Command, run: ChosenVerb<typeof runExpire>): void {
  program
    .command('expire')
    .description('delete files that were not read or written for long, and old receipts and answers')
    .option('--dry-run', 'change nothing, and tell what a run would do')
    .option(
      '--after <days>',
      'instead of SEALED_MEMORY_EXPIRE_AFTER_DAYS',
      wholeNumber({ least: 1, most: MOST_DAYS }),
    )
    .action((options: ExpireArguments) => run(options));
}

interface ExpireArguments {
  readonly dryRun?: boolean;
  /** Days. */
  readonly after?: number;
}

/** Deletes files that were not used for long. Resolves to the exit code. */
export function runExpire(
  { dryRun = false, after }: ExpireArguments,
  invocation: Invocation,
): Promise<number> {
  requireDays(after, readOptions(invocation));
  return runOnAdmin(
    async (run) => {
      const { admin, report, signal } = run;
      const expiry = await report.during('looking for unused files', () =>
        admin.expire({
          dryRun,
          signal,
          ...(after !== undefined && { afterDays: after }),
          onProgress: (progress) => report.progress({ ...progress }, { what: 'unused files', ...progress }),
        }),
      );
      const state = expiry.files === 0 ? await tellIfAbsent(ofAdmin(run, invocation)) : {};
      await report.done({ dryRun, ...expiry, ...state }, expiryLines(expiry, { dryRun }));
      return 0;
    },
    { invocation, interrupted: dryRun ? NOTHING_CHANGED : CONTINUES },
  );
}

/** @throws MemoryError `misconfigured` where nothing says after how many days anything expires. */
function requireDays(after: number | undefined, { expireAfterDays, history }: MemoryOptions): void {
  if (after !== undefined || expireAfterDays !== undefined || history?.days !== undefined) return;
  throw wrongCall(
    'expire needs days: set SEALED_MEMORY_EXPIRE_AFTER_DAYS for files, SEALED_MEMORY_HISTORY_DAYS for versions, or both; "expire --dry-run --after 90" shows what 90 days would delete.',
  );
}
