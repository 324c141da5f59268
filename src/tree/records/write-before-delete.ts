import { hasReason } from '../../errors.ts';
import type { ETag, ListedObject, ObjectStore } from '../../store/port.ts';
import { confirmedChange } from '../confirmed-change.ts';
import type { Work } from '../tenant.ts';
import { type RecordName, recordWrite, writeRecord } from './sealed-record.ts';

interface WriteBeforeDelete {
  readonly content: Uint8Array;
  /** The version that is replaced; undefined: the record is created. */
  readonly base: ETag | undefined;
  /** The objects that are deleted next. */
  readonly leaving?: readonly ListedObject[];
}

/** Files that are deleted, and the records that are written of them, in one change. */
interface JoinedRecords extends Omit<Parameters<typeof confirmedChange>[2], 'writes'> {
  /** Each replaces the version `base`, or is created. */
  readonly records: readonly (Pick<RecordName, 'cls' | 'id'> & {
    readonly content: Uint8Array;
    readonly base?: ETag | undefined;
  })[];
}

/** Writes records and deletes files as one change, with the promises of `confirmedChange`. */
export function changeWithRecords(
  work: Work,
  changeAll: NonNullable<ObjectStore['changeAll']>,
  { records, ...others }: JoinedRecords,
): ReturnType<typeof confirmedChange> {
  const writes = records.map((each) => recordWrite(work, each, { base: undefined, ...each }));
  return confirmedChange(work, changeAll, { writes, ...others });
}

/**
 * Writes a record that must be stored before a delete; false where another process was first. On a full disk it takes
 * the room that the store keeps for deletes, and where that is used up the room of one object that goes.
 */
export async function writeBeforeDelete(
  work: Work,
  name: Pick<RecordName, 'cls' | 'id'>,
  { leaving = [], ...record }: WriteBeforeDelete,
): Promise<boolean> {
  const { store } = work.tenant;
  if (store.changeAll === undefined) return 'etag' in (await writeRecord(work, name, record));
  const changeAll = store.changeAll.bind(store);
  const write = recordWrite(work, name, record);
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
