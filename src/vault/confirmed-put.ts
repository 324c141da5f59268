import { MemoryError } from '../errors.ts';
import type { ETag, ObjectKey, PutMode, WriteResult } from '../objects/object-store.ts';
import { sameHeader } from '../sealing/header.ts';
import type { OpenVault } from './context.ts';

/** What is certain after a conditional PUT. */
export type PutOutcome = { readonly etag: ETag } | { readonly conflict: 'exists' | 'changed' | 'missing' };

export interface ConditionalWrite {
  readonly key: ObjectKey;
  readonly sealed: Uint8Array;
  readonly mode: Exclude<PutMode, 'overwrite'>;
}

const RESENDS = 2;

/**
 * A conditional PUT whose outcome is certain. Where an answer was lost, or the condition failed after more than one
 * attempt, the object is read back: our own header means success, an unchanged base means that the identical bytes
 * may be sent again, anything else cannot be told apart from a later write of somebody else.
 *
 * @throws MemoryError `outcome_unknown` when it cannot be known whether the write landed.
 */
export async function confirmedPut(vault: OpenVault, write: ConditionalWrite): Promise<PutOutcome> {
  for (let resends = 0; ; resends++) {
    const answer = await send(vault, write, resends > 0);
    if (answer !== undefined && 'etag' in answer) return answer;
    // After a resend, too, an earlier attempt may be what the condition met.
    if (answer !== undefined && !answer.retried && resends === 0) return { conflict: answer.conflict };

    const found = await readBack(vault, write);
    if (found !== 'base') return found;
    if (resends === RESENDS) throw unknownOutcome();
  }
}

/** Undefined: no answer tells whether it landed. */
async function send(
  vault: OpenVault,
  write: ConditionalWrite,
  mayHaveLanded: boolean,
): Promise<WriteResult | undefined> {
  try {
    return await vault.store.put(write.key, write.sealed, { mode: write.mode, signal: vault.signal });
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'outcome_unknown') return undefined;
    throw mayHaveLanded ? unknownOutcome(error) : error;
  }
}

async function readBack(
  vault: OpenVault,
  write: ConditionalWrite,
): Promise<{ readonly etag: ETag } | 'base'> {
  const { store, signal } = vault;
  const found = await store.get(write.key, { signal }).catch((cause: unknown) => {
    throw unknownOutcome(cause);
  });
  if (found === 'not_modified') throw unknownOutcome();
  if (found === undefined) {
    if (write.mode === 'create') return 'base';
    throw unknownOutcome();
  }
  if (sameHeader(found.body, write.sealed)) return { etag: found.etag };
  if (write.mode !== 'create' && found.etag === write.mode.ifMatch) return 'base';
  throw unknownOutcome();
}

function unknownOutcome(cause?: unknown): MemoryError {
  return new MemoryError('outcome_unknown', 'no answer tells whether the write landed', { cause });
}
