import type { BetaToolRunnerParams } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import type { BetaMessage, BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import type { Memory, MemoryToolProps } from '../tool/memory-tool.ts';
import { describeFailure, isApiWord, ReplyCut } from './api-failure.ts';
import { conversationDigest, onBasis } from './conversation-digest.ts';
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
import { isUnfinished, type Progress, stepBehind, type TurnProgress, takeReply } from './turn-progress.ts';
import {
  type ContextManagement,
  type MessagesClient,
  manageContext,
  type PromptAdditions,
  type ReplyStream,
  type SystemPrompt,
  toolErrorOf,
  withAdditions,
} from './turn-request.ts';
import { type CommandReport, createTurnTool, primed, type TurnTool } from './turn-tool.ts';

/** Parameters of the request that a turn leaves alone, such as `thinking`, `metadata` or `cache_control`. */
export type RequestExtras = Omit<
  BetaToolRunnerParams,
  | 'model'
  | 'messages'
  | 'max_tokens'
  | 'system'
  | 'tools'
  | 'context_management'
  | 'stream'
  | 'thread'
  | 'max_iterations'
  | 'runToolsEagerly'
>;

export interface TurnRequest {
  readonly client: MessagesClient;
  readonly memory: Pick<Memory, 'execute'>;
  readonly model: string;
  /** The conversation so far; its last message is what Claude answers. */
  readonly messages: readonly BetaMessageParam[];
  /** Of these messages, as the turn before gave it with them; absent: the prompts are taken to be the same. */
  readonly digest?: string;
  /**
   * Where the digest says that the system prompt or the tools have changed, which makes Claude's thoughts in the messages
   * invalid: `fail` (`conversation_changed`, before Claude is asked) by default, or `drop_thinking`, which goes on
   * without these thoughts.
   */
  readonly whenPromptsChange?: 'fail' | 'drop_thinking';
  /** Of each reply; 8,192 by default. */
  readonly maxTokens?: number;
  readonly system?: SystemPrompt;
  /** Ends the turn: requests to the API, the client's pauses before it repeats one, and every access to the store. */
  readonly signal?: AbortSignal;
  readonly contextManagement?: ContextManagement | false;
  /** Puts a view of the memory directory into the first request, which saves the request Claude would make for it. */
  readonly prime?: boolean;
  readonly prompts?: PromptAdditions;
  /** Further tools. They have to obey the signal of their context, or the turn waits for them. */
  readonly tools?: BetaToolRunnerParams['tools'];
  /** Of the memory tool's definition, such as `cache_control`. */
  readonly toolProps?: MemoryToolProps;
  /** Replies of one turn; 64 by default. */
  readonly maxRequests?: number;
  /** By default a turn ends when the memory itself does not work; `go_on` lets Claude answer without it. */
  readonly whenMemoryFails?: 'stop' | 'go_on';
  readonly extras?: RequestExtras;
  /** Where an earlier run of the same turn was interrupted, as its `onStep` was told. */
  readonly from?: TurnProgress;
  /**
   * Called after each reply of Claude's that is not the last, when its tools have run. What it keeps is enough for another
   * process to go on. `stop` ends the turn there.
   */
  readonly onStep?: (progress: TurnProgress) => Promise<'go_on' | 'stop'>;
  readonly onCommand?: (report: CommandReport) => void;
  /** `requestId` is what the API calls the request. */
  readonly onReply?: (reply: BetaMessage, requestId: string | undefined) => void;
}

const MAX_TOKENS = 8192;
const MAX_REQUESTS = 64;
/** How often one turn asks again for a reply that was cut: the client repeats only what was never answered. */
const CUTS = 2;

/**
 * Lets Claude work on a message with the memory and the tools until it stops asking for tools. Every request carries
 * the whole conversation; nothing is left on the API's side.
 *
 * How it ended is the value: it rejects only for options that make no request (`MemoryError` `misconfigured`).
 */
export async function runTurn(request: TurnRequest): Promise<TurnOutcome> {
  const { signal, from } = request;
  const digest = conversationDigest(request);
  const given = { messages: request.messages, digest: request.digest ?? digest };
  const messages = onBasis(digest, from ?? request, request.whenPromptsChange);
  const { text = '', usage = NO_USAGE } = from ?? {};
  if (messages === 'changed') return { ...conversationChanged(), ...given, usage };
  const progress: Progress = { messages, text, usage, reply: undefined };
  const params = paramsOf(request);
  const tool = createTurnTool({
    ...request,
    toolError: await toolErrorOf(request.client),
    props: request.toolProps,
  });
  const finish = (ending: TurnEnding): TurnOutcome => ({
    ...ending,
    ...(ending.outcome === 'refused' ? given : { messages: resendable(progress.messages), digest }),
    usage: progress.usage,
  });
  for (let cuts = 0; ; cuts += 1) {
    try {
      if (signal?.aborted) return finish(interruption(signal));
      if (request.prime && progress.usage.requests === 0) {
        progress.messages = await primed({ ...request, messages, thinking: request.extras?.thinking, tool });
      }
      const down = request.whenMemoryFails === 'go_on' ? () => undefined : tool.failure;
      const end = down() ? 'down' : await converse({ request, digest, params, tool, progress, down });
      if (end === 'stopped') return finish({ outcome: 'interrupted', by: 'stopped' });
      const failure = down();
      if (failure) return finish(signal?.aborted ? interruption(signal) : memoryFailure(failure));
      if (!progress.reply) throw new Error('The tool runner ended without a reply.');
      return finish(endingOf(progress.reply, progress.text));
    } catch (error) {
      if (signal?.aborted) return finish(interruption(signal));
      const isLast = cuts === CUTS || progress.usage.requests >= limitOf(request);
      if (!(error instanceof ReplyCut) || isLast) {
        const { code, retry, retryAfterMs, requestId } = describeFailure(error);
        return finish({ outcome: 'failed', source: 'api', code, retry, retryAfterMs, requestId, error });
      }
    }
  }
}

/** Runs the SDK's loop from where the turn is to its end, until the memory is `down`, or until it is told to stop. */
async function converse(turn: {
  readonly request: TurnRequest;
  readonly digest: string;
  readonly params: Omit<BetaToolRunnerParams, 'messages' | 'tools'>;
  readonly tool: TurnTool;
  readonly progress: Progress;
  readonly down: () => unknown;
}): Promise<'ended' | 'down' | 'stopped'> {
  const { request, digest, params, tool, progress, down } = turn;
  const runner = request.client.beta.messages.toolRunner(
    {
      ...params,
      messages: [...progress.messages],
      tools: [tool.tool, ...(request.tools ?? [])],
      max_iterations: limitOf(request) - progress.usage.requests,
      stream: true,
      thread: false,
    },
    request.signal && { signal: request.signal },
  );
  for await (const stream of runner) {
    progress.messages = runner.params.messages;
    progress.usage = { ...progress.usage, requests: progress.usage.requests + 1 };
    const reply = await wholeReply(stream);
    request.onReply?.(reply, stream.request_id ?? undefined);
    takeReply(progress, reply);
    const results = reply.stop_reason === 'tool_use' ? await runner.generateToolResponse() : null;
    if (down()) return 'down';
    if (!isUnfinished(reply)) continue;
    const step = { ...stepBehind(progress, reply, results), digest };
    if ((await request.onStep?.(step)) === 'stop') {
      progress.messages = step.messages;
      return 'stopped';
    }
  }
  progress.messages = runner.params.messages;
  return 'ended';
}

/** @throws ReplyCut when the reply began and did not arrive whole; what the client threw when it did not begin. */
async function wholeReply(stream: ReplyStream): Promise<BetaMessage> {
  let began = false;
  stream.on('connect', () => {
    began = true;
  });
  return stream.finalMessage().catch((error: unknown) => {
    throw began && !isApiWord(error) ? new ReplyCut(error) : error;
  });
}

function limitOf({ maxRequests = MAX_REQUESTS }: TurnRequest): number {
  return Math.max(1, maxRequests);
}

function paramsOf(request: TurnRequest): Omit<BetaToolRunnerParams, 'messages' | 'tools'> {
  const { model, messages, maxTokens = MAX_TOKENS, extras } = request;
  const system = withAdditions(request.system, request.prompts ?? {});
  const context = manageContext(request.contextManagement, messages);
  const betas = [...new Set([...(extras?.betas ?? []), ...context.betas])];
  return {
    ...extras,
    model,
    max_tokens: maxTokens,
    ...(system !== undefined && { system }),
    ...(context.config && { context_management: context.config }),
    ...(betas.length > 0 && { betas }),
  };
}
