import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { MemoryError } from '../../errors.ts';
import { toBase64url } from '../../format/encoding.ts';
import { classKey } from '../../format/object-keys.ts';
import { decodeText } from '../../language/text.ts';
import type { ETag, RequestOptions } from '../../store/port.ts';
import { createAges, DAY_MS } from '../../time.ts';
import { deleteObjects } from '../../tree/confirmed-put.ts';
import { writeRecord } from '../../tree/records/sealed-record.ts';
import { renewed, type Work } from '../../tree/tenant.ts';
import { type ConversationHead, encodeHead, HEAD_BYTES, parseHead } from '../../turns/conversation-head.ts';
import { bodyId } from '../../turns/conversation-id.ts';
import type { StoredText } from '../../turns/turn-records.ts';
import { toldFailure } from '../json-log.ts';
import type { TurnAnswer } from '../turn/turn-answer.ts';
import {
  type Conversation,
  conversationAfter,
  encodeConversation,
  lastAnswer,
  MAX_CONVERSATION_BYTES,
} from './conversation.ts';
import { type LeasedKind, type LeasedRecord, replaceLeased } from './leased-record.ts';

/** The heads of conversations, each of which one turn at a time may change. */
export const CONVERSATION_HEAD: LeasedKind<ConversationHead> = {
  cls: 'conversations',
  maxBytes: HEAD_BYTES,
  decode: parseHead,
  leaseIn: ({ held }) => held,
};

/** The right to add one turn to a conversation. */
export interface ConversationLease {
  /** The number of turns in the conversation: a text made on another number of them is out of date. */
  readonly version: number;
  readonly messages: readonly BetaMessageParam[];
  /** The name of the turn that was stored last, as its receipt has it; undefined where none was. */
  readonly lastTurn: string | undefined;
  /** The digest of the prompts that make these messages valid; undefined where it is not known. */
  readonly digest: string | undefined;
  /** The bytes of the conversation as stored, without its head. */
  readonly bytes: number;
  /**
   * Stores the conversation with the turn in it, which began after the first `from` of the answer's messages; answers
   * the answer with only the messages that the turn added. `taken_over`: the lease ran out, and another turn has the
   * conversation; `too_large`: it stays as it was. It runs without a signal, so that Claude's words are kept.
   */
  keep(from: number, answer: TurnAnswer): Promise<TurnAnswer | 'taken_over' | 'too_large'>;
  /** Leaves the conversation as it is to the next turn; with `heldMs`, to this one alone for that many milliseconds. */
  release(request: RequestOptions & { readonly heldMs?: number }): Promise<void>;
}

/** A conversation as it was read. */
export interface StoredBody {
  readonly conversation: Conversation;
  readonly bytes: number;
  /** The record of the body, where it has one of its own. */
  readonly record: BodyRecord | undefined;
}

interface BodyRecord {
  readonly id: string;
  readonly etag: ETag;
}

/** A conversation that a turn has taken, as it was then. */
export interface TakenConversation {
  readonly leased: LeasedRecord;
  readonly head: ConversationHead & Required<Pick<ConversationHead, 'held'>>;
  readonly body: StoredBody | undefined;
}

const BODY_ID_BYTES = 12;
/** The longest time from before a body is written until the head that names it is sent (milliseconds). */
const NAMED_WITHIN_MS = DAY_MS / 2;
/** The most bytes that a hold adds to a head. */
const HOLD_BYTES = 1_024;

export function leaseConversation(begun: Work, { leased, head, body }: TakenConversation): ConversationLease {
  const { held: hold, ...stored } = head;
  const { conversation, bytes = 0, record } = body ?? {};
  const own = { kind: CONVERSATION_HEAD, leased };
  return {
    version: stored.version,
    messages: conversation?.messages ?? [],
    lastTurn: conversation?.last.turn,
    digest: conversation?.last.answer.digest,
    bytes,
    async keep(from, answer) {
      const next = conversationAfter(from, { turn: hold.turn, answer });
      const encoded = encodeConversation(next);
      if (encoded.length > MAX_CONVERSATION_BYTES) return 'too_large';
      const behind = { version: stored.version + 1, turn: hold.turn };
      const work = await renewed(begun, {});
      const check = nameable(work);
      const { content, record: made } = await storeBody(work, { id: leased.id, head: behind, encoded });
      const etag = await replaceLeased(work, own, { next: { ...behind, content }, check });
      const idle = etag === undefined ? made : record;
      if (idle !== undefined) await removeBody(work, idle);
      return etag === undefined ? 'taken_over' : lastAnswer(next);
    },
    // After `keep` the version in `leased` is outdated, so that a release changes nothing.
    async release({ heldMs, signal }) {
      const next =
        heldMs === undefined ? stored : { ...stored, held: { ...hold, leaseMs: Math.ceil(heldMs) } };
      await replaceLeased(await renewed(begun, { signal }), own, { next });
    },
  };
}

/** Stores the body: in the head where it fits, else in a record of its own, which no other writer writes. */
async function storeBody(
  work: Work,
  given: { readonly id: string; readonly head: ConversationHead; readonly encoded: Uint8Array },
): Promise<{ readonly content: StoredText; readonly record?: BodyRecord }> {
  const { id: head, encoded } = given;
  const content = { text: decodeText(encoded) ?? '' };
  const inline = (): number => encodeHead({ ...given.head, content }).length;
  if (encoded.length < HEAD_BYTES && inline() <= HEAD_BYTES - HOLD_BYTES) return { content };
  const id = bodyId(head, toBase64url(work.tenant.random(BODY_ID_BYTES)));
  const written = await writeRecord(
    work,
    { cls: 'conversations', id },
    { content: encoded, base: undefined },
  );
  if ('etag' in written) return { content: { record: id }, record: { id, etag: written.etag } };
  throw new MemoryError('unavailable', 'another record has the name of a new conversation');
}

/**
 * Makes the check that a body may still be named. Expiry deletes a body that heads have not named for a day: after a
 * process stood still, its head must not name one any more.
 */
function nameable({ tenant }: Work): () => void {
  const bound = createAges(tenant).boundIn(NAMED_WITHIN_MS);
  return () => {
    if (bound.isPast()) {
      throw new MemoryError('unavailable', 'The process stood still while it stored a conversation.');
    }
  };
}

/** Removes a body that no head names; one that cannot be removed now is left to the expiry, with a warning. */
async function removeBody(work: Work, { id, etag }: BodyRecord): Promise<void> {
  const key = classKey(work.tenant.layout, 'conversations', id);
  await deleteObjects(work, [{ key, ifMatch: etag }]).catch((error: unknown) => {
    work.tenant.logger.warn(
      'a part of a conversation that is not used any more was left',
      toldFailure(error),
    );
  });
}
