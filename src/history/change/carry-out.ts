import { MemoryError } from '../../errors.ts';
import type { MemoryPath } from '../../language/path.ts';
import type { ObjectVersions } from '../../store/port.ts';
import {
  type CallOptions,
  openWork,
  refuseToLose,
  refuseWriting,
  type Tenant,
  type Work,
} from '../../tree/tenant.ts';
import type { Tree } from '../../tree/tree.ts';
import { itemByItem } from '../past/model.ts';
import type { Past } from '../past/past.ts';
import { readWholePast } from '../past/read.ts';
import { contentOf, refuseTwoTexts } from '../past/read-version.ts';
import { readActors } from '../save/actors.ts';
import { applyPlan } from './apply-plan.ts';
import { judgePlan } from './judge-plan.ts';
import {
  byPath,
  type HistoryPlan,
  type LeftFile,
  type PlanDraft,
  type PlannedChange,
  type PlanOutcome,
  planDigest,
  planOf,
  type Texts,
} from './plan.ts';

/** The request to make a plan and carry it out. */
interface PlanRequest {
  readonly call: CallOptions;
  /** The versions that a bucket keeps beside the current objects. */
  readonly versions: ObjectVersions | undefined;
  readonly dryRun: boolean;
  /** True: a plan that leaves files is carried out as far as it goes. */
  readonly partial: boolean;
  /** The digest of the plan that the caller agreed to; undefined: the caller agrees to any. */
  readonly digest?: string | undefined;
  /** True for a dry run that names the actors whose texts would go. */
  readonly namesWriters?: true;
  /** Plans in steps, between which others run. */
  plan(past: Past, work: Work): Generator<void, PlanDraft>;
}

/**
 * The most plans for one request: where other processes change files between plan and writes, the next plan begins
 * there.
 */
const ROUNDS = 8;

/**
 * Plans from the whole past of the tenant, and carries the plan out. A caller that was killed or aborted in the middle
 * asks again; the end is then the same as without the interruption.
 *
 * @throws MemoryError `misconfigured` where the tenant keeps no history, so that replaced texts would be lost;
 * `version_conflict` where the plan is no longer the one that was agreed to; where other processes changed the files
 * again and again, the conflict of the last attempt; what the tree throws.
 */
export async function carryOut(tenant: Tenant, tree: Tree, request: PlanRequest): Promise<PlanOutcome> {
  const { call, versions, dryRun, partial, digest, namesWriters } = request;
  const done: PlannedChange[] = [];
  const redacted: LeftFile[] = [];
  const answer = (changes: readonly PlannedChange[], rest: Omit<PlanOutcome, 'changes'>): PlanOutcome => ({
    changes: [...changes].sort(byPath),
    ...rest,
  });
  let conflict: unknown;
  let agreed: HistoryPlan | undefined;
  if (!dryRun) refuseWriting(tenant);
  for (let round = 1; round <= ROUNDS; round++) {
    const work = await openWork(tenant, call);
    if (work === undefined) return answer([], { left: [], outcome: 'nothing' });
    refuseToLose(work.keyring);
    const past = await readWholePast(work, dryRun ? call.onProgress : undefined);
    const texts: Texts = {
      async find(id) {
        refuseTwoTexts(past, id);
        const version = past.versions.get(id);
        const text = version && (await contentOf(work, version));
        return text && { version, text };
      },
      sizeOf: (id = '') => past.versions.get(id)?.size ?? 0,
    };
    const draft = await itemByItem(request.plan(past, work), call.signal);
    // The texts of these files were taken out of the history while an earlier round wrote them.
    for (const each of redacted) {
      draft.renames.delete(each.path);
      draft.writes.delete(each.path);
      draft.deletes.delete(each.path);
      draft.left.set(each.path, each);
    }
    const isTight = await judgePlan(work, { past, texts, draft });
    const plan = planOf(draft);
    const { changes, ...rest } = plan;
    const { left } = rest;
    if (dryRun) {
      const shown = namesWriters === true ? await withWriters(work, past, changes) : changes;
      const outcome = changes.length + left.length === 0 ? 'nothing' : 'planned';
      return answer(shown, { ...rest, outcome, digest: planDigest(plan) });
    }
    if (digest !== undefined) {
      const isAgreed = agreed === undefined ? planDigest(plan) === digest : isRestOf(plan, agreed);
      if (!isAgreed) throw anotherPlan(done, agreed);
      agreed ??= plan;
    }
    if (left.length > 0 && !partial) return answer([...done, ...changes], { ...rest, outcome: 'withheld' });
    const isWritten = done.length > 0;
    if (changes.length === 0) return answer(done, { ...rest, outcome: isWritten ? 'written' : 'nothing' });
    const places = Map.groupBy(past.files.keys(), (path) => past.files.get(path)?.id);
    const placesOf = (id: string): readonly MemoryPath[] => places.get(id) ?? [];
    const applied = await applyPlan({ tenant, tree, call, versions, texts, placesOf, isTight }, changes);
    for (const change of applied.done) done.push(change);
    for (const change of applied.redacted) redacted.push(change);
    conflict = applied.conflict;
    if (conflict === undefined) return answer(done, { ...rest, outcome: 'written' });
  }
  throw conflict;
}

/** Tells whether a plan is the rest of the one that was agreed to: all that it does and leaves is part of that one. */
function isRestOf(plan: HistoryPlan, agreed: HistoryPlan): boolean {
  const partsOf = ({ changes, left }: HistoryPlan): readonly string[] =>
    [...changes, ...left].map((part) => JSON.stringify(part));
  const known = new Set(partsOf(agreed));
  return partsOf(plan).every((part) => known.has(part));
}

function anotherPlan(done: readonly PlannedChange[], agreed: HistoryPlan | undefined): MemoryError {
  const since =
    agreed === undefined
      ? 'The plan is another one by now, and nothing was written'
      : `The plan became another one after ${done.length} of its ${agreed.changes.length} changes`;
  return new MemoryError('version_conflict', `${since}: look at it again.`, { retry: 'never' });
}

/** Adds to each change the actor whose version it takes away. */
async function withWriters(
  work: Work,
  { versions }: Past,
  changes: readonly PlannedChange[],
): Promise<readonly PlannedChange[]> {
  const writers = changes.map(({ fromVersion = '' }) => versions.get(fromVersion)?.writer);
  if (writers.every((writer) => writer === undefined)) return changes;
  const actors = await readActors(work);
  return changes.map((change, index) => {
    const writer = writers[index];
    return writer === undefined ? change : { ...change, writer: actors.get(writer) ?? writer };
  });
}
