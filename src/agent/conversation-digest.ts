import { createHash } from 'node:crypto';
import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { isThought } from './resendable.ts';
import { type PromptAdditions, type SystemPrompt, withAdditions } from './turn-request.ts';

/** What stands before the first message of a conversation, and makes Claude's thoughts valid in it. */
export interface ConversationBasis {
  readonly system?: SystemPrompt;
  readonly prompts?: PromptAdditions;
  /** Of the memory tool's definition. */
  readonly toolProps?: object;
  /** The further tools, in their order. */
  readonly tools?: readonly object[];
}

/**
 * Stands for the system prompt, its additions and the definitions of the tools, in their order: a caller that keeps a
 * conversation keeps the digest beside it, and hands both to the next turn (`messages` and `digest` of `runTurn`, which
 * gives both back). Claude signs its thoughts over all of these, and the API refuses a thought whose basis has changed.
 * Marks of the prompt cache are no part of it, as for the API; the model is none either.
 *
 * 43 characters of base64url. It is no secret's hash: who knows the prompts knows the digest, so keep it sealed as the
 * conversation is.
 */
export function conversationDigest({
  system,
  prompts = {},
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

/** Whether the API would check the basis of this conversation. */
function holdsThoughts(messages: readonly BetaMessageParam[]): boolean {
  return messages.some(({ content }) => typeof content === 'object' && content.some(isThought));
}

/**
 * The conversation without Claude's thoughts, which is valid on any basis. All of them go: a thought between others that
 * were left out would be refused too.
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
 * The messages as they are valid on the basis that this digest stands for; `changed` where thoughts in them were thought
 * on another one, and stay. Messages without a digest are taken as they are.
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
