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
  /**
   * The change that needs the record. For a `delete`, the record may take room that the store keeps for deletes, where
   * the store keeps some.
   */
  readonly before?: 'delete' | undefined;
}

/**
 * Writes a record of the history or of an actor. The change that needs the record begins after it: when the answer here
 * is lost, that change certainly was not begun.
 *
 * @throws MemoryError `unavailable` when no answer tells whether the record was written.
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
