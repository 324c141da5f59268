import { checkWholeNumber } from '../errors.ts';
import type { ListedObject } from '../store/port.ts';
import { DAY_MS } from '../time.ts';
import { readRegister } from '../tree/rename/register.ts';
import { type Call, openWork, type Session, type Work } from '../tree/session.ts';
import { deleteListed } from './delete-listed.ts';
import { expireActors } from './expire-actors.ts';
import { expireCheckpoints } from './expire-checkpoints.ts';
import { expireConversations } from './expire-conversations.ts';
import { expireFiles } from './expire-files.ts';
import { expireHistory } from './expire-history.ts';
import { expireSessions } from './expire-sessions.ts';
import {
  listReadsAndTurns,
  outdatedAccess,
  outdatedTurns,
  type ReadsAndTurns,
  readMarks,
  writeMarks,
} from './expiry-records.ts';
import { readMigratedVersions } from './migrated-versions.ts';

export interface ExpiryOptions extends Call {
  /** Files that no process read or wrote, and sessions that none appended to, for so many days go; 1–3,650. Absent: none goes. */
  readonly afterDays?: number | undefined;
  /** Records of the history, and of actors that nothing names any more, go after so many days; 1–3,650. Absent: none goes. */
  readonly historyDays?: number | undefined;
  /** Receipts and answers go after so many days, 15–3,650; 30 by default. A queue keeps a message for 14 at most. */
  readonly recordDays?: number | undefined;
  /** Stored conversations to which no turn came for so many days go; 1–3,650, 90 by default. */
  readonly conversationDays?: number | undefined;
  /**
   * Change nothing, and tell what a run would do. `'files'`: files and sessions stay, while access records, receipts,
   * answers and conversations go.
   */
  readonly dryRun?: boolean | 'files' | undefined;
}

export interface ExpiryReport {
  /** Files that were looked at. */
  readonly files: number;
  /** Files this run deleted; of a dry run: would delete. */
  readonly deleted: number;
  /** Unused files that a later run deletes, if they are still unused then. */
  readonly marked: number;
  /** Access records, receipts, answers, parts of conversations and of checkpoints that this run deleted; of a dry run: would delete. */
  readonly records: number;
  /** Sessions that this run deleted, with their subagents; of a dry run: would delete. */
  readonly sessions: number;
  /** Records of the history and of actors that this run deleted; of a dry run: would delete. Only where `historyDays` is given. */
  readonly history?: number;
  /** A directory was being renamed, so no file was looked at. */
  readonly busy: boolean;
}

/** What one run did for a tenant, the store's own remains included. */
export interface TenantExpiry extends ExpiryReport {
  /** Tombstones that deletes had left when their process died, and this run removed. */
  readonly tombstones: number;
}

const MOST_DAYS = 3_650;
/** Checkpoints go after so many days, or with the history where that is kept for longer. The newest stays. */
const CHECKPOINT_DAYS = 90;

/**
 * Deletes the files that no process read or wrote for `afterDays`, in two runs: the first one marks them, a later one, an
 * hour after it or more, deletes exactly the versions that were marked and are unused still. Then it deletes old access
 * records, receipts, answers, conversations, sessions and history. A tenant that was never written to has nothing to
 * expire.
 *
 * @throws MemoryError `misconfigured` for numbers out of range; `unavailable` when another run is at work; what the
 * store and the keyring throw.
 */
export async function expireTree(context: Session, options: ExpiryOptions): Promise<ExpiryReport> {
  const { afterDays, historyDays, recordDays = 30, conversationDays = 90 } = options;
  const dryRun = options.dryRun === true;
  const sparesFiles = options.dryRun === 'files' || dryRun;
  if (afterDays !== undefined) checkWholeNumber('afterDays', afterDays, { least: 1, most: MOST_DAYS });
  if (historyDays !== undefined) checkWholeNumber('historyDays', historyDays, { least: 1, most: MOST_DAYS });
  checkWholeNumber('recordDays', recordDays, { least: 15, most: MOST_DAYS });
  checkWholeNumber('conversationDays', conversationDays, { least: 1, most: MOST_DAYS });
  const work = await openWork(context, options);
  if (work === undefined) return { files: 0, deleted: 0, marked: 0, records: 0, sessions: 0, busy: false };

  const busy = (await readRegister(work)).entry !== undefined;
  const records = await listReadsAndTurns(work);
  const migrated = await readMigratedVersions(work);
  const files =
    busy || afterDays === undefined
      ? { files: 0, deleted: 0, marked: 0 }
      : await expireFiles(work, records, { migrated, limitMs: afterDays * DAY_MS, dryRun: sparesFiles });
  if ((afterDays === undefined || sparesFiles) && !dryRun) await markTurns(work, records);
  const turns = outdatedTurns(records, recordDays, migrated);
  // In this order, so that no receipt ever stands without its answer.
  const old = [outdatedAccess(records, afterDays), turns.receipts, turns.answers];
  const deleted = dryRun ? old.flat().length : await deleteGroups(work, old);
  const sessions =
    afterDays === undefined
      ? 0
      : await expireSessions(work, { migrated, limitMs: afterDays * DAY_MS, dryRun: sparesFiles });
  const conversations = await expireConversations(work, {
    ...{ migrated, dryRun },
    limitMs: conversationDays * DAY_MS,
    promptMs: recordDays * DAY_MS,
  });
  const checkpointDays = Math.max(CHECKPOINT_DAYS, historyDays ?? 0);
  const checkpoints = await expireCheckpoints(work, { migrated, dryRun, limitMs: checkpointDays * DAY_MS });
  const report = { ...files, records: deleted + conversations + checkpoints, sessions, busy };
  if (historyDays === undefined) return report;
  const ofHistory = { migrated, limitMs: historyDays * DAY_MS, dryRun };
  const history = await expireHistory(work, ofHistory);
  // After it, so that what has expired names no actor.
  return { ...report, history: history + (busy ? 0 : await expireActors(work, ofHistory)) };
}

/** Where no file is marked, the marks, empty, tell migrations that turns do. */
async function markTurns(work: Work, { receipts, answers }: ReadsAndTurns): Promise<void> {
  if (receipts.size + answers.size === 0) return;
  const { marks, etag } = await readMarks(work);
  if (etag === undefined) await writeMarks(work, marks, etag);
}

/** One group after the other; what has changed since it was listed stays, and with it the groups behind. */
async function deleteGroups(work: Work, groups: readonly (readonly ListedObject[])[]): Promise<number> {
  let deleted = 0;
  for (const group of groups.filter(({ length }) => length > 0)) {
    const left = await deleteListed(work, group);
    deleted += group.length - left.size;
    if (left.size > 0) break;
  }
  return deleted;
}
