import { logicalName, type ObjectKey } from '../../format/object-keys.ts';
import { ID_BYTES } from '../../format/wrap.ts';
import type { MemoryPath } from '../../language/path.ts';
import type { ETag } from '../../store/port.ts';
import { deleteObjects } from '../confirmed-put.ts';
import { readListed } from '../read-file.ts';
import type { Work } from '../tenant.ts';
import { writeAgain } from '../write-again.ts';

/** One of the places at which a rename that is under way, or was cut off, has a file. */
export interface FilePlace {
  readonly path: MemoryPath;
  readonly key: ObjectKey;
  readonly etag: ETag;
  /** The id of the version, 16 bytes. */
  readonly id: Uint8Array;
  readonly bound: bigint;
}

/**
 * Removes exactly the versions that were seen at the older places, and answers which are gone. Before that it writes
 * the newest one again with the same content and a mark of its own. This makes certain that the newest one exists, and
 * a renamer that was merely frozen, and finds its source gone when it thaws, cannot take back a copy that it does not
 * recognise. Where history is kept, this writes the file down as renamed to the place that stays.
 *
 * @returns None where the newest one is another version by now.
 */
export async function keepNewest<P extends FilePlace>(
  work: Work,
  newest: Pick<FilePlace, 'path' | 'key' | 'etag'>,
  older: readonly P[],
): Promise<readonly P[]> {
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
}

/**
 * Binds the file again, later than at any of the other places. Undefined: the file is no longer the version that was
 * seen.
 */
async function bindAgain(
  work: Work,
  place: Pick<FilePlace, 'path' | 'key' | 'etag'>,
  others: readonly FilePlace[],
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
