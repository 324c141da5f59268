import { MemoryError, unlessDamaged } from '../../errors.ts';
import { fromBase64url, toBase64url } from '../../format/encoding.ts';
import { equalBytes } from '../../format/sodium.ts';
import { encodeText } from '../../language/text.ts';
import { openTenant } from '../../open/open-memory.ts';
import type { MemoryOptions } from '../../open/options/options.ts';
import type { RequestOptions } from '../../store/port.ts';
import { DAY_MS } from '../../time.ts';
import { openRecord, readRecord, sealRecord, writeRecord } from '../../tree/records/sealed-record.ts';
import { openToWrite, refuseWriting, type Tenant, type Work } from '../../tree/tenant.ts';
import { promptId } from '../../turns/conversation-id.ts';
import { parsePrompt } from '../../turns/turn-records.ts';
import { MAX_CONVERSATION_BYTES } from '../leases/conversation.ts';
import { parseTurnMessage, SEALED_INLINE_BYTES, STORED_PROMPT, type TurnMessage } from './turn-message.ts';

/** A prompt, and the one turn that it is for: names of the caller's, 1–256 characters each. */
export interface PromptRequest {
  readonly turn: string;
  readonly conversation?: string | undefined;
  /** A text of at most 16 MiB, not empty. */
  readonly prompt: string;
}

/** A message for the worker in which nobody can read the prompt. More fields may be added to it, such as `model`. */
export interface SealedTurn {
  readonly tenant: string;
  readonly turn: string;
  readonly conversation?: string;
  readonly sealedPrompt: string;
}

/** Seals the prompts of one tenant. */
export interface PromptSealer extends AsyncDisposable {
  /**
   * Seals the prompt under the tenant's keys, bound to tenant, conversation and turn: it opens only in a message for
   * these, and only for 14 days from now. Below 64 KiB the message carries it; a larger one is first put into the
   * store, where expiry deletes it after 30 days.
   *
   * @throws MemoryError `invalid_command` for a malformed name or prompt; `limit_exceeded`; `already_exists` where
   * another large prompt was sealed for the same turn; the errors of the store and the keyring.
   */
  seal(request: PromptRequest, options?: RequestOptions): Promise<SealedTurn>;
  close(): Promise<void>;
}

/**
 * The time for which a prompt opens (milliseconds). Queues keep a message for at most as long, and a receipt is kept
 * for a day more at least: a reader of the message who sends it again later is refused, and one who does so earlier is
 * answered from the receipt.
 */
const OPENS_FOR_MS = 14 * DAY_MS;
/** The most by which the time of sealing may be ahead of the store (milliseconds). */
const CLOCK_SKEW_MS = DAY_MS / 2;

/**
 * Opens a sealer, for a sender of many messages.
 *
 * @throws MemoryError `misconfigured` when an option is missing, unknown or malformed.
 */
export async function openPromptSealer(options: MemoryOptions): Promise<PromptSealer> {
  const { parts, close } = await openTenant(options);
  const { context } = parts;
  return {
    async seal({ turn, conversation, prompt }, { signal } = {}) {
      const { tenant } = context.layout;
      const named = { tenant, turn, ...(conversation !== undefined && { conversation }) };
      parseTurnMessage({ ...named, prompt });
      // Its encoding would be another text.
      if (!prompt.isWellFormed()) throw new MemoryError('invalid_command', 'prompt is no well-formed text');
      refuseWriting(context);
      const work = await openToWrite(context, { signal });
      return { ...named, sealedPrompt: await sealOne(work, { turn, conversation, prompt }) };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * Seals one prompt; a sender of many opens an `openPromptSealer` once.
 *
 * @throws MemoryError as `openPromptSealer`, and as its `seal`.
 */
export async function sealPrompt(options: MemoryOptions, request: PromptRequest): Promise<SealedTurn> {
  await using sealer = await openPromptSealer(options);
  return await sealer.seal(request);
}

async function sealOne(work: Work, { prompt, ...named }: PromptRequest): Promise<string> {
  const content = encodeText(prompt);
  const name = { cls: 'conversations', id: promptId(work.keyring.names, named) } as const;
  if (content.length < SEALED_INLINE_BYTES) return toBase64url(sealRecord(work, name, content));
  if (content.length > MAX_CONVERSATION_BYTES) {
    throw new MemoryError('limit_exceeded', 'The prompt is larger than a conversation may be.', {
      details: { limit: 'conversation_bytes', value: content.length, max: MAX_CONVERSATION_BYTES },
    });
  }
  const written = await writeRecord(work, name, { content, base: undefined });
  if ('etag' in written) return STORED_PROMPT;
  const stored = await readRecord(work, { ...name, maxBytes: MAX_CONVERSATION_BYTES });
  if (stored !== undefined && equalBytes(stored.content, content)) return STORED_PROMPT;
  throw new MemoryError('already_exists', 'Another prompt was sealed for the turn.');
}

/**
 * Answers the message with its prompt, which was sealed for exactly this turn. `refused`: it was sealed for another turn
 * or by somebody else, more than 14 days ago, or is no longer in the store. Whoever may send a message can send such a
 * one, so that it tells nothing of the store.
 *
 * @throws MemoryError `integrity` where the store's own object is not what was sealed at its place; `invalid_command`
 * where the message holds no sealed prompt; the errors of the store and the keyring.
 */
export async function openPrompt(
  context: Tenant,
  { sealedPrompt, ...message }: TurnMessage,
  { signal }: RequestOptions,
): Promise<TurnMessage | 'refused'> {
  if (sealedPrompt === undefined) return message;
  const work = await openToWrite(context, { signal });
  const name = { cls: 'conversations', id: promptId(work.keyring.names, message) } as const;
  const opened =
    sealedPrompt === STORED_PROMPT
      ? await readRecord(work, { ...name, maxBytes: MAX_CONVERSATION_BYTES })
      : await unlessDamaged(openRecord(work, name, decodeSealed(sealedPrompt)));
  if (opened === undefined) return 'refused';
  const ageMs = context.stamps.storeTime() - opened.mtime;
  if (ageMs > OPENS_FOR_MS || ageMs < -CLOCK_SKEW_MS) return 'refused';
  const prompt = parsePrompt(opened.content);
  return { ...message, messages: [{ role: 'user', content: prompt }] };
}

function decodeSealed(text: string): Uint8Array {
  const bytes = fromBase64url(text);
  if (bytes !== undefined) return bytes;
  throw new MemoryError('invalid_command', 'sealedPrompt is no base64url');
}
