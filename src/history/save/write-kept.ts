import { hasCode, MemoryError } from '../../errors.ts';
import type { ETag } from '../../store/port.ts';
import { writeRecord } from '../../tree/records/sealed-record.ts';
import { writeBeforeDelete } from '../../tree/records/write-before-delete.ts';
import type { Work } from '../../tree/tenant.ts';

export interface KeptRecord {
  readonly cls: 'history' | 'actors';
  readonly id: string;
  readonly content: Uint8Array;
  /** The version that is replaced; undefined: the record is created. */
  readonly base?: ETag | undefined;
  /** The change that needs the record: a delete lets it take room that the store keeps for deletes, where it keeps some. */
  readonly before?: 'delete' | undefined;
}

/**
 * Writes a record of the history or of an actor. The change that needs the record begins after it, so that a lost answer here
 * leaves the outcome of that change certain: it was not begun.
 *
 * @throws MemoryError `unavailable` when no answer tells whether it was written.
 */
export async function writeKept(
  work: Work,
  { content, base, before, ...name }: KeptRecord,
): Promise<'written' | 'conflict'> {
  const write = { content, base };
  try {
    const isWritten =
      before === 'delete'
        ? await writeBeforeDelete(work, name, write)
        : 'etag' in (await writeRecord(work, name, write));
    return isWritten ? 'written' : 'conflict';
  } catch (cause) {
    if (!hasCode(cause, 'outcome_unknown')) throw cause;
    throw new MemoryError('unavailable', 'The history of a file could not be written.', { cause });
  }
}
