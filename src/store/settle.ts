import { hasCode, MemoryError } from '../errors.ts';
import { sameBytes } from '../format/encoding.ts';
import type { ObjectKey } from '../format/object-keys.ts';
import {
  type ETag,
  isResentConflict,
  isTooLate,
  type ObjectStore,
  type PutMode,
  type RequestOptions,
  type SendBound,
  type WriteResult,
} from './port.ts';

/** The bytes of a write, and the bound on when they may be sent. */
export interface Body {
  readonly bytes: Uint8Array;
  readonly sendBy?: SendBound | undefined;
}

interface SettledWrite<B extends Body> extends RequestOptions {
  readonly key: ObjectKey;
  readonly mode: Exclude<PutMode, 'overwrite'>;
  /** Bytes that no other write sends: they hold a random nonce. */
  readonly body: B;
  /** Makes the body again once its bound has passed. Without it such a write ends there. */
  readonly renew?: (() => Promise<B>) | undefined;
}

/**
 * The certain end of a write. `replaced`: an answer was lost, and what is there now, if anything, is neither what was
 * sent nor what was to be replaced. The write may have been there in between.
 */
type Settled<B extends Body> =
  | { readonly etag: ETag /** The one that landed. */; readonly body: B }
  | { readonly conflict: 'exists' | 'changed' | 'missing' }
  | 'replaced';

const SENDS = 3;
const BODIES = 8;

/**
 * Sends a conditional PUT and settles a lost answer: where no answer tells whether the write landed, or the condition
 * failed after an attempt without an answer, it reads the object back. Our own bytes mean success. An unchanged base
 * means that the same bytes may be sent again, within their bound. After that the body is made again; but a create of
 * which an attempt may have landed is not, because its object may have been deleted since.
 *
 * `store` is what the write goes through, layer by layer: each request of a settled write passes a lease above the
 * store, and the tombstones of guarded deletes below it.
 *
 * @throws MemoryError `outcome_unknown` when it cannot be known whether the write landed; `unavailable` when it was
 * never sent; what the store throws where nothing was written.
 */
export async function settlePut<B extends Body>(
  store: Pick<ObjectStore, 'get' | 'put'>,
  write: SettledWrite<B>,
): Promise<Settled<B>> {
  const { mode, renew } = write;
  /** Bodies that may have landed, or may land yet. */
  const sent: B[] = [];
  let { body } = write;
  for (let sends = 1, bodies = 1; ; ) {
    const answer = await send(store, write, { body, mayHaveLanded: sent.length > 0 });
    if (answer !== 'too_late') {
      const isAnswered = typeof answer === 'object';
      if (isAnswered && 'etag' in answer) return { etag: answer.etag, body };
      // After a resend, too, an earlier attempt may be what the condition met.
      if (isAnswered && sent.length === 0) return answer;
      sent.push(body);
      const found = await readBack(store, write, sent);
      if (found !== 'base') return found;
      // The object that the create met, perhaps its own, has been deleted since: to create it again would undo that.
      if (mode === 'create' && answer !== 'no_answer') throw outcomeUnknown();
      if (sends++ === SENDS) throw outcomeUnknown();
    }
    if (renew === undefined || body.sendBy?.isPast() !== true) continue;
    if (mode === 'create' && sent.length > 0) throw outcomeUnknown();
    if (bodies++ === BODIES) throw sent.length > 0 ? outcomeUnknown() : neverSent();
    body = await renew().catch((error: unknown) => {
      throw sent.length > 0 ? outcomeUnknown(error) : error;
    });
  }
}

/** `met_condition`: the condition failed, perhaps by an earlier attempt. `too_late`: it certainly did not land. */
async function send<B extends Body>(
  store: Pick<ObjectStore, 'put'>,
  { key, mode, signal, renew }: SettledWrite<B>,
  { body, mayHaveLanded }: { readonly body: B; readonly mayHaveLanded: boolean },
): Promise<WriteResult | 'met_condition' | 'no_answer' | 'too_late'> {
  try {
    return await store.put(key, body.bytes, { mode, signal, sendBy: body.sendBy });
  } catch (error) {
    if (isResentConflict(error)) return 'met_condition';
    if (hasCode(error, 'outcome_unknown')) return 'no_answer';
    if (isTooLate(error) && renew !== undefined) return 'too_late';
    throw mayHaveLanded ? outcomeUnknown(error) : error;
  }
}

async function readBack<B extends Body>(
  store: Pick<ObjectStore, 'get'>,
  { key, mode, signal }: SettledWrite<B>,
  sent: readonly B[],
): Promise<Settled<B> | 'base'> {
  const found = await store.get(key, { signal }).catch((error: unknown) => {
    throw outcomeUnknown(error);
  });
  if (typeof found !== 'object') return mode === 'create' ? 'base' : 'replaced';
  const own = sent.find(({ bytes }) => sameBytes(bytes, found.body));
  if (own !== undefined) return { etag: found.etag, body: own };
  return mode !== 'create' && found.etag === mode.ifMatch ? 'base' : 'replaced';
}

function outcomeUnknown(cause?: unknown): MemoryError {
  return new MemoryError('outcome_unknown', 'No answer tells whether a write landed.', { cause });
}

function neverSent(): MemoryError {
  return new MemoryError('unavailable', 'A write waited for too long to be sent, at every attempt.');
}
