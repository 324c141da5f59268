import { toBase64url } from '../../format/encoding.ts';
import type { ObjectClass } from '../../format/object-keys.ts';
import type { ETag } from '../../store/port.ts';
import { encodeFields, readRecord, type StoredRecord } from '../../tree/records/sealed-record.ts';
import { type AttemptBound, rewriteRecord, updateRecord } from '../../tree/records/update-record.ts';
import type { Work } from '../../tree/tenant.ts';
import type { Lease } from '../../turns/turn-records.ts';

/** A kind of records that one owner at a time may change: each holds one JSON object. */
export interface LeasedKind<Content extends object> {
  readonly cls: ObjectClass;
  /** The most bytes of content that are read. */
  readonly maxBytes: number;
  /** @throws MemoryError `integrity` for malformed content. */
  decode(bytes: Uint8Array): Content;
  /** Finds the lease in a content; undefined where nobody has one. */
  leaseIn(content: Content): Lease | undefined;
}

/** A version of a leased record. */
export interface LeasedVersion<Content> {
  readonly content: Content;
  readonly etag: ETag;
  /** Milliseconds since it was written, by the server's clock. */
  readonly ageMs: number;
}

/** The content of a record with the caller's lease, or an end where the record is not to be taken. */
export type Take<Taken, Ended> = { readonly content: Taken } | { readonly ended: Ended };

/** A record that the caller has taken: what it holds now, and the version that was there before. */
export interface TakenRecord<Content, Taken> {
  readonly taken: Taken;
  readonly etag: ETag;
  readonly found: LeasedVersion<Content> | undefined;
}

/** A record to which the caller has the lease, as it met it last. */
export interface LeasedRecord {
  readonly id: string;
  readonly owner: string;
  etag: ETag;
}

const OWNER_BYTES = 16;

/** Makes a lease of a new owner, of a whole number of milliseconds that is no smaller than the given one. */
export function newLease({ tenant }: Work, exactMs: number): Lease {
  return { owner: toBase64url(tenant.random(OWNER_BYTES)), leaseMs: Math.ceil(exactMs) };
}

/**
 * Tells for how many milliseconds the owner of a lease may still hold the record; undefined once the lease has run out.
 */
export function remainingMs(lease: Lease | undefined, ageMs: number): number | undefined {
  return lease === undefined || ageMs > lease.leaseMs ? undefined : lease.leaseMs - ageMs;
}

/**
 * Reads a leased record; undefined where there is none. One GET. @throws MemoryError `integrity`, also for malformed
 * content.
 */
export async function readLeased<Content extends object>(
  work: Work,
  kind: LeasedKind<Content>,
  id: string,
): Promise<LeasedVersion<Content> | undefined> {
  const record = await readRecord(work, { ...kind, id });
  return record && { ...record, content: kind.decode(record.content) };
}

/** Writes a record with a lease, or ends as `take` says. One GET and one PUT an attempt. */
export async function takeLeased<Content extends object, Taken extends Content, Ended, Overtaken>(
  work: Work,
  {
    kind,
    id,
    ...bound
  }: AttemptBound<Overtaken> & { readonly kind: LeasedKind<Content>; readonly id: string },
  take: (found: LeasedVersion<Content> | undefined) => Promise<Take<Taken, Ended>>,
): Promise<TakenRecord<Content, Taken> | { readonly ended: Ended } | Overtaken> {
  const change = async (record: StoredRecord | undefined) => {
    const found = record && { ...record, content: kind.decode(record.content) };
    const taken = await take(found);
    return 'ended' in taken
      ? taken
      : { content: encodeFields({ ...(taken.content as object) }), taken: taken.content, found };
  };
  return updateRecord(work, { ...kind, id }, change, bound);
}

/**
 * Writes a record to which the caller has the lease. One PUT an attempt, and a GET where that was refused: a migration
 * may have re-bound the record, which is the caller's still. Undefined: the record is another owner's, or others were
 * first at each attempt.
 *
 * @param write `check` is called before each PUT is sent. An error that it throws ends the write.
 */
export async function replaceLeased<Content extends object>(
  work: Work,
  { kind, leased }: { readonly kind: LeasedKind<Content>; readonly leased: LeasedRecord },
  { next, ...checked }: { readonly next: Content; readonly check?: (() => void) | undefined },
): Promise<ETag | undefined> {
  const write = { content: encodeFields({ ...(next as object) }), ...checked };
  const change = (record: StoredRecord | undefined) => {
    const owner = record && kind.leaseIn(kind.decode(record.content))?.owner;
    if (record === undefined || owner !== leased.owner) return undefined;
    leased.etag = record.etag;
    return write;
  };
  const known = { ...write, base: leased.etag };
  return rewriteRecord(work, { ...kind, id: leased.id }, known, change, () => undefined);
}
