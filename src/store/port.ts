import { hasCode, MemoryError } from '../errors.ts';
import type { ObjectKey } from '../format/object-keys.ts';

/** The keys that one LIST answers with and one DELETE takes, at most: S3's bound, kept by every store. */
export const KEYS_PER_REQUEST = 1_000;

/** Opaque name of one stored version; equal ETags mean the same version. */
export type ETag = string & { readonly __brand: 'ETag' };

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface ObjectMeta {
  readonly etag: ETag;
  /** Bytes as stored. */
  readonly size: number;
  /** The server's clock, milliseconds since the epoch. */
  readonly lastModified: number;
}

export interface DatedMeta extends ObjectMeta {
  /** The server's clock when it answered. */
  readonly servedAt: number;
}

/** Milliseconds since the object was written, by the server's clock. */
export function ageOf({ servedAt, lastModified }: Pick<DatedMeta, 'servedAt' | 'lastModified'>): number {
  return servedAt - lastModified;
}

export interface StoredObject extends DatedMeta {
  readonly body: Uint8Array;
}

export interface GetOptions extends RequestOptions {
  /** Answer `'not_modified'`, without the bytes, while the object is this version still. */
  readonly ifNoneMatch?: ETag | undefined;
  /** Refuse with `limit_exceeded` before buffering when the object is larger, in bytes. */
  readonly maxBytes?: number | undefined;
}

export type PutMode = 'create' | 'overwrite' | { readonly ifMatch: ETag };

/** The bound until which a request may be put on the wire. Its maker holds the clocks. */
export interface SendBound {
  /** Tells whether that instant has passed; once it has, it stays so. */
  isPast(): boolean;
}

export interface PutOptions extends RequestOptions {
  readonly mode: PutMode;
  /**
   * Asked directly before every attempt is put on the wire, between the parts of a large body too, and directly before
   * the statement of an embedded store. Past it nothing more is sent: `put` throws `unavailable` with `details.reason`
   * `too_late` where nothing may have been executed, otherwise `outcome_unknown`. Unlimited unless given.
   */
  readonly sendBy?: SendBound | undefined;
}

export interface DeleteOptions extends RequestOptions {
  /** Asked like that of a put; past it nothing more is sent. */
  readonly sendBy?: SendBound | undefined;
  /** Called for each target that is through, where each takes a request of its own. */
  readonly onTarget?: (() => void) | undefined;
}

/**
 * `exists`: a create met an object. `changed`: another version is there. `missing`: nothing is there any more.
 * A conflict is certain: this write was not executed.
 */
export type WriteResult = { readonly etag: ETag } | { readonly conflict: 'exists' | 'changed' | 'missing' };

export interface DeleteTarget {
  readonly key: ObjectKey;
  /** Delete only this version, atomically on every store. Absent: delete whatever is there. */
  readonly ifMatch?: ETag | undefined;
}

/**
 * A key of a delete that did not happen, or of which it is not known whether it did (`outcome_unknown`). A key that was
 * already gone is a failure only with `ifMatch`.
 */
export type DeleteFailure = { readonly key: ObjectKey } & (
  | { readonly conflict: 'changed' | 'missing' }
  | { readonly error: unknown }
);

/** Tells whether a delete failed because certainly no object lay at the key. */
export function isMissing(failure: DeleteFailure): boolean {
  return 'conflict' in failure && failure.conflict === 'missing';
}

/** A PUT that is made together with others. */
export interface PutTarget extends Pick<PutOptions, 'mode'> {
  readonly key: ObjectKey;
  readonly body: Uint8Array;
}

/** Puts and deletes that are made together; a key has one change at most. */
export interface Changes {
  readonly puts: readonly PutTarget[];
  readonly deletes: readonly DeleteTarget[];
  /**
   * True where the puts must be kept before something is deleted: like a delete, they may take room that is kept for
   * deletes.
   */
  readonly forDeletes?: boolean;
}

/** The ETags of the puts, in their order; or every key whose condition failed, so that nothing was changed. */
export type ChangeResult =
  | { readonly etags: readonly ETag[] }
  | { readonly conflicts: readonly ChangeConflict[] };

export type ChangeConflict = { readonly key: ObjectKey } & Extract<WriteResult, { conflict: unknown }>;

export interface ListOptions extends RequestOptions {
  readonly prefix: string;
  /** List keys strictly after this one, in UTF-8 byte order. */
  readonly startAfter?: string | undefined;
  /** Page size, 1–1,000. */
  readonly maxKeys?: number | undefined;
}

export interface ListedObject extends ObjectMeta {
  readonly key: ObjectKey;
}

export interface ListPage {
  readonly objects: readonly ListedObject[];
  readonly servedAt: number;
}

/**
 * The port to the place where sealed objects lie. Expected outcomes are values; failures throw `MemoryError`:
 * `unavailable`, `timeout`, `aborted`, `access_denied`, `misconfigured`, `limit_exceeded`, and from `put` and
 * `delete` also `outcome_unknown` when a request may have been executed although no answer came, be it because the
 * caller cancelled it on its way. `isResentConflict` knows the case where an answer did come, but only to an attempt
 * after one without an answer, and the condition had failed. `settlePut` finds out what has become of a write.
 */
