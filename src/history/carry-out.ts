import { MemoryError } from '../errors.ts';
import type { ObjectVersions } from '../store/port.ts';
import {
  type Call,
  openWork,
  refuseToLose,
  refuseWriting,
  type Session,
  type Work,
} from '../tree/session.ts';
import type { Tree } from '../tree/tree.ts';
import { readActors } from './actors.ts';
import { applyPlan } from './apply-plan.ts';
import { judgePlan } from './judge-plan.ts';
import type { Past } from './past/past.ts';
import { readWholePast } from './past/read.ts';
import {
  byPath,
  type Draft,
  type HistoryPlan,
  type LeftFile,
  type PlannedChange,
  type PlanOutcome,
  planDigest,
  planOf,
  type Texts,
} from './plan.ts';
import { contentOf, refuseTwoTexts } from './read-version.ts';

/** What is asked of a plan. */
export interface PlanRequest {
  readonly call: Call;
  /** What a bucket keeps beside the current objects. */
  readonly versions: ObjectVersions | undefined;
  readonly dryRun: boolean;
  /** Whether what can be done is done where the plan leaves files. */
  readonly partial: boolean;
  /** The digest of the plan that was agreed to; undefined: whatever the plan is when it is carried out. */
  readonly digest?: string | undefined;
  /** Whether a dry run tells whose texts would go. */
  readonly namesWriters?: true;
  plan(past: Past, work: Work): Draft;
}

/** Other processes may change files between the plan and the writes: then it is planned again from what is there. */
const ROUNDS = 8;

/**
 * Plans from all that is known of the tenant, and does it. What was killed or aborted in the middle is asked for again, and
 * ends as if it had not been.
 *
 * @throws MemoryError `misconfigured` where the tenant keeps no history, so that what is replaced would be lost;
 * `version_conflict` where the plan is another one than was agreed to, and where, as the like of it, other processes changed the
 * files again and again; what the tree throws.
 */
export async function carryOut(session: Session, tree: Tree, request: PlanRequest): Promise<PlanOutcome> {
  const { call, versions, dryRun, partial, digest, namesWriters } = request;
  const done: PlannedChange[] = [];
  const redacted: LeftFile[] = [];
  const answer = (changes: readonly PlannedChange[], rest: Omit<PlanOutcome, 'changes'>): PlanOutcome => ({
    changes: [...changes].sort(byPath),
    ...rest,
  });
  let conflict: unknown;
  let agreed: HistoryPlan | undefined;
  if (!dryRun) refuseWriting(session);
  for (let round = 1; round <= ROUNDS; round++) {
    const work = await openWork(session, call);
    if (work === undefined) return answer([], { left: [], outcome: 'nothing' });
    refuseToLose(work.keyring);
    const past = await readWholePast(work);
    const texts: Texts = {
      async find(id) {
        refuseTwoTexts(past, id);
        const version = past.versions.get(id);
        const text = version && (await contentOf(work, version));
        return text && { version, text };
      },
      sizeOf: (id = '') => past.versions.get(id)?.size ?? 0,
    };
    const draft = request.plan(past, work);
    // Their texts were taken out while they were written.
    for (const each of redacted) {
      draft.renames.delete(each.path);
      draft.writes.delete(each.path);
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
    const applied = await applyPlan({ session, tree, call, versions, texts, isTight }, changes);
    done.push(...applied.done);
    redacted.push(...applied.redacted);
    conflict = applied.conflict;
    if (conflict === undefined) return answer(done, { ...rest, outcome: 'written' });
  }
  throw conflict;
}

/** Tells whether a plan does and leaves nothing but parts of the one that was agreed to: then it is the rest of that. */
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

/** Each change with the actor whose version it takes away. */
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
