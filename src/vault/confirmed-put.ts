import { MemoryError } from '../errors.ts';
import type { ETag, ObjectKey, PutMode, WriteResult } from '../objects/object-store.ts';
import { sameHeader } from '../sealing/header.ts';
import type { OpenVault } from './context.ts';
import { identityOf, type VersionHistory } from './version-history.ts';

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
  const { store, history, signal } = vault;
  const { key, sealed, mode } = write;
  const since = history.begin();
  try {
    const answer = await store.put(key, sealed, { mode, signal });
    if ('etag' in answer) history.wrote({ key, since, version: identityOf(sealed) });
    else if (answer.conflict === 'missing') history.sawNothing({ key, since });
    return answer;
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'outcome_unknown') return undefined;
    throw mayHaveLanded ? unknownOutcome(error) : error;
  }
}

async function readBack(
  vault: OpenVault,
  write: ConditionalWrite,
): Promise<{ readonly etag: ETag } | 'base'> {
  const { store, history, signal } = vault;
  const { key, sealed, mode } = write;
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
  if (sameHeader(found.body, sealed)) {
    noteOwn(vault, { key, since, version: identityOf(sealed) });
    return { etag: found.etag };
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
