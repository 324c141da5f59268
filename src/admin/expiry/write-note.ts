import { hasReason } from '../../errors.ts';
import type { ETag, ListedObject } from '../../store/port.ts';
import { confirmedChange } from '../../tree/confirmed-change.ts';
import { type RecordName, recordWrite, writeRecord } from '../../tree/records/sealed-record.ts';
import type { Work } from '../../tree/tenant.ts';

interface Note {
  readonly content: Uint8Array;
  /** The version that is replaced; undefined: the note is created. */
  readonly base: ETag | undefined;
  /** The objects that are deleted next. */
  readonly leaving?: readonly ListedObject[];
}

/**
 * Writes a note that must be stored before a delete; false where another process was first. On a full disk it takes the
 * room that the store keeps for deletes, and where that is used up the room of one object that goes.
 */
export async function writeNote(
  work: Work,
  name: Pick<RecordName, 'cls' | 'id'>,
  { leaving = [], ...note }: Note,
): Promise<boolean> {
  const { store } = work.tenant;
  if (store.changeAll === undefined) return 'etag' in (await writeRecord(work, name, note));
  const changeAll = store.changeAll.bind(store);
  const write = recordWrite(work, name, note);
  const targets = leaving.map(({ key, etag }) => [{ key, ifMatch: etag }]);
  let full: unknown;
  for (const deletes of [[], ...targets]) {
    try {
      const change = { writes: [write], deletes, forDeletes: true };
      const conflicts = await confirmedChange(work, changeAll, change);
      if (conflicts.length === 0) return true;
      if (conflicts.some(({ key }) => key === write.key)) return false;
    } catch (error) {
      if (!hasReason(error, 'disk_full')) throw error;
      full = error;
    }
  }
  throw full;
}