export interface ObjectStore extends AsyncDisposable {
  get(key: ObjectKey, options?: GetOptions): Promise<StoredObject | 'not_modified' | undefined>;
  /** On S3 a missing bucket looks like an absent object here. */
  head(key: ObjectKey, options?: RequestOptions): Promise<DatedMeta | undefined>;
  put(key: ObjectKey, body: Uint8Array, options: PutOptions): Promise<WriteResult>;
  /**
   * One request per 1,000 targets, none ever resent after an unknown outcome. What goes wrong with one key of several
   * is a failure of that key; what goes wrong with a request throws, and the requests after it are not sent.
   */
  delete(targets: readonly DeleteTarget[], options?: DeleteOptions): Promise<readonly DeleteFailure[]>;
  /**
   * Makes several conditional changes as one: all of them, or none. Only a store that keeps this promise also through a
   * crash has it; without it they are requests, one after the other. What is deleted gives its room to what is put, so
   * that on a full disk a text can change its place. A store that is wrapped has it only where the wrapper passes it
   * on: one that spreads the store below must replace it as it replaces `put` and `delete`. Fails as these do; `sendBy`
   * is asked like that of a put, after the conditions.
   */
  changeAll?(changes: Changes, options?: Pick<PutOptions, 'signal' | 'sendBy'>): Promise<ChangeResult>;
  /** One request per page. A page may be empty though more follow. */
  list(options: ListOptions): AsyncIterable<ListPage>;
}

/**
 * Compares keys by their UTF-8 bytes, in the order of a listing. It is that of code points: UTF-16 puts those above
 * U+FFFF too early.
 */
export function compareUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return isSurrogate(x) === isSurrogate(y) ? x - y : isSurrogate(x) ? 1 : -1;
  }
  return a.length - b.length;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

/** One version that a store keeps of an object, or the mark that it was deleted. */
export interface KeptVersion {
  readonly key: ObjectKey;
  readonly versionId: string;
  /** True where a plain GET finds this version. */
  readonly isCurrent: boolean;
  /** Bytes as stored; undefined for the mark of a delete, which holds none. */
  readonly size: number | undefined;
}

/**
 * The port to the versions that a bucket with versioning keeps beside the current ones. In a bucket without it every
 * object is one version, the current one. Failures throw `MemoryError` as those of the object store; `knowsNoVersions`
 * knows the answer of a server that has no such requests, which only the first LIST can bring.
 */
export interface ObjectVersions {
  /** Everything kept under exactly this key, newest first; one request per page. */
  list(key: ObjectKey, request?: RequestOptions): AsyncIterable<readonly KeptVersion[]>;
  /** Everything kept under keys that begin so, in the order of keys; one request per page. */
  below(prefix: string, request?: RequestOptions): AsyncIterable<readonly KeptVersion[]>;
  /** The bytes of one version as stored; undefined where it is gone. */
  get(key: ObjectKey, versionId: string, request?: RequestOptions): Promise<Uint8Array | undefined>;
  /**
   * Removes one version for good; one that is gone already is no failure. May be repeated. `access_denied` where an
   * object lock or a legal hold keeps it; `outcome_unknown` where the answer confirms nothing.
   */
  remove(key: ObjectKey, versionId: string, request?: RequestOptions): Promise<void>;
}

const NO_VERSIONS = 'no_versions';

/** The failure of a listing of versions on a server that has no such request. */
export function noVersions(cause: unknown): MemoryError {
  return new MemoryError('misconfigured', 'The server knows no versions of objects.', {
    details: { reason: NO_VERSIONS },
    cause,
  });
}

/**
 * Tells the failure of a server that has no requests for versions at all, so that it keeps none that could be named.
 */
export function knowsNoVersions(error: unknown): boolean {
  return hasCode(error, 'misconfigured') && error.details['reason'] === NO_VERSIONS;
}

const TOO_LATE = 'too_late';
const RESENT = 'resent';

/**
 * Makes the error that a store throws instead of sending a request whose bound has passed; undefined while it may be
 * sent.
 */
export function lateness(bound: SendBound | undefined): MemoryError | undefined {
  if (bound === undefined || !bound.isPast()) return undefined;
  return new MemoryError('unavailable', 'A request was not sent, because it had waited for too long.', {
    details: { reason: TOO_LATE },
  });
}

/** Tells whether a request was held back because its bound had passed, so that certainly nothing was executed. */
export function isTooLate(error: unknown): boolean {
  return hasCode(error, 'unavailable') && error.details['reason'] === TOO_LATE;
}

/** A condition failed after an attempt without an answer: that attempt may be what the condition met. */
export function resentConflict(): MemoryError {
  return new MemoryError('outcome_unknown', 'A request that was sent again met its condition.', {
    details: { reason: RESENT },
  });
}

/** Tells whether the outcome is unknown only because an earlier attempt may be what the condition met. */
export function isResentConflict(error: unknown): boolean {
  return hasCode(error, 'outcome_unknown') && error.details['reason'] === RESENT;
}
