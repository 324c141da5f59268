import type { BetaToolRunnerParams } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import type { BetaMessage, BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { describeFailure, errorCodeOf, isThoughtRefusal } from './api-failure.ts';
import { ON_DEMAND_BETA, type OnDemand } from './context-management.ts';
import { withoutThoughts } from './conversation-digest.ts';
import { openRunner, wholeReply } from './converse.ts';
import { lacksOf, refusedFeatures } from './model-features.ts';
import { addCut, addReply, type CompactionFailure } from './turn-outcome.ts';
import { leadingSummary, type TurnProgress, type TurnState } from './turn-progress.ts';
import type { TurnRequest } from './turn-request.ts';
import type { TurnTool } from './turn-tool.ts';

/** The summaries on demand of one turn. */
interface Compactor {
  /** Tells whether the conversation is to be summarised before Claude is asked again. */
  isDue(): boolean;
  /** Judges the conversation with a reply and the results of its calls; true where it is to be summarised. */
  judge(reply: BetaMessage, results: BetaMessageParam | null): boolean;
  /**
   * Summarises the conversation in `progress`, with the parameters of the turn's other requests; undefined where no
   * summary was made.
   *
   * @throws the client's error where the signal fired, and where the API refused thoughts or the prompt cache, as it
   * would without a summary: that is still due then.
   */
  compact(params: Omit<BetaToolRunnerParams, 'messages' | 'tools'>): Promise<TurnProgress | undefined>;
  failure(): CompactionFailure | undefined;
}

/** The least bound on a summary and the thoughts before it, in tokens: a bound for short replies would cut it. */
const SUMMARY_TOKENS = 8_192;
/** The longest time in which nothing of a summary comes, in milliseconds: it arrives whole. */
const LONGEST_SILENCE_MS = 300_000;
/** The bytes that count as one token; in most texts a token has more. */
const BYTES_PER_TOKEN = 3;
/** From this length on, in characters, a text of Base64 alone is an image or a signature. */
const LEAST_BASE64 = 200;
/** A character that is none of Base64. To look for one takes no stack, however long the text is. */
const NO_BASE64 = /[^\w+/=-]/;

export function createCompactor(
  wanted: OnDemand | undefined,
  turn: {
    readonly request: TurnRequest;
    readonly maxRequests: number;
    readonly digest: string;
    readonly tool: TurnTool;
    readonly progress: TurnState;
  },
): Compactor {
  const { request, maxRequests, digest, tool, progress } = turn;
  const lacks = lacksOf(request.client, request.model);
  const bound = wanted?.triggerTokens ?? Number.POSITIVE_INFINITY;
  let failure: CompactionFailure | undefined;
  let isFull = wanted !== undefined && estimate(progress.messages) >= bound;
  const fail = (code: string, requestId: string | null | undefined): undefined => {
    failure = { code, requestId: requestId ?? undefined };
  };
  const isDue = (): boolean => isFull && failure === undefined && !lacks.has('compaction');
  return {
    isDue,
    judge(reply, results) {
      isFull = results !== null && sizeOf(reply) + estimate(results) >= bound;
      return isDue();
    },
    async compact(params) {
      isFull = false;
      const { messages, usage } = progress;
      const at = cutOf(messages);
      // A summary is of use where another request may follow it.
      if (at === 0 || usage.requests + 2 > maxRequests) return undefined;
      const { context_management: _, ...kept } = params;
      const runner = openRunner(request, {
        ...kept,
        betas: [...new Set([...(kept.betas ?? []), ON_DEMAND_BETA])],
        max_tokens: Math.max(kept.max_tokens, SUMMARY_TOKENS),
        messages: messages.slice(0, at),
        tool,
        silenceMs: LONGEST_SILENCE_MS,
      });
      const { instructions } = wanted ?? {};
      runner.compactBeforeNextTurn({
        type: 'summarize',
        ...(instructions !== undefined && { instructions }),
      });
      try {
        for await (const stream of runner) {
          progress.usage = { ...usage, requests: usage.requests + 1 };
          const reply = await wholeReply(stream, {
            onCut(begun, characters) {
              progress.usage = addCut(progress.usage, begun, characters);
            },
          });
          request.onReply?.(reply, stream.request_id ?? undefined);
          progress.usage = addReply(progress.usage, reply);
          if (!reply.content.some((block) => block.type === 'compaction' && block.content)) {
            return fail(reply.stop_reason ?? 'unknown', stream.request_id);
          }
          progress.messages = [{ role: 'assistant', content: reply.content }, ...messages.slice(at)];
          const { messages: next, usage: spent } = progress;
          return { messages: next, text: '', usage: spent, digest, touches: tool.touches() };
        }
      } catch (error) {
        isFull = isThoughtRefusal(error) || refusedFeatures(error, ['cache_control']).length > 0;
        if (isFull || request.signal?.aborted) throw error;
        const { code, requestId } = describeFailure(error);
        const own = errorCodeOf(error);
        if (typeof own === 'string') return fail(own, requestId);
        if (code !== 'invalid_request_error') return fail(code, requestId);
        // Client or model lacks it, and the API refused the request before Claude read it.
        lacks.add('compaction');
        progress.usage = usage;
      }
      return undefined;
    },
    failure: () => failure,
  };
}

/**
 * Counts the messages that a summary replaces: all but the user's last words, which stay as they are. Results of calls
 * are summarised with their calls. None where Claude has said nothing but an earlier summary, or is not done.
 */
function cutOf(messages: readonly BetaMessageParam[]): number {
  const behind = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  const isSummaryAlone = behind === 1 && leadingSummary(messages) !== undefined;
  if (behind === messages.length || isSummaryAlone) return 0;
  const holdsResults = messages
    .slice(behind)
    .some(({ content }) => typeof content === 'object' && content.some(({ type }) => type === 'tool_result'));
  return holdsResults ? messages.length : behind;
}

/** Counts the tokens of the conversation with this reply, those included that the API cleared. */
function sizeOf({ usage, context_management: managed }: BetaMessage): number {
  const last = usage.iterations?.findLast(({ type }) => type === 'message') ?? usage;
  const cleared = (managed?.applied_edits ?? []).map((edit) => edit.cleared_input_tokens);
  const counts = [last.input_tokens, last.output_tokens, last.cache_read_input_tokens, ...cleared];
  return counts.reduce<number>((sum, count) => sum + (count ?? 0), last.cache_creation_input_tokens ?? 0);
}

/** Estimates the tokens of messages, rather too many than too few. Those of an image do not follow from its length. */
function estimate(messages: unknown): number {
  const text = JSON.stringify(messages, (_key, value: unknown) =>
    typeof value === 'string' && value.length >= LEAST_BASE64 && !NO_BASE64.test(value) ? '' : value,
  );
  return Buffer.byteLength(text) / BYTES_PER_TOKEN;
}

/**
 * Answers the conversation with its summary on demand as words of the user's, for an API that has none. The thoughts
 * after it, which Claude signed over it, are left out.
 */
export function withPlainSummary(messages: readonly BetaMessageParam[]): readonly BetaMessageParam[] {
  const summary = leadingSummary(messages);
  const [first, ...others] = messages;
  if (summary === undefined || typeof first?.content !== 'object') return messages;
  const rest = first.content.slice(1);
  return withoutThoughts([
    { role: 'user', content: `${summary.content}` },
    ...(rest.length > 0 ? [{ role: 'assistant' as const, content: rest }] : []),
    ...others,
  ]);
}
