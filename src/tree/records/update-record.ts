import type { ETag } from '../../store/port.ts';
import { attempts } from '../concurrency.ts';
import type { Work } from '../tenant.ts';
import {
  type RecordName,
  type RecordWrite,
  readRecord,
  type StoredRecord,
  writeRecord,
} from './sealed-record.ts';

/** The most attempts at a record whose other writers are few. */
export const MOST_ATTEMPTS = 8;

type RecordChange = Omit<RecordWrite, 'base'>;
/** New content of a record, or an end where the record needs no write. */
type Next<Change, Ended> = Change | { readonly ended: Ended };

/** The bound of an update, and what is done where others were first at each attempt. */
export interface AttemptBound<Overtaken> {
  readonly most: number;
  readonly overtaken: () => Overtaken | Promise<Overtaken>;
}

/**
 * Reads a record, changes it, writes it on the ETag that was read, and begins again where another process wrote it
 * first. One GET and one PUT an attempt.
 *
 * @param change is called for each version that is read; undefined: there is none.
 * @throws MemoryError as `readRecord`, `writeRecord`, `change` and `overtaken`.
 */
export async function updateRecord<Change extends RecordChange, Ended, Overtaken>(
  work: Work,
  name: RecordName,
  change: (found: StoredRecord | undefined) => Next<Change, Ended> | Promise<Next<Change, Ended>>,
  { most, overtaken }: AttemptBound<Overtaken>,
): Promise<Next<Change & { readonly etag: ETag }, Ended> | Overtaken> {
  const attempt = async () => {
    const found = await readRecord(work, name);
    const next = await change(found);
    if ('ended' in next) return next;
    const written = await writeRecord(work, name, { ...next, base: found?.etag });
    return 'etag' in written ? { ...next, etag: written.etag } : 'again';
  };
  return attempts(most, attempt, overtaken);
}

/**
 * Writes a record of which the caller knows a version, and reads it only where another process wrote it meanwhile:
 * `change` then says what to write on the version that is there, or leaves that (undefined). One PUT an attempt, and a
 * GET where that was refused. Answers the version that was written.
 *
 * @throws MemoryError as `updateRecord`.
 */
export async function rewriteRecord<Overtaken>(
  work: Work,
  name: RecordName,
  known: RecordWrite,
  change: (found: StoredRecord | undefined) => RecordChange | undefined,
  overtaken: () => Overtaken,
): Promise<ETag | undefined | Overtaken> {
  let write = known;
  const attempt = async () => {
    const written = await writeRecord(work, name, write);
    if ('etag' in written) return written.etag;
    const found = await readRecord(work, name);
    const next = change(found);
    if (next === undefined) return undefined;
    write = { ...next, base: found?.etag };
    return 'again';
  };
  return attempts(MOST_ATTEMPTS, attempt, overtaken);
}
