import { hasCode, type MemoryError } from '../errors.ts';
import type { MemoryPath } from '../language/path.ts';
import { admitContent, admitName, refuseTooLarge } from '../tree/admission.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import type { Work } from '../tree/session.ts';
import type { Past, VersionId } from './past/past.ts';
import { byPath, type HistoryPlan, type LeftFile, leaveRefused, type PlannedChange } from './plan.ts';

/** What is asked before the first change. */
export interface Judged {
  readonly work: Work;
  readonly past: Past;
  /** The text of a version; undefined where it is gone, which the change itself finds as well. */
  textOf(version: VersionId): Promise<Uint8Array | undefined>;
}

/** Why a change may not be made. */
type Refusal = Pick<LeftFile, 'rules' | 'limit'>;

/** How many bytes a planned text has when it is written: a policy may have something replaced in it. */
type Sizes = Map<PlannedChange, number>;

/**
 * Leaves away what the policy refuses, and what has no room in the limits once all else is done, so that no plan ends half-way
 * for a reason that could be known. Nothing is written. A GET for each text where there is a policy; a count of the tenant,
 * at most once a minute, where it is limited.
 *
 * @throws MemoryError `unavailable` where the policy fails or does not answer in time; `aborted`.
 */
export async function judgePlan(judged: Judged, plan: HistoryPlan): Promise<HistoryPlan> {
  const { past, work } = judged;
  const sizes: Sizes = new Map();
  const seen = new Set<PlannedChange>();
  for (let left = plan; ; ) {
    const refused = new Map<PlannedChange, Refusal>();
    const judgeOne = async (change: PlannedChange): Promise<void> => {
      seen.add(change);
      try {
        await judgeChange(judged, change, sizes);
      } catch (error) {
        refused.set(change, refusalOf(error));
      }
    };
    // Where a rename is left, its text is written at another path, and judged there.
    const unseen = left.changes.filter((change) => !seen.has(change));
    await eachConcurrently(work.session, unseen, judgeOne, ({ toVersion = '' }) => sizeOf(past, toVersion));
    const found = refused.size > 0 ? refused : await beyondLimits(judged, left, sizes);
    if (found.size === 0) return left;
    left = leaveRefused(left, withOrigins(past, left, found), past.files);
  }
}

async function judgeChange(
  { work, past, textOf }: Judged,
  change: PlannedChange,
  sizes: Sizes,
): Promise<void> {
  const { session, call } = work;
  const { path, to, toVersion } = change;
  const asked = { signal: call.signal };
  if (to !== undefined) await admitName(session, to as MemoryPath, asked);
  if (toVersion === undefined) return;
  const size = sizeOf(past, toVersion);
  sizes.set(change, size);
  refuseTooLarge(session, { length: size });
  if (session.policy === undefined) return;
  const content = await textOf(toVersion).catch((error: unknown) => {
    // Taken out since it was planned.
    if (!hasCode(error, 'not_found')) throw error;
  });
  if (content === undefined) return;
  const admitted = await admitContent(session, { path: path as MemoryPath, content }, asked);
  sizes.set(change, admitted.length);
}

function refusalOf(error: unknown): Refusal {
  if (!hasCode(error, 'policy_refused', 'limit_exceeded')) throw error;
  const { rules, limit } = (error as MemoryError).details ?? {};
  return {
    ...(Array.isArray(rules) && { rules: rules.map(String) }),
    ...(typeof limit === 'string' && { limit: limit as NonNullable<LeftFile['limit']> }),
  };
}

/** What is not written at its place is not deleted either where it lies now. */
function withOrigins(
  past: Past,
  { changes }: HistoryPlan,
  refused: ReadonlyMap<PlannedChange, Refusal>,
): ReadonlyMap<PlannedChange, Refusal> {
  const all = new Map(refused);
  const created = new Map<string, Refusal>();
  for (const [{ what, toVersion }, refusal] of refused)
    if (what === 'create' && toVersion !== undefined) created.set(toVersion, refusal);
  if (created.size === 0) return all;
  for (const change of changes) {
    const now = past.versions.get(change.fromVersion ?? '');
    if (change.what !== 'delete' || now === undefined) continue;
    const refusal = [now, ...past.ancestors(now.id)].flatMap(({ id }) => created.get(id) ?? [])[0];
    if (refusal !== undefined) all.set(change, refusal);
  }
  return all;
}

/** The writes for which there is no room when all deletes are done, by their paths. */
async function beyondLimits(
  { work, past }: Judged,
  { changes }: HistoryPlan,
  sizes: Sizes,
): Promise<ReadonlyMap<PlannedChange, Refusal>> {
  const beyond = new Map<PlannedChange, Refusal>();
  const { quota } = work.session;
  if (quota === undefined || changes.every((change) => !mayGrow(past, change, sizes))) return beyond;
  const room = { ...(await quota.left(work)) };
  for (const change of changes) {
    const { files, bytes } = growthOf(past, change, sizes);
    if (files < 0) room.files -= files;
    if (bytes < 0) room.bytes -= bytes;
  }
  for (const change of [...changes].sort(byPath)) {
    const { files, bytes } = growthOf(past, change, sizes);
    if (files > room.files && files > 0) beyond.set(change, { limit: 'files' });
    else if (bytes > room.bytes && bytes > 0) beyond.set(change, { limit: 'tenant_bytes' });
    else {
      room.files -= Math.max(0, files);
      room.bytes -= Math.max(0, bytes);
    }
  }
  return beyond;
}

function mayGrow(past: Past, change: PlannedChange, sizes: Sizes): boolean {
  const { files, bytes } = growthOf(past, change, sizes);
  return files > 0 || bytes > 0;
}

function growthOf(past: Past, change: PlannedChange, sizes: Sizes): { files: number; bytes: number } {
  const { what, fromVersion = '', toVersion = '' } = change;
  if (what === 'rename') return { files: 0, bytes: 0 };
  const before = what === 'create' ? 0 : sizeOf(past, fromVersion);
  const after = what === 'delete' ? 0 : (sizes.get(change) ?? sizeOf(past, toVersion));
  return { files: Number(what === 'create') - Number(what === 'delete'), bytes: after - before };
}

function sizeOf({ versions }: Past, id: VersionId): number {
  return versions.get(id)?.size ?? 0;
}
