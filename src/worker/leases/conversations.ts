import { MemoryError } from '../../errors.ts';
import { classKey } from '../../format/object-keys.ts';
import { encodeText } from '../../language/text.ts';
import type { RequestOptions } from '../../store/port.ts';
import { attempts, throwing } from '../../tree/concurrency.ts';
import { readRecord } from '../../tree/records/sealed-record.ts';
import { MOST_ATTEMPTS } from '../../tree/records/update-record.ts';
import { openToWrite, type Tenant, type Work } from '../../tree/tenant.ts';
import { type ConversationHead, NO_HEAD, readHead } from '../../turns/conversation-head.ts';
import { headId } from '../../turns/conversation-id.ts';
import { encodeAnswer, type TurnAnswer } from '../turn/turn-answer.ts';
import { type Conversation, decodeConversation, lastAnswer, MAX_CONVERSATION_BYTES } from './conversation.ts';
import {
  CONVERSATION_HEAD,
  type ConversationLease,
  leaseConversation,
  type StoredBody,
  type TakenConversation,
} from './conversation-lease.ts';
import {
  type LeasedRecord,
  type LeasedVersion,
  newLease,
  remainingMs,
  type Take,
  takeLeased,
} from './leased-record.ts';
import { storeAnswer } from './turn-lease.ts';

/**
 * The state of a conversation for a turn. `ours`: no other turn changes the conversation until the lease ends.
 * `carried`: the conversation holds this turn already, with this answer. `busy`: another turn works on it.
 */
export type ConversationClaim =
  | { readonly state: 'ours'; readonly lease: ConversationLease }
  | { readonly state: 'carried'; readonly answer: TurnAnswer }
  | { readonly state: 'busy' };

interface ConversationRequest extends RequestOptions {
  /** The name of the turn, as its receipt has it. */
  readonly turn: string;
  readonly leaseMs: number;
}

/** The sealed conversations of one tenant. */
export interface Conversations {
  /**
   * Takes the conversation for one turn, and then reads it. Only the owner of the turn's receipt may call: it takes
   * over at once the hold of an earlier owner of the same turn. A new conversation costs a GET and a PUT; an existing
   * one also a HEAD, and above 64 KiB a second GET.
   *
   * @throws MemoryError `integrity` where a part of it is gone; the errors of the store and the keyring.
   */
  claim(conversation: string, request: ConversationRequest): Promise<ConversationClaim>;
}

export function createConversations(tenant: Tenant): Conversations {
  return {
    async claim(conversation, request) {
      const work = await openToWrite(tenant, { signal: request.signal });
      const id = headId(work.keyring.names, conversation);
      const overtaken = throwing('unavailable', 'the conversation was changed by others at every look');
      return attempts(MOST_ATTEMPTS, () => takeConversation(work, id, request), overtaken);
    },
  };
}

type TakeHead = Take<TakenConversation['head'], Exclude<ConversationClaim, { readonly state: 'ours' }>>;

/** Takes a conversation, whose body may be replaced meanwhile: then all begins again. */
async function takeConversation(
  work: Work,
  id: string,
  { turn, leaseMs }: ConversationRequest,
): Promise<ConversationClaim | 'again'> {
  const take = async (found: LeasedVersion<ConversationHead> | undefined): Promise<TakeHead> => {
    const { held: former, ...stored } = found?.content ?? NO_HEAD;
    const body = stored.turn === turn ? await readBody(work, stored) : undefined;
    if (body !== undefined) return { ended: { state: 'carried', answer: lastAnswer(body.conversation) } };
    const isHeld = found !== undefined && remainingMs(former, found.ageMs) !== undefined;
    if (isHeld && former?.turn !== turn) return { ended: { state: 'busy' } };
    return { content: { ...stored, held: { turn, ...newLease(work, leaseMs) } } };
  };
  const overtaken = (): 'again' => 'again';
  const taken = await takeLeased(work, { kind: CONVERSATION_HEAD, id, most: 1, overtaken }, take);
  if (taken === 'again') return taken;
  if ('ended' in taken) return taken.ended;
  const { taken: head, etag } = taken;
  const leased = { id, owner: head.held.owner, etag };
  try {
    const body = await readBody(work, head);
    if (body === undefined && head.content !== undefined) {
      await refuseIfHeld(work, leased);
      return 'again';
    }
    if (body !== undefined) await completeLast(work, body.conversation);
    return { state: 'ours', lease: leaseConversation(work, { leased, head, body }) };
  } catch (error) {
    // A conversation that cannot be read is left to other turns at once. Its error says more than that of a release
    // which fails too.
    await leaseConversation(work, { leased, head, body: undefined })
      .release({})
      .catch(() => {});
    throw error;
  }
}

/**
 * Reads the body that a head names; undefined where there is none, or where it was replaced since the head was read.
 */
async function readBody(work: Work, { content }: ConversationHead): Promise<StoredBody | undefined> {
  if (content === undefined) return undefined;
  if ('text' in content) {
    const bytes = encodeText(content.text);
    return { conversation: decodeConversation(bytes), bytes: bytes.length, record: undefined };
  }
  const { record: id } = content;
  const record = await readRecord(work, { cls: 'conversations', id, maxBytes: MAX_CONVERSATION_BYTES });
  if (record === undefined) return undefined;
  const { etag, content: bytes } = record;
  return { conversation: decodeConversation(bytes), bytes: bytes.length, record: { id, etag } };
}

/**
 * @throws MemoryError `integrity` where the head is ours: no other worker removes what it names, so a part of the
 * conversation is gone.
 */
async function refuseIfHeld(work: Work, { id, owner }: Pick<LeasedRecord, 'id' | 'owner'>): Promise<void> {
  const head = await readHead(work, id);
  if (head.held?.owner === owner) throw new MemoryError('integrity', 'a part of the conversation is gone');
}

/**
 * Stores the answer of the turn before, where that turn died before it did so: only the conversation then holds the
 * answer, and the next turn is about to take its place there. Without a receipt no delivery asks for the answer any
 * more: expiry has taken both.
 */
async function completeLast(work: Work, conversation: Conversation): Promise<void> {
  const { store, layout } = work.tenant;
  const { turn } = conversation.last;
  const isThere = async (cls: 'answers' | 'receipts'): Promise<boolean> =>
    (await store.head(classKey(layout, cls, turn), { signal: work.call.signal })) !== undefined;
  if ((await isThere('answers')) || !(await isThere('receipts'))) return;
  await storeAnswer(work, turn, encodeAnswer(lastAnswer(conversation)));
}
