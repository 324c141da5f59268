import { hasCode } from '../../errors.ts';
import { classKey } from '../../format/object-keys.ts';
import type { MemoryPath } from '../../language/path.ts';
import { isoOf, oncePerKey } from '../../time.ts';
import { writeRecord } from '../../tree/records/sealed-record.ts';
import { type AccessRecords, uncancelled, type Work } from '../../tree/tenant.ts';

/** A record's id: the day, then the keyed hash of the path. */
interface AccessId {
  /** `YYYY-MM-DD`, by UTC. */
  readonly day: string;
  readonly file: string;
}

const CLASS = 'access';
const ID = /^(\d{4}-\d{2}-\d{2})_([A-Za-z0-9_-]{43})$/;
/** The most files of one day that are remembered; a record beyond them is merely asked for again. */
const REMEMBERED_FILES = 100_000;
const DAY_CHARACTERS = 10;

export function createAccessRecords(): AccessRecords {
  let today = '';
  let recorded = new Map<string, Promise<void>>();
  return {
    async record(work, path) {
      const day = dayOf(work.tenant.stamps.now());
      if (day !== today || recorded.size >= REMEMBERED_FILES) {
        today = day;
        recorded = new Map();
      }
      const file = accessHash(work, path);
      await oncePerKey(recorded, file, () => putRecord(work, { day, file }));
    },
  };
}

/**
 * Computes the hash that stands for a file in the ids of its records; nobody can guess it without the tenant's name
 * key.
 */
export function accessHash({ keyring }: Work, path: MemoryPath): string {
  return keyring.names.keyedHash(CLASS, path);
}

export function accessRecordId({ day, file }: AccessId): string {
  return `${day}_${file}`;
}

/** Parses the id of a record; undefined for any other id. */
export function parseAccessRecordId(id: string): AccessId | undefined {
  const [, day, file] = ID.exec(id) ?? [];
  return day === undefined || file === undefined ? undefined : { day, file };
}

/** Answers the UTC day of a moment in milliseconds since the epoch. */
export function dayOf(milliseconds: number): string {
  return isoOf(milliseconds).slice(0, DAY_CHARACTERS);
}

/** Writes the record of a read, unless another process wrote one for that day already. */
async function putRecord(work: Work, access: AccessId): Promise<void> {
  const id = accessRecordId(access);
  // Several readers wait for the write: cancelling one of them must not cancel the write for the others.
  const unhurried = uncancelled(work);
  try {
    await writeRecord(unhurried, { cls: CLASS, id }, { content: new Uint8Array(), base: undefined });
  } catch (error) {
    if (!hasCode(error, 'outcome_unknown')) throw error;
    const found = await work.tenant.store.head(classKey(work.tenant.layout, CLASS, id));
    if (found === undefined) throw error;
  }
}
