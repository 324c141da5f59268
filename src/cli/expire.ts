import type { TenantExpiry } from '../admin/expire.ts';
import { runOnAdmin } from './admin-command.ts';
import type { Invocation } from './invocation.ts';

export interface ExpireArguments {
  readonly dryRun?: boolean;
  /** Days. */
  readonly after?: number;
  readonly json?: boolean;
}

/** Deletes what nobody used for long. Resolves to the exit code. */
export function runExpire(
  { dryRun = false, after, json = false }: ExpireArguments,
  invocation: Invocation,
): Promise<number> {
  return runOnAdmin(
    async ({ admin, events, signal }) => {
      const report = await admin.expire({
        dryRun,
        ...(after !== undefined && { afterDays: after }),
        signal,
        onProgress: (progress) =>
          events.progress(
            { ...progress },
            { stage: 'deleting', line: `${progress.done} of ${progress.total} unused files` },
          ),
      });
      await events.done({ dryRun, ...report }, expiryLines(report, { dryRun }));
      return 0;
    },
    { json, invocation },
  );
}

export function expiryLines(
  { files, deleted, marked, records, tombstones, busy }: TenantExpiry,
  { dryRun }: { readonly dryRun: boolean },
): readonly string[] {
  const done = dryRun ? 'would be deleted' : 'deleted';
  return [
    ...(busy ? ['wait  a directory is being renamed, so no file was looked at — run it again'] : []),
    ...(marked > 0
      ? [
          `to do ${marked} unused: ${dryRun ? 'a run marks them, and one' : 'a run'} at least an hour later deletes what is still unused`,
        ]
      : []),
    `${dryRun ? 'note ' : 'ok   '} ${files} files looked at, ${deleted} ${done}`,
    `${dryRun ? 'note ' : 'ok   '} ${records} old access records, receipts and answers ${done}`,
    ...(tombstones > 0 ? [`ok    ${tombstones} tombstones of deletes that were cut off removed`] : []),
  ];
}
