import { MemoryError } from '../../errors.ts';
import { toBase64url } from '../../format/encoding.ts';
import { classKey } from '../../format/object-keys.ts';
import { encodeText } from '../../language/text.ts';
import type { RequestOptions } from '../../store/port.ts';
import { readRecord } from '../../tree/records/sealed-record.ts';
import { openToWrite, type Tenant, type Work } from '../../tree/tenant.ts';
import { type ConversationHead, readHead, writeHead } from '../../turns/conversation-head.ts';
import { CLASS, headId } from '../../turns/conversation-id.ts';
import { LOOKS, storeAnswer } from '../../turns/turn-lease.ts';
import { type Conversation, decodeConversation, lastAnswer, MAX_CONVERSATION_BYTES } from './conversation.ts';
import { type ConversationLease, holdOn, type StoredBody } from './conversation-lease.ts';
import { encodeAnswer, type TurnAnswer } from './turn-answer.ts';

/**
 * What a turn meets. `ours`: no other turn changes the conversation until the lease ends. `carried`: the conversation
 * holds this turn already, which was answered so. `busy`: another turn works on it.
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
   * Takes the conversation for one turn, and reads it then. Only the owner of the turn's receipt may call: it takes over
   * at once what an earlier owner of the same turn held. A new conversation costs a GET and a PUT; one that is there
   * also a HEAD, and above 64 KiB a second GET.
   *
   * @throws MemoryError `integrity` where a part of it is gone; what the store and the keyring throw.
   */
  claim(conversation: string, request: ConversationRequest): Promise<ConversationClaim>;
}

const OWNER_BYTES = 16;

export function createConversations(context: Tenant): Conversations {
  return {
    async claim(conversation, { turn, leaseMs: exactMs, signal }) {
      const work = await openToWrite(context, { signal });
      const id = headId(work.keyring.names, conversation);
      for (let look = 0; look < LOOKS; look++) {
        const { head, etag: base, ageMs } = await readHead(work, id);
        const { held: former, ...stored } = head;
        if (head.turn === turn) {
          const body = await readBody(work, head);
          if (body !== undefined) return { state: 'carried', answer: lastAnswer(body.conversation) };
        }
        if (former !== undefined && former.turn !== turn && ageMs <= former.leaseMs) return { state: 'busy' };
        const owner = toBase64url(work.tenant.random(OWNER_BYTES));
        const taken = { ...stored, held: { turn, owner, leaseMs: Math.ceil(exactMs) } };
        const written = await writeHead(work, id, { head: taken, base });
        if ('conflict' in written) continue;
        const held = { id, head: taken, etag: written.etag };
        try {
          const body = await readBody(work, head);
          if (body === undefined && head.content !== undefined) {
            await refuseIfHeld(work, { id, owner });
            continue;
          }
          if (body !== undefined) await completeLast(work, body.conversation);
          return { state: 'ours', lease: holdOn(work, { ...held, body }) };
        } catch (error) {
          // What cannot be read must not keep other turns waiting. The error says more than a release that fails too.
          await holdOn(work, { ...held, body: undefined })
            .release({})
            .catch(() => {});
          throw error;
        }
      }
      throw new MemoryError('unavailable', 'the conversation was changed by others at every look');
    },
  };
}

/** Undefined: there is none, or it was replaced since its head was read. */
async function readBody(work: Work, { content }: ConversationHead): Promise<StoredBody | undefined> {
  if (content === undefined) return undefined;
  if ('text' in content) {
    const bytes = encodeText(content.text);
    return { conversation: decodeConversation(bytes), bytes: bytes.length, record: undefined };
  }
  const { record: id } = content;
  const record = await readRecord(work, { cls: CLASS, id, maxBytes: MAX_CONVERSATION_BYTES });
  if (record === undefined) return undefined;
  const { etag, content: bytes } = record;
  return { conversation: decodeConversation(bytes), bytes: bytes.length, record: { id, etag } };
}

/** No other worker removes what a head of ours names: a part of the conversation is gone. */
async function refuseIfHeld(
  work: Work,
  { id, owner }: { readonly id: string; readonly owner: string },
): Promise<void> {
  const { head } = await readHead(work, id);
  if (head.held?.owner === owner) throw new MemoryError('integrity', 'a part of the conversation is gone');
}

/**
 * The turn before may have died before it stored its answer, which only the conversation holds then: it is stored before
 * the next turn takes its place there. Without a receipt no delivery asks for it any more: expiry has taken both.
 */
async function completeLast(work: Work, conversation: Conversation): Promise<void> {
  const { store, layout } = work.tenant;
  const { turn } = conversation.last;
  const isThere = async (cls: 'answers' | 'receipts'): Promise<boolean> =>
    (await store.head(classKey(layout, cls, turn), { signal: work.call.signal })) !== undefined;
  if ((await isThere('answers')) || !(await isThere('receipts'))) return;
  await storeAnswer(work, turn, encodeAnswer(lastAnswer(conversation)));
}
