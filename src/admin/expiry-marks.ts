import { MemoryError } from '../errors.ts';
import type { ETag } from '../store/port.ts';
import { decodeFields, encodeFields, readRecord, writeRecord } from '../tree/sealed-record.ts';
import type { Work } from '../tree/session.ts';

/** A version of a file that an earlier run found unused. */
export interface ExpiryMark {
  readonly etag: ETag;
  /** When it was found first, by the server's clock; milliseconds since the epoch. */
  readonly since: number;
}

/** Marks by what stands for the file in its access records. */
export type ExpiryMarks = ReadonlyMap<string, ExpiryMark>;

export interface StoredMarks {
  readonly marks: ExpiryMarks;
  /** Undefined: none were ever written. */
  readonly etag: ETag | undefined;
}

const RECORD = { cls: 'journal', id: 'expiry' } as const;
const MAX_BYTES = 8_388_608;
/** Further ones are marked by a later run. */
export const MOST_MARKS = 20_000;

/** One GET. @throws MemoryError `integrity`, `unsupported_format`. */
export async function readMarks(work: Work): Promise<StoredMarks> {
  const record = await readRecord(work, { ...RECORD, maxBytes: MAX_BYTES });
  if (record === undefined) return { marks: new Map(), etag: undefined };
  const { marks } = decodeFields(record.content) ?? {};
  if (!Array.isArray(marks)) throw unknown();
  return { marks: new Map(marks.map(parseMark)), etag: record.etag };
}

/** @throws MemoryError `unavailable` when another run has written them meanwhile. */
export async function writeMarks(work: Work, marks: ExpiryMarks, base: ETag | undefined): Promise<void> {
  const list = [...marks].slice(0, MOST_MARKS).map(([file, { etag, since }]) => [file, etag, since]);
  const written = await writeRecord(work, RECORD, { content: encodeFields({ marks: list }), base });
  if (written === undefined) {
    throw new MemoryError('unavailable', "another run of expiry works on the tenant's files");
  }
}

function parseMark(entry: unknown): readonly [string, ExpiryMark] {
  if (!Array.isArray(entry)) throw unknown();
  const [file, etag, since] = entry as readonly unknown[];
  if (typeof file !== 'string' || typeof etag !== 'string' || typeof since !== 'number') throw unknown();
  return [file, { etag: etag as ETag, since }];
}

function unknown(): MemoryError {
  return new MemoryError('unsupported_format', 'the marks of expiry are of a later version');
}
