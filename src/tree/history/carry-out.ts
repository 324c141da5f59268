import { type Call, openWork, refuseToLose, refuseWriting, type Session, type Work } from '../session.ts';
import type { Tree } from '../tree.ts';
import { readActors } from './actors.ts';
import { applyPlan } from './apply-plan.ts';
import { byPath, type HistoryPlan, type PlannedChange, type PlanOutcome } from './plan.ts';
import { contentOf } from './read-version.ts';
import { type Past, readWholePast } from './versions.ts';

/** What is asked of a plan. */
export interface PlanRequest {
  readonly call: Call;
  readonly dryRun: boolean;
  /** Whether what can be done is done where the plan leaves files. */
  readonly partial: boolean;
  /** Whether a dry run tells whose texts would go. */
  readonly namesWriters?: true;
  plan(past: Past, work: Work): HistoryPlan;
}

/** Other processes may change files between the plan and the writes: then it is planned again from what is there. */
const ROUNDS = 8;

/**
 * Plans from all that is known of the tenant, and does it. What was killed or aborted in the middle is asked for again, and
 * ends as if it had not been.
 *
 * @throws MemoryError `misconfigured` where the tenant keeps no history, so that what is replaced would be lost;
 * `version_conflict` and the like where other processes changed the files again and again; what the tree throws.
 */
export async function carryOut(session: Session, tree: Tree, request: PlanRequest): Promise<PlanOutcome> {
  const { call, dryRun, partial, namesWriters } = request;
  const done: PlannedChange[] = [];
  const answer = (changes: readonly PlannedChange[], rest: Omit<PlanOutcome, 'changes'>): PlanOutcome => ({
    changes: [...changes].sort(byPath),
    ...rest,
  });
  let conflict: unknown;
  if (!dryRun) refuseWriting(session);
  for (let round = 1; round <= ROUNDS; round++) {
    const work = await openWork(session, call);
    if (work === undefined) return answer([], { left: [], outcome: dryRun ? 'planned' : 'written' });
    const past = await readWholePast(work);
    const { changes, ...rest } = request.plan(past, work);
    const { left } = rest;
    if (dryRun) {
      const shown = namesWriters === true ? await withWriters(work, past, changes) : changes;
      return answer(shown, { ...rest, outcome: 'planned' });
    }
    const isWithheld = left.length > 0 && !partial;
    if (changes.length === 0 && !isWithheld) return answer(done, { ...rest, outcome: 'written' });
    refuseToLose(work.keyring);
    if (isWithheld) return answer([...done, ...changes], { ...rest, outcome: 'withheld' });
    const textOf = async (id: string): Promise<Uint8Array | undefined> => {
      const version = past.versions.get(id);
      return version && contentOf(work, version);
    };
    const applied = await applyPlan({ session, tree, call, textOf }, changes);
    done.push(...applied.done);
    conflict = applied.conflict;
    if (conflict === undefined) return answer(done, { ...rest, outcome: 'written' });
  }
  throw conflict;
}

/** Each change with the actor whose version it takes away. */
async function withWriters(
  work: Work,
  { versions }: Past,
  changes: readonly PlannedChange[],
): Promise<readonly PlannedChange[]> {
  const writerOf = ({ fromVersion = '' }: PlannedChange): string | undefined =>
    versions.get(fromVersion)?.writer;
  if (changes.every((change) => writerOf(change) === undefined)) return changes;
  const actors = await readActors(work);
  return changes.map((change) => {
    const writer = writerOf(change);
    return writer === undefined ? change : { ...change, writer: actors.get(writer) ?? writer };
  });
}
