import { hasCode, MemoryError } from '../errors.ts';
import { readHeader } from '../format/header.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { equalBytes } from '../format/sodium.ts';
import { nextBound } from '../format/wrap.ts';
import {
  type DeleteFailure,
  type DeleteOptions,
  type DeleteTarget,
  type ETag,
  isMissing,
  type ObjectStore,
  type PutMode,
  type SendBound,
  type WriteResult,
} from '../store/port.ts';
import { settlePut } from '../store/settle.ts';
import { identityOf, type VersionIdentity } from './sightings.ts';
import type { Work } from './tenant.ts';

/** The certain end of a conditional PUT. */
export type ConfirmedPut =
  /** `body`: the bytes that were written; `bound`: their bound. */
  | { readonly etag: ETag; readonly body: Uint8Array; readonly bound: bigint }
  | Extract<WriteResult, { conflict: unknown }>;

export interface ConditionalWrite {
  readonly key: ObjectKey;
  /**
   * Seals or binds the new version with that stamp. Called again where sealed bytes became too old to be sent: the
   * version is then the same one, bound later.
   */
  seal(stamp: Stamp): Uint8Array;
  /** The latest bound that is known of the version that is replaced or copied; undefined where none was read. */
  readonly after: bigint | undefined;
  readonly mode: Exclude<PutMode, 'overwrite'>;
}

/** The ingredients of one attempt's bound, which make it later than those of all attempts before it. */
export interface Stamp {
  /** Milliseconds since the epoch. */
  readonly clock: number;
  readonly after: bigint | undefined;
}

/** A write with the stamps of its attempts. */
export interface StampedWrite extends Omit<ConditionalWrite, 'seal'> {
  seal(): Omit<Sealed, 'sendBy'>;
}

export function stamped({ tenant }: Work, write: ConditionalWrite): StampedWrite {
  let { after } = write;
  return {
    ...write,
    seal() {
      const stamp = { clock: tenant.stamps.now(), after };
      const bound = nextBound(stamp.clock, after);
      after = bound;
      return { bytes: write.seal(stamp), bound };
    },
  };
}

/** Bytes sealed under the tenant key that was active at that time, and until when they may be sent. */
export interface Sealed {
  readonly bytes: Uint8Array;
  readonly bound: bigint;
  readonly sendBy: SendBound;
}

/** A write that lies in the store, or lay there until another process built on it. */
interface Landed {
  readonly etag: ETag;
  readonly sealed: Sealed;
}

/** The most times that a PUT which landed late is followed by a look at the keyring. */
const LOOKS = 8;

/**
 * Makes a conditional PUT whose outcome is certain, and whose key was certainly not retired on its way
 * (docs/protocols.md, "Sending bound").
 *
 * A lost answer is settled as `settlePut` says. A success that is known too late counts only once a look at the keyring
 * has shown that its key is still active; otherwise the same version is sealed again and written over itself.
 *
 * @throws MemoryError `outcome_unknown` when the process cannot know whether the write landed, or is readable.
 */
export async function confirmedPut(work: Work, request: ConditionalWrite): Promise<ConfirmedPut> {
  const write = stamped(work, request);
  const landed = await put(work, write);
  return 'conflict' in landed ? landed : confirmLanded(work, write, landed);
}

/**
 * Checks a PUT that landed. Where it is known too late, this looks at the keyring, at most 8 times; after each of the
 * first seven looks, where the PUT's key is no longer active, it writes the same version again.
 *
 * @throws MemoryError as `confirmedPut`.
 */
export async function confirmLanded(
  work: Work,
  write: StampedWrite,
  first: Landed,
): Promise<{ readonly etag: ETag; readonly body: Uint8Array; readonly bound: bigint }> {
  let { etag, sealed } = first;
  for (let looks = 1; ; looks++) {
    const written = { etag, body: sealed.bytes, bound: sealed.bound };
    if (!sealed.sendBy.isPast() || (await isSealedByActiveKey(work, sealed))) return written;
    if (looks === LOOKS) throw unknownOutcome();
    const again = await put(work, { ...write, mode: { ifMatch: etag } }).catch((cause: unknown) => {
      throw unknownOutcome(cause);
    });
    // Another process has read the version and built on it, bound it to the active key, or deleted it: it was written
    // all the same.
    if ('conflict' in again) return written;
    ({ etag, sealed } = again);
  }
}

