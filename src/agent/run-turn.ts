import type { BetaToolRunnerParams } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { heard } from '../listeners.ts';
import { NO_TOUCHES } from '../tree/touches.ts';
import { describeFailure, isThoughtRefusal, ReplyCut } from './api-failure.ts';
import { createCompactor, withPlainSummary } from './compaction.ts';
import {
  type ContextEdit,
  editsOf,
  manageContext,
  ON_DEMAND_BETA,
  onDemandOf,
} from './context-management.ts';
import { conversationDigest, onBasis, withoutThoughts } from './conversation-digest.ts';
import { answerTo, converse } from './converse.ts';
import { lacksOf, type ModelFeature, refusedFeatures } from './model-features.ts';
import { resendable } from './resendable.ts';
import {
  conversationChanged,
  endingOf,
  interruption,
  memoryFailure,
  NO_USAGE,
  type TurnEnding,
  type TurnOutcome,
} from './turn-outcome.ts';
import { messagesOf, type TurnProgress, type TurnState } from './turn-progress.ts';
import { type TurnRequest, toolErrorOf, withAdditions } from './turn-request.ts';
import { createTurnTool, primed } from './turn-tool.ts';

/** The most tokens of one reply, unless a request says otherwise. */
export const MAX_TOKENS = 16_000;
const MAX_REQUESTS = 64;
/**
 * The most times that one turn asks again for a reply that was cut: the client itself repeats only requests that were
 * never answered.
 */
const CUTS = 2;
/** The message that the documentation of stop reasons advises where Claude ends its turn without a word. */
const CONTINUE: BetaMessageParam = { role: 'user', content: 'Please continue.' };

/**
 * Lets Claude work on a message with the memory and the tools until it stops asking for tools. Every request carries
 * the whole conversation; the API's side keeps none of it.
 *
 * The value tells how the turn ended: it rejects only for options that make no request (`MemoryError` `misconfigured`).
 */
export async function runTurn(request: TurnRequest): Promise<TurnOutcome> {
  return runHeardTurn(withHeardListeners(request));
}

/** Wraps the listeners of a turn, whose failures change nothing. */
function withHeardListeners(request: TurnRequest): TurnRequest {
  const { onCommand, onReply, onText, onToolUse } = request;
  return {
    ...request,
    ...(onCommand && { onCommand: heard(onCommand) }),
    ...(onReply && { onReply: heard(onReply) }),
    ...(onText && { onText: heard(onText) }),
    ...(onToolUse && { onToolUse: heard(onToolUse) }),
  };
}

async function runHeardTurn(request: TurnRequest): Promise<TurnOutcome> {
  const { signal, resumeFrom: from } = request;
  const digest = conversationDigest(request);
  const given = { messages: request.messages, digest: request.digest ?? digest };
  const basis = from ? { ...from, messages: messagesOf(from) } : request;
  const messages = onBasis(digest, basis, request.whenPromptsChange);
  const { text = '', usage = NO_USAGE, touches = NO_TOUCHES } = from ?? {};
  if (messages === 'changed') return { ...conversationChanged(), ...given, usage, touches };
  const progress: TurnState = { messages, text, usage, reply: from?.reply, pending: from?.pending };
  const edits = editsOf(request.contextManagement);
  const tool = createTurnTool({
    ...request,
    toolError: await toolErrorOf(request.client),
    props: request.toolProps,
    touches,
  });
  const onDemand = onDemandOf(request.contextManagement, messages);
  const compactor = createCompactor(onDemand, {
    request,
    maxRequests: limitOf(request),
    digest,
    tool,
    progress,
  });
  const down = request.whenMemoryFails === 'go_on' ? () => undefined : tool.failure;
  const finish = (ending: TurnEnding, said = progress.messages): TurnOutcome => {
    const compactionFailure = compactor.failure();
    return {
      ...ending,
      ...(ending.outcome === 'refused' ? given : { messages: resendable(said), digest }),
      usage: progress.usage,
      touches: tool.touches(),
      ...(compactionFailure && { compactionFailure }),
    };
  };
  const mayAskAgain = createSecondChances(request, progress);
  let primes = request.prime === true && usage.requests === 0;
  let wordless: readonly BetaMessageParam[] | undefined;
  for (;;) {
    if (lacksOf(request.client, request.model).has('compaction')) {
      progress.messages = withPlainSummary(progress.messages);
    }
    const { params, asked } = paramsOf(request, {
      edits,
      messages: progress.messages,
      isOnDemand: onDemand !== undefined,
    });
    try {
      if (signal?.aborted) return finish(interruption(signal));
      if (compactor.isDue()) {
        const step = await compactor.compact(params);
        if (step === undefined || (await answerTo(step, request)) !== 'stop') continue;
        return finish({ outcome: 'interrupted', by: 'stopped' });
      }
      if (primes) {
        primes = false;
        const thinking = request.extras?.thinking;
        progress.messages = await primed({ ...request, messages: progress.messages, thinking, tool });
      }
      const end = down()
        ? 'down'
        : await converse({
            request,
            maxRequests: limitOf(request),
            digest,
            params,
            tool,
            progress,
            down,
            isFull: (reply, results) => compactor.judge(reply, results),
          });
      if (end === 'full') continue;
      if (end === 'stopped') return finish({ outcome: 'interrupted', by: 'stopped' });
      const failure = down();
      if (failure) return finish(signal?.aborted ? interruption(signal) : memoryFailure(failure));
      if (!progress.reply) throw new Error('The tool runner ended without a reply.');
      const ending = endingOf(progress.reply, progress.text);
      const isWordless = ending.outcome === 'truncated' && ending.by === 'wordless';
      if (!isWordless || wordless || progress.usage.requests >= limitOf(request)) {
        return finish(ending, isWordless ? wordless : undefined);
      }
      wordless = resendable(progress.messages);
      progress.messages = [...wordless, CONTINUE];
    } catch (error) {
      if (signal?.aborted) return finish(interruption(signal));
      if (mayAskAgain(error, asked)) continue;
      const { code, retry, retryAfterMs, requestId } = describeFailure(error);
      if (isThoughtRefusal(error)) return finish(conversationChanged(error, requestId));
      return finish({ outcome: 'failed', source: 'api', code, retry, retryAfterMs, requestId, error });
    }
  }
}

