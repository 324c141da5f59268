import { hasCode, MemoryError } from '../errors.ts';
import { readHeader, sameHeader } from '../format/header.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import { equalBytes } from '../format/sodium.ts';
import type { ETag, PutMode, SendBound, WriteResult } from '../store/port.ts';
import { isTooLate } from '../store/send-bound.ts';
import type { OpenVault } from './session.ts';
import { identityOf, type VersionHistory } from './version-history.ts';

/** What is certain after a conditional PUT. */
export type PutOutcome = { readonly etag: ETag } | { readonly conflict: 'exists' | 'changed' | 'missing' };

export interface ConditionalWrite {
  readonly key: ObjectKey;
  /** Seals what is to be written. Called again where sealed bytes became too old to be sent. */
  seal(): Uint8Array;
  readonly mode: Exclude<PutMode, 'overwrite'>;
}

/** Bytes under the tenant key that was active then, and until when they may be sent. */
interface Sealed {
  readonly bytes: Uint8Array;
  readonly sendBy: SendBound;
}

/** A write that lies in the store, or lay there until somebody else built on it. */
interface Landed {
  readonly etag: ETag;
  readonly sealed: Sealed;
}

/** Of one write, whether the same bytes again or sealed anew. */
const SENDS = 3;
const SEALINGS = 8;
/** How often what landed late may have to be written once more. */
const LOOKS = 8;

/**
 * A conditional PUT whose outcome is certain, and whose key is certain not to have been retired on its way
 * (docs/protocols.md, "Sending bound").
 *
 * Where an answer was lost, or the condition failed after more than one attempt, the object is read back: a header of
 * ours means success, an unchanged base means that it may be sent again, anything else cannot be told apart from a
 * later write of somebody else. What success is known of too late is a success only once a look at the keyring has
 * shown that its key is active still; otherwise it is sealed and written again, over itself.
 *
 * @throws MemoryError `outcome_unknown` when it cannot be known whether the write landed, or is readable.
 */
export async function confirmedPut(vault: OpenVault, write: ConditionalWrite): Promise<PutOutcome> {
  let landed = await put(vault, write);
  for (let looks = 1; !('conflict' in landed); looks++) {
    const { etag, sealed } = landed;
    if (!sealed.sendBy.isPast() || (await isSealedByActiveKey(vault, sealed))) return { etag };
    if (looks === LOOKS) throw unknownOutcome();
    landed = await put(vault, { ...write, mode: { ifMatch: etag } }).catch((cause: unknown) => {
      throw unknownOutcome(cause);
    });
    // Somebody has read it and built on it, bound it to the active key, or deleted it: it was written all the same.
    if ('conflict' in landed) return { etag };
  }
  return landed;
}

/**
 * By a look that begins after the write landed. A key that is active then can only be retired by a migration that begins
 * later, and sees what was written; one that is only held may be on its way out of a pass that was too early for it.
 */
async function isSealedByActiveKey(vault: OpenVault, { bytes }: Sealed): Promise<boolean> {
  try {
    const keyring = await vault.keyrings.look({ signal: vault.signal });
    const keyId = readHeader(bytes)?.keyId;
    return keyring !== undefined && keyId !== undefined && equalBytes(keyring.keys.active.keyId, keyId);
  } catch (cause) {
    throw unknownOutcome(cause);
  }
}

