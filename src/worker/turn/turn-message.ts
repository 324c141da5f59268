import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { MemoryError } from '../../errors.ts';
import { parseTenantId, type TenantId } from '../../format/object-keys.ts';
import { sealedSize } from '../../format/sizes.ts';

/** The forms of an answer: its words, all of it, or nothing but its outcome. */
export type AnswerForm = 'text' | 'full' | 'none';

const ANSWER_FORMS: readonly unknown[] = ['text', 'full', 'none'] satisfies readonly AnswerForm[];

/** One message for one tenant, as a queue or a caller delivers it. */
export interface TurnMessage {
  readonly tenant: TenantId;
  /** The caller's unique id of the turn, 1–256 characters: the same id is the same turn. */
  readonly turn: string;
  /** The caller's id of the stored conversation that the turn goes on with, 1–256 characters. */
  readonly conversation?: string;
  /** The messages; empty where the prompt is sealed. */
  readonly messages: readonly BetaMessageParam[];
  /** The digest of these messages, as the answer that they come from gave it. */
  readonly digest?: string;
  /** The prompt, as `sealPrompt` gave it. */
  readonly sealedPrompt?: string;
  readonly system?: string;
  readonly model?: string;
  readonly maxTokens?: number;
  /** The form of the answer for a caller that waits: the text, unless `full`, or `none` for the outcome alone. */
  readonly answer?: AnswerForm;
}

const FIELDS: readonly string[] = [
  ...['tenant', 'turn', 'conversation', 'messages', 'digest', 'prompt', 'sealedPrompt'],
  ...['system', 'model', 'maxTokens', 'answer'],
];
const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'system']);
const MAX_ID_CHARACTERS = 256;
/** The beginning of the text whose hash names the count of the tokens of a day (docs/format.md, Records). */
const NAME_OF_COUNT = '["tokens",';
/** The bytes below which a message carries its sealed prompt itself. */
export const SEALED_INLINE_BYTES = 65_536;
/** The word in place of a sealed prompt that lies in the store, under the name to which it is bound. */
export const STORED_PROMPT = 'stored';
const MAX_SEALED_CHARACTERS = Math.ceil((sealedSize(SEALED_INLINE_BYTES) * 4) / 3);
const MAX_MODEL_CHARACTERS = 200;
const MAX_DIGEST_CHARACTERS = 100;
const MOST_TOKENS = 1_000_000;

/** Makes the text that two deliveries of one turn have in common: everything that Claude is asked. */
export function fingerprintOf({ messages, system, model, maxTokens, conversation }: TurnMessage): string {
  const asked = [messages, system, model, maxTokens];
  return JSON.stringify(conversation === undefined ? asked : [...asked, conversation]);
}

/**
 * Parses the JSON text of a turn.
 *
 * @throws MemoryError `invalid_command` for any other text.
 */
export function parseTurnText(text: string): TurnMessage {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refused('the message is not JSON');
  }
  return parseTurnMessage(value);
}

/**
 * Parses a turn. Exactly one of `messages`, `prompt` and `sealedPrompt` is given. Claude's API judges the content of
 * the messages.
 *
 * @throws MemoryError `invalid_command`; its message names the field and what was expected, never the value.
 */
export function parseTurnMessage(value: unknown): TurnMessage {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refused('the message is not a JSON object');
  }
  const fields: Readonly<Record<string, unknown>> = { ...value };
  if (Object.keys(fields).some((name) => !FIELDS.includes(name))) {
    throw refused(`the message has other fields than ${FIELDS.join(', ')}`);
  }
  const { conversation, digest, sealedPrompt, system, model, maxTokens, answer } = fields;
  if (!isAnswerForm(answer)) throw refused('answer must be text, full or none');
  if (conversation !== undefined && fields['messages'] !== undefined) {
    throw refused('a stored conversation takes a prompt, no messages');
  }
  if (digest !== undefined && fields['messages'] === undefined) throw refused('a digest goes with messages');
  return {
    tenant: readTenant(fields['tenant']),
    turn: readTurn(fields['turn']),
    messages: readMessages(fields),
    ...(sealedPrompt !== undefined && {
      sealedPrompt: readText('sealedPrompt', sealedPrompt, MAX_SEALED_CHARACTERS),
    }),
    ...(conversation !== undefined && {
      conversation: readText('conversation', conversation, MAX_ID_CHARACTERS),
    }),
    ...(digest !== undefined && { digest: readText('digest', digest, MAX_DIGEST_CHARACTERS) }),
    ...(system !== undefined && { system: readText('system', system, Number.POSITIVE_INFINITY) }),
    ...(model !== undefined && { model: readText('model', model, MAX_MODEL_CHARACTERS) }),
    ...(maxTokens !== undefined && { maxTokens: readTokens(maxTokens) }),
    ...(answer !== undefined && { answer }),
  };
}

function isAnswerForm(value: unknown): value is AnswerForm | undefined {
  return value === undefined || ANSWER_FORMS.includes(value);
}

function readTenant(value: unknown): TenantId {
  try {
    return parseTenantId(value as string);
  } catch {
    throw refused('tenant must match [a-z0-9][a-z0-9-]{0,62}');
  }
}

/**
 * Reads the id of a turn. It names an actor, and half of a surrogate pair has no bytes that tell it from others. It names
 * the receipt, too, among which the count of the tokens of each day lies.
 */
function readTurn(value: unknown): string {
  const turn = readText('turn', value, MAX_ID_CHARACTERS);
  if (!turn.isWellFormed()) throw refused('turn must be well-formed Unicode');
  if (turn.startsWith(NAME_OF_COUNT)) throw refused(`turn must not begin with ${NAME_OF_COUNT}`);
  return turn;
}

function readText(name: string, value: unknown, longest: number): string {
  if (typeof value === 'string' && value.length > 0 && value.length <= longest) return value;
  const limit = Number.isFinite(longest) ? ` of at most ${longest} characters` : '';
  throw refused(`${name} must be a text${limit}, and not empty`);
}

function readTokens(value: unknown): number {
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MOST_TOKENS) {
    return value as number;
  }
  throw refused(`maxTokens must be a whole number from 1 to ${MOST_TOKENS}`);
}

function readMessages({
  messages,
  prompt,
  sealedPrompt,
}: Readonly<Record<string, unknown>>): readonly BetaMessageParam[] {
  if ([messages, prompt, sealedPrompt].filter((given) => given !== undefined).length !== 1) {
    throw refused('exactly one of messages, prompt and sealedPrompt must be given');
  }
  if (sealedPrompt !== undefined) return [];
  if (prompt !== undefined) {
    return [{ role: 'user', content: readText('prompt', prompt, Number.POSITIVE_INFINITY) }];
  }
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isMessage)) {
    throw refused('messages must be a list of messages, each with a role and a content');
  }
  if (messages.findLast(({ role }) => role !== 'system')?.role !== 'user') {
    throw refused("the last message must be the user's, but for system messages after it");
  }
  return messages;
}

function isMessage(value: unknown): value is BetaMessageParam {
  if (typeof value !== 'object' || value === null) return false;
  const { role, content } = value as { readonly role?: unknown; readonly content?: unknown };
  return ROLES.has(role) && (typeof content === 'string' || Array.isArray(content));
}

function refused(message: string): MemoryError {
  return new MemoryError('invalid_command', message);
}
