import { MemoryError } from '../../errors.ts';
import { logicalName, type ObjectKey } from '../../format/object-keys.ts';
import { ID_BYTES } from '../../format/wrap.ts';
import type { MemoryPath } from '../../language/path.ts';
import { ageOf, type DatedMeta, type ETag } from '../../store/port.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { deleteObjects } from '../../tree/confirmed-put.ts';
import { readListed } from '../../tree/read-file.ts';
import type { Work } from '../../tree/tenant.ts';
import { writeAgain } from '../../tree/write-again.ts';
import type { DuplicateFinding, DuplicateState } from '../findings.ts';

/** The age below which a rename may still be on its way between two places (milliseconds, the server's clock). */
const QUIET_MS = 60_000;

/** A file as it was read, at one of the places where its content lies. */
export interface ReadPlace {
  readonly path: MemoryPath;
  readonly key: ObjectKey;
  readonly etag: ETag;
  /** The server's clock, as precise as the server tells it; milliseconds since the epoch. */
  readonly lastModified: number;
  /** Bytes as stored. */
  readonly size: number;
  readonly origin: Uint8Array;
  /** The id of the version, 16 bytes. */
  readonly id: Uint8Array;
  readonly bound: bigint;
}

interface DuplicateRequest {
  /** Places that held one content when they were read, oldest first. */
  readonly groups: readonly (readonly ReadPlace[])[];
  /** True where a directory is being renamed, or a damaged register leaves that open. */
  readonly isRenaming: boolean;
  readonly repair: boolean;
}

/** Looks at the places once more and tells the older ones, or removes them with `repair`. */
export async function decideDuplicates(
  work: Work,
  request: DuplicateRequest,
): Promise<readonly DuplicateFinding[]> {
  const findings: DuplicateFinding[] = [];
  const decideOne = async (group: readonly ReadPlace[]): Promise<void> => {
    findings.push(...(await decideGroup(work, request, group)));
  };
  // At most one file of each group is read.
  await eachConcurrently(work.tenant, request.groups, decideOne, (group) => group.at(-1)?.size ?? 0);
  return findings;
}

async function decideGroup(
  work: Work,
  { isRenaming, repair }: DuplicateRequest,
  group: readonly ReadPlace[],
): Promise<readonly DuplicateFinding[]> {
  const seen = await Promise.all(group.map((place) => lookAgain(work, place)));
  const there = group.filter((_, index) => seen[index] !== undefined);
  const newest = there.at(-1);
  const others = there.slice(0, -1);
  if (newest === undefined || others.length === 0) return [];
  const told = (places: readonly ReadPlace[], state: DuplicateState): readonly DuplicateFinding[] =>
    places.map(({ path }) => ({ kind: 'duplicate', state, older: path, newer: newest.path }));

  if (isRenaming || seen.some((meta) => meta !== undefined && ageOf(meta) < QUIET_MS)) {
    return told(others, 'in_progress');
  }
  const older = others.filter(({ lastModified }) => lastModified < newest.lastModified);
  const undecided = told(
    others.filter((place) => !older.includes(place)),
    'undecided',
  );
  if (!repair || older.length === 0) return [...told(older, 'left'), ...undecided];
  const removed = await removeOlder(work, newest, older);
  const kept = older.filter((place) => !removed.includes(place));
  return [...told(removed, 'removed'), ...told(kept, 'not_removed'), ...undecided];
}

/** Looks at a place again; undefined where its file went or changed while others were read. */
async function lookAgain(work: Work, place: ReadPlace): Promise<DatedMeta | undefined> {
  const found = await work.tenant.store.head(place.key, { signal: work.call.signal });
  return found?.etag === place.etag ? found : undefined;
}

/**
 * Removes exactly the versions that were seen at the older places, and answers which are gone. Before that it writes
 * the newest one again with the same content and a mark of its own. This makes certain that the newest one exists, and
 * a renamer that was merely frozen, and finds its source gone when it thaws, cannot take back a copy that it does not
 * recognise. Where history is kept, this writes the file down as renamed to the place that stays.
 */
async function removeOlder(
  work: Work,
  newest: ReadPlace,
  older: readonly ReadPlace[],
): Promise<readonly ReadPlace[]> {
  try {
    const kept = await bindAgain(work, newest, older);
    if (kept === undefined) return [];
    await work.saver?.nameActor(work);
    const failures = await deleteObjects(
      work,
      older.map(({ key, etag }) => ({ key, ifMatch: etag })),
      { signal: work.call.signal },
    );
    // A place that another process removed is that process's to write down.
    const removed = older.filter(({ key }) => !failures.some((failure) => failure.key === key));
    for (const { path, id, bound } of removed) {
      await work.saver?.noteMoved(work, { from: path, to: newest.path, id: kept.origin }, [path, id, bound]);
    }
    const stays = failures.filter((failure) => !('conflict' in failure) || failure.conflict === 'changed');
    return older.filter((place) => !stays.some(({ key }) => key === place.key));
  } catch (error) {
    if (!(error instanceof MemoryError) || error.code === 'aborted') throw error;
    return [];
  }
}

/**
 * Binds the file again, later than at any of the other places. Undefined: the file is no longer the version that was
 * seen.
 */
async function bindAgain(
  work: Work,
  place: ReadPlace,
  others: readonly ReadPlace[],
): Promise<{ readonly origin: Uint8Array } | undefined> {
  const { path, key, etag } = place;
  const version = await readListed(work, place);
  if (version === undefined) return undefined;
  const origin = work.tenant.random(ID_BYTES);
  const written = await writeAgain(work, version, {
    key,
    name: logicalName(path),
    base: etag,
    dataKey: 'renewed',
    origin,
    bounds: others.map(({ bound }) => bound),
  });
  return written && { origin };
}