async function put(
  vault: OpenVault,
  write: ConditionalWrite,
): Promise<Landed | Extract<PutOutcome, { conflict: unknown }>> {
  const sent: Sealed[] = [];
  let sealed = await sealNow(vault, write);
  for (let sends = 1, sealings = 1; ; ) {
    const answer = await send(vault, write, { sealed, mayHaveLanded: sent.length > 0 });
    if (answer !== 'too_late') {
      if (answer !== undefined && 'etag' in answer) return { etag: answer.etag, sealed };
      // After a resend, too, an earlier attempt may be what the condition met.
      if (answer !== undefined && !answer.retried && sent.length === 0) return { conflict: answer.conflict };
      sent.push(sealed);
      const found = await readBack(vault, write, sent);
      if (found !== 'base') return found;
      // What the create met, ours perhaps, has been deleted since: to create it again would undo that.
      if (write.mode === 'create' && answer !== undefined) throw unknownOutcome();
      if (sends++ === SENDS) throw unknownOutcome();
    }
    if (!sealed.sendBy.isPast()) continue;
    // Sealed anew it would be nobody's second delivery any more, and bring back unseen what was deleted meanwhile.
    if (write.mode === 'create' && sent.length > 0) throw unknownOutcome();
    if (sealings++ === SEALINGS) throw sent.length > 0 ? unknownOutcome() : neverSent();
    sealed = await sealNow(vault, write).catch((error: unknown) => {
      throw sent.length > 0 ? unknownOutcome(error) : error;
    });
  }
}

/** A process that stood still may hold keys that are too old to seal with: it loads them anew once. */
async function sealNow({ keyrings, signal }: OpenVault, write: ConditionalWrite): Promise<Sealed> {
  const sealed = (): Sealed => {
    const sendBy = keyrings.sendBy();
    return { bytes: write.seal(), sendBy };
  };
  try {
    return sealed();
  } catch (error) {
    if (!hasCode(error, 'unavailable')) throw error;
    await keyrings.load({ signal });
    return sealed();
  }
}

/** Undefined: no answer tells whether it landed. `'too_late'`: it was not sent, and certainly did not land. */
async function send(
  vault: OpenVault,
  { key, mode }: ConditionalWrite,
  given: { readonly sealed: Sealed; readonly mayHaveLanded: boolean },
): Promise<WriteResult | 'too_late' | undefined> {
  const { store, history, signal } = vault;
  const { bytes, sendBy } = given.sealed;
  const since = history.begin();
  try {
    const answer = await store.put(key, bytes, { mode, signal, sendBy });
    if ('etag' in answer) history.wrote({ key, since, version: identityOf(bytes) });
    else if (answer.conflict === 'missing') history.sawNothing({ key, since });
    return answer;
  } catch (error) {
    if (isTooLate(error)) return 'too_late';
    if (hasCode(error, 'outcome_unknown')) return undefined;
    throw given.mayHaveLanded ? unknownOutcome(error) : error;
  }
}

async function readBack(
  vault: OpenVault,
  { key, mode }: ConditionalWrite,
  sent: readonly Sealed[],
): Promise<Landed | 'base'> {
  const { store, history, signal } = vault;
  const since = history.begin();
  const found = await store.get(key, { signal }).catch((cause: unknown) => {
    throw unknownOutcome(cause);
  });
  if (found === 'not_modified') throw unknownOutcome();
  if (found === undefined) {
    history.sawNothing({ key, since });
    if (mode === 'create') return 'base';
    throw unknownOutcome();
  }
  const own = sent.find(({ bytes }) => sameHeader(found.body, bytes));
  if (own !== undefined) {
    noteOwn(vault, { key, since, version: identityOf(own.bytes) });
    return { etag: found.etag, sealed: own };
  }
  if (mode !== 'create' && found.etag === mode.ifMatch) return 'base';
  throw unknownOutcome();
}

/** Ours was there and has made way for something else: that it is there again is nobody's acknowledged write. */
function noteOwn(vault: OpenVault, sighting: Parameters<VersionHistory['saw']>[0]): void {
  try {
    vault.history.saw(sighting);
  } catch (cause) {
    throw unknownOutcome(cause);
  }
}

function unknownOutcome(cause?: unknown): MemoryError {
  return new MemoryError('outcome_unknown', 'no answer tells whether the write landed', { cause });
}

function neverSent(): MemoryError {
  return new MemoryError('unavailable', 'a write waited for too long to be sent, at every attempt');
}
