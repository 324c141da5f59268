import {
  type ChangeConflict,
  type Changes,
  isTooLate,
  type ObjectStore,
  type SendBound,
} from '../store/port.ts';
import {
  type ConditionalWrite,
  confirmLanded,
  type Sealed,
  type StampedWrite,
  sealNow,
  stamped,
} from './confirmed-put.ts';
import { identityOf } from './sightings.ts';
import type { Work } from './tenant.ts';

/** PUTs and deletes that the store makes as one change. */
interface JoinedWrites extends Omit<Changes, 'puts'> {
  readonly writes: readonly ConditionalWrite[];
  /** The latest moment to send the change, whenever its bodies were sealed. */
  readonly sendBy?: SendBound | undefined;
}

/** The most times that `confirmedChange` seals the bodies: each may become too old before it is sent. */
const BODIES = 8;

/**
 * Makes conditional PUTs and deletes as one change, on a store that can: all of them, or none. Each PUT is as certain
 * as `confirmedPut` makes one. Answers the conditions that failed; with an empty answer the change is made.
 *
 * @throws MemoryError `outcome_unknown` when no answer tells whether the change was made; past `sendBy` an error that
 * `isTooLate` knows.
 */
export async function confirmedChange(
  work: Work,
  changeAll: NonNullable<ObjectStore['changeAll']>,
  { writes, sendBy, ...others }: JoinedWrites,
): Promise<readonly ChangeConflict[]> {
  const { sightings, cache } = work.tenant;
  const { deletes } = others;
  const since = sightings.begin();
  for (const { key } of deletes) cache.drop(key);
  const requests = writes.map((write) => stamped(work, write));
  for (let bodies = 1; ; bodies++) {
    const sent: Sent[] = [];
    for (const write of requests) sent.push({ write, sealed: await sealNow(work, write) });
    const answer = await changeAll(
      { puts: sent.map(({ write, sealed }) => ({ ...write, body: sealed.bytes })), ...others },
      { signal: work.call.signal, sendBy: earliest([sendBy, ...sent.map(({ sealed }) => sealed.sendBy)]) },
    ).catch((error: unknown) => {
      if (!isTooLate(error) || sendBy?.isPast() === true || bodies === BODIES) throw error;
    });
    if (answer === undefined) continue;
    const gone = 'conflicts' in answer ? answer.conflicts.filter(isMissing) : deletes;
    for (const { key } of gone) sightings.sawNothing({ key, since });
    if ('conflicts' in answer) return answer.conflicts;
    for (const [index, etag] of answer.etags.entries()) {
      const landed = sent[index];
      if (landed === undefined) continue;
      const { write, sealed } = landed;
      sightings.wrote({ key: write.key, since, version: identityOf(sealed.bytes), etag });
      await confirmLanded(work, write, { etag, sealed });
    }
    return [];
  }
}

interface Sent {
  readonly write: StampedWrite;
  readonly sealed: Sealed;
}

function earliest(bounds: readonly (SendBound | undefined)[]): SendBound {
  return { isPast: () => bounds.some((bound) => bound?.isPast() === true) };
}

function isMissing({ conflict }: ChangeConflict): boolean {
  return conflict === 'missing';
}