/**
 * Makes the function that decides whether the same turn is asked once more after this error: for a reply that was cut;
 * without a feature that the model lacks, which is remembered; without the thoughts that the API refused, where these
 * may be dropped.
 */
function createSecondChances(
  request: TurnRequest,
  progress: TurnState,
): (error: unknown, asked: readonly ModelFeature[]) => boolean {
  let cuts = 0;
  let isWithoutThoughts = request.whenPromptsChange !== 'drop_thinking';
  return (error, asked) => {
    if (error instanceof ReplyCut) {
      cuts += 1;
      return cuts <= CUTS && progress.usage.requests < limitOf(request);
    }
    const refused = refusedFeatures(error, asked);
    const lacks = lacksOf(request.client, request.model);
    for (const feature of refused) lacks.add(feature);
    const dropsThoughts = isThoughtRefusal(error) && !isWithoutThoughts;
    if (dropsThoughts) {
      isWithoutThoughts = true;
      progress.messages = withoutThoughts(progress.messages);
    }
    if (refused.length === 0 && !dropsThoughts) return false;
    // The API refused the request before Claude read it, so it counts as none.
    progress.usage = { ...progress.usage, requests: progress.usage.requests - 1 };
    return true;
  };
}

function limitOf({ maxRequests = MAX_REQUESTS }: Pick<TurnRequest, 'maxRequests'>): number {
  return Math.max(1, maxRequests);
}

/** Tells whether a turn that goes on from there has had its most requests, and asks Claude nothing. */
export function asksNothing(turn: Pick<TurnRequest, 'maxRequests'>, from: TurnProgress | undefined): boolean {
  const last = from?.reply ?? from?.pending;
  return from !== undefined && last !== undefined && from.usage.requests >= limitOf(turn);
}

/** Makes the request without its conversation and tools, and names the features in it that the model may lack. */
function paramsOf(
  request: TurnRequest,
  context: {
    readonly edits: readonly ContextEdit[];
    readonly messages: readonly BetaMessageParam[];
    readonly isOnDemand: boolean;
  },
): {
  readonly params: Omit<BetaToolRunnerParams, 'messages' | 'tools'>;
  readonly asked: readonly ModelFeature[];
} {
  const { client, model, maxTokens = MAX_TOKENS, effort, extras } = request;
  const system = withAdditions(request.system, request.systemAdditions ?? {});
  const lacks = lacksOf(client, model);
  const managed = manageContext(context.edits, { ...context, lacks });
  const betas = [...new Set([...(extras?.betas ?? []), ...managed.betas])];
  const isCached = extras?.cache_control === undefined && !lacks.has('cache_control');
  const asked: ModelFeature[] = (managed.config?.edits ?? []).map(({ type }) => type);
  if (managed.betas.includes(ON_DEMAND_BETA)) asked.push('compaction');
  return {
    asked: isCached ? [...asked, 'cache_control'] : asked,
    params: {
      ...(isCached && { cache_control: { type: 'ephemeral' } }),
      ...extras,
      model,
      max_tokens: maxTokens,
      ...(effort !== undefined && { output_config: { ...extras?.output_config, effort } }),
      ...(system !== undefined && { system }),
      ...(managed.config && { context_management: managed.config }),
      ...(betas.length > 0 && { betas }),
    },
  };
}
