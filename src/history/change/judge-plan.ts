import { hasCode, type MemoryError } from '../../errors.ts';
import { admitContent, admitName, refuseTooLarge } from '../../tree/admission/admission.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import type { Work } from '../../tree/tenant.ts';
import type { Past } from '../past/past.ts';
import {
  type Change,
  closeDraft,
  type LeftFile,
  leaveChange,
  type PlanDraft,
  planOf,
  type Texts,
} from './plan.ts';

/** The reason why a change is refused. */
type ChangeRefusal = Pick<LeftFile, 'rules' | 'limit'>;
type Refusals = Map<Change, ChangeRefusal>;

/** The room that a change takes, or gives back where it is negative; the policy may change the length of a text. */
interface Growth {
  readonly change: Change;
  readonly files: number;
  readonly bytes: number;
}

/**
 * Takes out of a plan the changes that the policy refuses, and those that have no room in the limits once all others
 * are done. This means that a plan stops half-way only for a reason that came up later. Writes nothing. A GET for each
 * text where there is a policy; a count of the tenant, at most once a minute, where it is limited.
 *
 * @returns true where the plan has room only once its deletes are done.
 * @throws MemoryError `unavailable` where the policy fails or does not answer in time; `aborted`.
 */
export async function judgePlan(
  work: Work,
  { past, texts, draft }: { readonly past: Past; readonly texts: Texts; readonly draft: PlanDraft },
): Promise<boolean> {
  const { tenant } = work;
  const growths = new Map<Change, Growth>();
  for (;;) {
    closeDraft(draft);
    const refused: Refusals = new Map();
    const judgeOne = async (change: Change): Promise<void> => {
      try {
        growths.set(change, growthOf(texts, change, await bytesWritten(work, texts, change)));
      } catch (error) {
        if (!hasCode(error, 'policy_refused', 'limit_exceeded')) throw error;
        refused.set(change, refusalOf(error as MemoryError));
      }
    };
    // The text of a rename that was taken out goes to another path, and is judged there.
    const unjudged = planOf(draft).changes.filter((change) => !growths.has(change));
    await eachConcurrently(tenant, unjudged, judgeOne, ({ toVersion }) => texts.sizeOf(toVersion));
    const { changes } = planOf(draft);
    const grown = changes.flatMap((change) => growths.get(change) ?? []);
    const isGrowing = refused.size === 0 && grown.some(({ files, bytes }) => files > 0 || bytes > 0);
    const room = isGrowing ? await tenant.quota?.left(work) : undefined;
    if (room !== undefined) refuseBeyond(refused, grown, room);
    if (refused.size === 0) return room !== undefined && isTight(grown, room);
    addOrigins(refused, past, changes);
    for (const [change, why] of refused) leaveChange(draft, change, { reason: 'refused', ...why });
  }
}

/**
 * Judges one change and tells how long the written text is; 0 without a text.
 *
 * @throws MemoryError where the change is refused.
 */
async function bytesWritten(
  { tenant, call: { signal } }: Work,
  texts: Texts,
  { path, fromVersion, to, toVersion }: Change,
): Promise<number> {
  if (to !== undefined) {
    refuseTooLarge(tenant, { length: texts.sizeOf(fromVersion) });
    await admitName(tenant, to, { signal });
  }
  if (toVersion === undefined) return 0;
  const size = texts.sizeOf(toVersion);
  refuseTooLarge(tenant, { length: size });
  if (tenant.policy === undefined) return size;
  const found = await texts.find(toVersion).catch((error: unknown) => {
    // Another process took the text out since the plan was made.
    if (!hasCode(error, 'not_found')) throw error;
  });
  if (found === undefined) return size;
  const written = { path, content: found.text };
  return (await admitContent(tenant, written, { signal })).length;
}

function growthOf(texts: Texts, change: Change, written: number): Growth {
  const { what, fromVersion } = change;
  if (what === 'rename') return { change, files: 0, bytes: 0 };
  const files = Number(what === 'create') - Number(what === 'delete');
  return { change, files, bytes: written - texts.sizeOf(fromVersion) };
}

function refusalOf({ details: { rules, limit } }: MemoryError): ChangeRefusal {
  return {
    ...(Array.isArray(rules) && { rules: rules.map(String) }),
    ...(typeof limit === 'string' && { limit: limit as NonNullable<LeftFile['limit']> }),
  };
}

/** Refuses also the delete of a file whose text was to be created elsewhere, and may not be. */
function addOrigins(refused: Refusals, past: Past, changes: readonly Change[]): void {
  const created = new Map<string, ChangeRefusal>();
  for (const [{ what, toVersion = '' }, why] of refused) if (what === 'create') created.set(toVersion, why);
  for (const change of changes) {
    const { what, fromVersion = '' } = change;
    if (what !== 'delete') continue;
    const line = [fromVersion, ...past.ancestors(fromVersion).map(({ id }) => id)];
    const why = line.flatMap((id) => created.get(id) ?? [])[0];
    if (why !== undefined) refused.set(change, why);
  }
}

interface RoomLeft {
  readonly files: number;
  readonly bytes: number;
}

/** Refuses the changes that have no room even when all deletes are done; in the order of paths. */
function refuseBeyond(refused: Refusals, grown: readonly Growth[], room: RoomLeft): void {
  let { files: freeFiles, bytes: freeBytes } = room;
  for (const { files, bytes } of grown) {
    freeFiles -= Math.min(0, files);
    freeBytes -= Math.min(0, bytes);
  }
  for (const { change, files, bytes } of grown) {
    if (files > 0 && files > freeFiles) refused.set(change, { limit: 'files' });
    else if (bytes > 0 && bytes > freeBytes) refused.set(change, { limit: 'tenant_bytes' });
    else {
      freeFiles -= Math.max(0, files);
      freeBytes -= Math.max(0, bytes);
    }
  }
}

function isTight(grown: readonly Growth[], room: RoomLeft): boolean {
  const sum = (of: 'files' | 'bytes'): number => grown.reduce((all, each) => all + Math.max(0, each[of]), 0);
  return sum('files') > room.files || sum('bytes') > room.bytes;
}