/**
 * Looks at the keyring after the write landed. A key that is active then can only be retired by a migration that begins
 * later, and that migration sees the write. A key that is only held may be retired by a pass that has already gone by
 * this object.
 */
async function isSealedByActiveKey(work: Work, { bytes }: Sealed): Promise<boolean> {
  try {
    const keyring = await work.tenant.keyrings.look({ signal: work.call.signal });
    const keyId = readHeader(bytes)?.keyId;
    return keyring !== undefined && keyId !== undefined && equalBytes(keyring.keys.active.keyId, keyId);
  } catch (cause) {
    throw unknownOutcome(cause);
  }
}

async function put(
  work: Work,
  write: StampedWrite,
): Promise<Landed | Extract<WriteResult, { conflict: unknown }>> {
  const { key, mode } = write;
  const settled = await settlePut(noting(work), {
    key,
    mode,
    body: await sealNow(work, write),
    renew: () => sealNow(work, write),
    signal: work.call.signal,
  });
  // A later write of another process cannot be told apart from this process's own.
  if (settled === 'replaced') throw unknownOutcome();
  return 'conflict' in settled ? settled : { etag: settled.etag, sealed: settled.body };
}

/** Seals the write. A process that stood still may hold keys that are too old to seal with: it loads them once more. */
export async function sealNow(
  { tenant: { keyrings }, call: { signal } }: Work,
  write: StampedWrite,
): Promise<Sealed> {
  const sealed = (): Sealed => {
    const sendBy = keyrings.sendBy();
    return { ...write.seal(), sendBy };
  };
  try {
    return sealed();
  } catch (error) {
    if (!hasCode(error, 'unavailable')) throw error;
    await keyrings.load({ signal });
    return sealed();
  }
}

/** Makes the requests of the store that one write sends. The tenant's sightings note every answer. */
function noting({ tenant: { store, sightings } }: Work): Pick<ObjectStore, 'get' | 'put'> {
  const sent = new Set<VersionIdentity>();
  return {
    async put(key, bytes, options) {
      const [since, version] = [sightings.begin(), identityOf(bytes)];
      sent.add(version);
      const answer = await store.put(key, bytes, options);
      if ('etag' in answer) sightings.wrote({ key, since, version, etag: answer.etag });
      else if (answer.conflict === 'missing') sightings.sawNothing({ key, since });
      return answer;
    },
    async get(key, options) {
      const since = sightings.begin();
      const found = await store.get(key, options);
      if (typeof found !== 'object') sightings.sawNothing({ key, since });
      else {
        const version = identityOf(found.body);
        // A version that another one has replaced before is no acknowledged write when it is met again.
        if (sent.has(version)) sightings.saw({ key, since, version, etag: found.etag });
      }
      return found;
    },
  };
}

function unknownOutcome(cause?: unknown): MemoryError {
  return new MemoryError('outcome_unknown', 'No answer tells whether a write landed.', { cause });
}

/**
 * Deletes as the store's port does; the tenant's sightings note which objects are certainly gone afterwards. Every
 * delete of a sealed object goes through here.
 */
export async function deleteObjects(
  work: Work,
  targets: readonly DeleteTarget[],
  options?: DeleteOptions,
): Promise<readonly DeleteFailure[]> {
  const { store, sightings, cache } = work.tenant;
  const since = sightings.begin();
  for (const { key } of targets) cache.drop(key);
  const failures = await store.delete(targets, options);
  const there = new Set(failures.flatMap((failure) => (isMissing(failure) ? [] : [failure.key])));
  for (const { key } of targets) if (!there.has(key)) sightings.sawNothing({ key, since });
  return failures;
}
