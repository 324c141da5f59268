import { hasCode } from '../../errors.ts';
import { classKey } from '../../format/object-keys.ts';
import type { MemoryPath } from '../../language/path.ts';
import { isoOf, oncePerKey } from '../../time.ts';
import { type AccessRecords, uncancelled, type Work } from '../tenant.ts';
import { writeRecord } from './sealed-record.ts';

/** A record's id: the day, then the keyed hash of the path. */
interface AccessId {
  /** `YYYY-MM-DD`, by UTC. */
  readonly day: string;
  readonly file: string;
}

const CLASS = 'access';
const ID = /^(\d{4}-\d{2}-\d{2})_([A-Za-z0-9_-]{43})$/;
/** Of one day; beyond it a record is merely asked for again. */
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

/** What stands for a file in the ids of its records; without the tenant's name key it cannot be guessed. */
export function accessHash({ keyring }: Work, path: MemoryPath): string {
  return keyring.names.keyedHash(CLASS, path);
}

export function accessRecordId({ day, file }: AccessId): string {
  return `${day}_${file}`;
}

/** Undefined when it is not the id of a record. */
export function parseAccessRecordId(id: string): AccessId | undefined {
  const [, day, file] = ID.exec(id) ?? [];
  return day === undefined || file === undefined ? undefined : { day, file };
}

/** The UTC day of a moment in milliseconds since the epoch. */
export function dayOf(milliseconds: number): string {
  return isoOf(milliseconds).slice(0, DAY_CHARACTERS);
}

/** Where a record of that day lies already, another process wrote it. */
async function putRecord(work: Work, access: AccessId): Promise<void> {
  const id = accessRecordId(access);
  // Several readers wait for it: none of them may cancel it for the others.
  const unhurried = uncancelled(work);
  try {
    await writeRecord(unhurried, { cls: CLASS, id }, { content: new Uint8Array(), base: undefined });
  } catch (error) {
    if (!hasCode(error, 'outcome_unknown')) throw error;
    const found = await work.tenant.store.head(classKey(work.tenant.layout, CLASS, id));
    if (found === undefined) throw error;
  }
}
