import { checkWholeNumber } from '../../errors.ts';
import { DAY_MS } from '../../time.ts';
import { readRegister } from '../../tree/rename/register.ts';
import { type CallOptions, openWork, type Tenant, type Work } from '../../tree/tenant.ts';
import { readMigratedVersions } from '../keys/migrated-versions.ts';
import { expireFiles, readMarks, writeMarks } from './expire-files.ts';
import { expireRecords, listReadsAndTurns } from './record-classes.ts';

export interface ExpiryOptions extends CallOptions {
  /** The days after which unused files go, and sessions to which no process appended; 1–3,650. Absent: all stay. */
  readonly afterDays?: number | undefined;
  /**
   * The days after which records of the history go, and those of actors that nothing names; 1–3,650. Absent: all stay.
   */
  readonly historyDays?: number | undefined;
  /** The days after which receipts and answers go, 15–3,650; 30 by default. A queue keeps a message for 14 at most. */
  readonly recordDays?: number | undefined;
  /** The days without a turn after which a stored conversation goes; 1–3,650, 90 by default. */
  readonly conversationDays?: number | undefined;
  /**
   * True for a run that changes nothing, and tells what a run would do. `'files'`: only files and sessions stay, while
   * access records, receipts, answers and conversations go.
   */
  readonly dryRun?: boolean | 'files' | undefined;
}

export interface ExpiryReport {
  /** The number of files that this run looked at. */
  readonly files: number;
  /** Files that this run deleted; in a dry run: would delete. */
  readonly deleted: number;
  /** Unused files that a later run deletes if they are still unused then. */
  readonly marked: number;
  /**
   * Access records, receipts, answers, parts of conversations and of checkpoints that this run deleted; in a dry run:
   * would delete.
   */
  readonly records: number;
  /** Sessions that this run deleted, with their subagents; in a dry run: would delete. */
  readonly sessions: number;
  /**
   * Records of the history and of actors that this run deleted; in a dry run: would delete. Only where `historyDays` is
   * given.
   */
  readonly history?: number;
  /** True: a directory was being renamed, so this run looked at no file. */
  readonly busy: boolean;
}

/** The report of one run for a tenant, the store's own remains included. */
export interface TenantExpiry extends ExpiryReport {
  /** Tombstones of processes that died during a delete; this run removed them. */
  readonly tombstones: number;
}

export const MOST_DAYS = 3_650;

/**
 * Deletes the files that no process read or wrote for `afterDays`, in two runs: the first one marks them, a later one,
 * an hour after it or more, deletes exactly the versions that were marked and are unused still. Then it deletes old
 * access records, receipts, answers, conversations, sessions and history. A tenant that was never written to has
 * nothing to expire.
 *
 * @throws MemoryError `misconfigured` for numbers out of range; `unavailable` when another run is at work; what the
 * store and the keyring throw.
 */
export async function expireTree(tenant: Tenant, options: ExpiryOptions): Promise<ExpiryReport> {
  const { afterDays, historyDays, recordDays = 30, conversationDays = 90 } = options;
  const dryRun = options.dryRun === true;
  const sparesFiles = options.dryRun === 'files' || dryRun;
  if (afterDays !== undefined) checkWholeNumber('afterDays', afterDays, { least: 1, most: MOST_DAYS });
  if (historyDays !== undefined) checkWholeNumber('historyDays', historyDays, { least: 1, most: MOST_DAYS });
  checkWholeNumber('recordDays', recordDays, { least: 15, most: MOST_DAYS });
  checkWholeNumber('conversationDays', conversationDays, { least: 1, most: MOST_DAYS });
  const work = await openWork(tenant, options);
  if (work === undefined) return { files: 0, deleted: 0, marked: 0, records: 0, sessions: 0, busy: false };

  const busy = (await readRegister(work)).entry !== undefined;
  const listed = await listReadsAndTurns(work);
  const migrated = await readMigratedVersions(work);
  const files =
    busy || afterDays === undefined
      ? { files: 0, deleted: 0, marked: 0 }
      : await expireFiles(work, listed, { migrated, limitMs: afterDays * DAY_MS, dryRun: sparesFiles });
  if ((afterDays === undefined || sparesFiles) && !dryRun && listed.hasTurns) await markTurns(work);
  const settings = { afterDays, historyDays, recordDays, conversationDays, isBusy: busy };
  const run = { settings, listed, migrated, dryRun: options.dryRun ?? false };
  const { records, sessions, history } = await expireRecords(work, run);
  const report = { ...files, records, sessions, busy };
  return historyDays === undefined ? report : { ...report, history };
}

/** Writes empty marks where a tenant has none: they tell migrations that objects of the tenant expire. */
async function markTurns(work: Work): Promise<void> {
  const { marks, etag } = await readMarks(work);
  if (etag === undefined) await writeMarks(work, marks, etag);
}
