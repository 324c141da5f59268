import { createHash } from 'node:crypto';
import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { isThought } from './resendable.ts';
import { type SystemAdditions, type SystemPrompt, withAdditions } from './turn-request.ts';

/** The parts of a request before the first message of a conversation, over which Claude signs its thoughts in it. */
export interface ConversationBasis {
  readonly system?: SystemPrompt;
  readonly systemAdditions?: SystemAdditions;
  /** Further fields of the memory tool's definition. */
  readonly toolProps?: object;
  /** The further tools, in their order. */
  readonly tools?: readonly object[];
}

/**
 * Computes the digest of the system prompt, its additions and the definitions of the tools, in their order: a caller
 * that keeps a conversation keeps the digest beside it, and hands both to the next turn (`messages` and `digest` of
 * `runTurn`, which gives both back). Claude signs its thoughts over all of these, and the API refuses a thought whose
 * basis has changed. The digest leaves out marks of the prompt cache, as the API does, and the model.
 *
 * 43 characters of base64url. The prompts alone determine the digest, and it protects no secret: keep it sealed as the
 * conversation is.
 */
export function conversationDigest({
  system,
  systemAdditions: prompts = {},
  toolProps,
  tools = [],
}: ConversationBasis): string {
  const said = withAdditions(system, prompts);
  const basis = [
    typeof said === 'object' ? said.map(withoutCacheMark) : (said ?? ''),
    ...[{ ...toolProps, type: 'memory_20250818', name: 'memory' }, ...tools].map(withoutCacheMark),
  ];
  return createHash('sha256').update(JSON.stringify(basis)).digest('base64url');
}

function withoutCacheMark(part: object): object {
  const { cache_control: _, ...rest } = part as { readonly cache_control?: unknown };
  return rest;
}

/** Tells whether this conversation holds thoughts, so that the API would check its basis. */
function holdsThoughts(messages: readonly BetaMessageParam[]): boolean {
  return messages.some(({ content }) => typeof content === 'object' && content.some(isThought));
}

/**
 * Answers the conversation without any of Claude's thoughts, which is valid on any basis: the API would also refuse a
 * thought whose neighbours were left out.
 */
export function withoutThoughts(messages: readonly BetaMessageParam[]): readonly BetaMessageParam[] {
  return messages.flatMap((message): readonly BetaMessageParam[] => {
    const { role, content } = message;
    if (role !== 'assistant' || typeof content === 'string' || !content.some(isThought)) return [message];
    const left = content.filter((block) => !isThought(block));
    return left.length > 0 ? [{ ...message, content: left }] : [];
  });
}

/**
 * Answers the messages as they are valid on the basis of this digest; `changed` where Claude had thoughts in them on
 * another basis, which may not be dropped. Messages without a digest are taken as they are.
 */
export function onBasis(
  digest: string,
  given: { readonly messages: readonly BetaMessageParam[]; readonly digest?: string },
  whenPromptsChange: 'fail' | 'drop_thinking' = 'fail',
): readonly BetaMessageParam[] | 'changed' {
  const { messages, digest: before = digest } = given;
  if (before === digest || !holdsThoughts(messages)) return messages;
  return whenPromptsChange === 'drop_thinking' ? withoutThoughts(messages) : 'changed';
}
