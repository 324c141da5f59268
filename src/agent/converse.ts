import { randomBytes } from 'node:crypto';
import type { BetaToolRunnerParams } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import type {
  BetaMessage,
  BetaMessageParam,
  BetaRawMessageStreamEvent,
} from '@anthropic-ai/sdk/resources/beta';
import { inTime } from '../time.ts';
import { isApiWord, ReplyCut } from './api-failure.ts';
import { endSilence } from './silence.ts';
import { meaningOf } from './stop-reasons.ts';
import { addCut } from './turn-outcome.ts';
import {
  isUnfinished,
  type PendingReply,
  stepAfter,
  type TurnProgress,
  type TurnState,
  takeReply,
  takeWords,
  wordsBefore,
} from './turn-progress.ts';
import type { ReplyStream, TurnRequest, TurnRunner } from './turn-request.ts';
import { type TurnTool, writesOf } from './turn-tool.ts';

/** Bytes of the key of a reply. */
const KEY_BYTES = 16;

/**
 * Runs the SDK's loop from `progress` to the end of the turn, until the memory is `down`, until `onStep` stops it, or
 * until the conversation `isFull`. It leaves the state of the turn in `progress`. A progress after the last reply that
 * the turn may have is its end.
 *
 * @throws ReplyCut when a reply began and did not arrive whole, also where nothing of it came for a minute; the
 * client's error when it did not begin.
 */
export async function converse(turn: {
  readonly request: TurnRequest;
  readonly maxRequests: number;
  readonly digest: string;
  readonly params: Omit<BetaToolRunnerParams, 'messages' | 'tools'>;
  readonly tool: TurnTool;
  readonly progress: TurnState;
  readonly down: () => unknown;
  /** Tells whether the conversation is too long with a reply and the results of its calls. */
  readonly isFull: (reply: BetaMessage, results: BetaMessageParam | null) => boolean;
}): Promise<'ended' | 'down' | 'stopped' | 'full'> {
  const { request, maxRequests, digest, params, tool, progress, down, isFull } = turn;
  const isSpent = (): boolean => progress.usage.requests >= maxRequests;
  const { pending } = progress;
  if (pending === undefined && progress.reply && isSpent()) return 'ended';
  const runner = openRunner(request, {
    ...params,
    messages: progress.messages,
    tool,
    // The runner takes 0 for no limit.
    max_iterations: Math.max(1, maxRequests - progress.usage.requests),
  });
  /** Goes on after a reply whose tools have run. */
  const goOn = async (
    reply: BetaMessage,
    results: BetaMessageParam | null,
  ): Promise<'down' | 'stopped' | 'full' | undefined> => {
    tellToolUses(reply, results, request.onToolUse);
    if (down()) return 'down';
    if (!isUnfinished(reply)) return undefined;
    const step = {
      ...stepAfter(progress, reply, results),
      digest,
      touches: tool.touches(),
      ...(isSpent() && { reply, text: progress.text }),
    };
    const isStopped = (await answerTo(step, request)) === 'stop';
    if (!isStopped && !isFull(reply, results)) return undefined;
    progress.messages = step.messages;
    progress.pending = undefined;
    return isStopped ? 'stopped' : 'full';
  };
  if (pending !== undefined) {
    takeWords(progress, pending.reply);
    tool.begin(pending, tool.touches());
    const results = await runner.generateToolResponse();
    const end = await goOn(pending.reply, results);
    if (end !== undefined) return end;
    if (results !== null) runner.pushMessages(results);
    progress.messages = runner.params.messages;
    progress.pending = undefined;
    if (isSpent()) return 'ended';
  }
  for await (const stream of runner) {
    progress.messages = runner.params.messages;
    progress.usage = { ...progress.usage, requests: progress.usage.requests + 1 };
    holdMemoryCalls(stream, runner);
    const reply = await wholeReply(stream, {
      ...(request.onText && { onText: request.onText }),
      onCut(begun, characters) {
        progress.usage = addCut(progress.usage, begun, characters);
      },
    });
    request.onReply?.(reply, stream.request_id ?? undefined);
    const text = wordsBefore(progress);
    takeReply(progress, reply);
    const isCalling = meaningOf(reply).asks === 'results';
    if (isCalling && request.onStep && writesOf(reply.content).length > 0) {
      const kept = drawPending(reply);
      tool.begin(kept);
      const { messages, usage } = progress;
      const step = { messages, text, usage, digest, touches: tool.touches(), pending: kept };
      if ((await answerTo(step, request)) === 'stop') return 'stopped';
    }
    const end = await goOn(reply, isCalling ? await runner.generateToolResponse() : null);
    if (end !== undefined) return end;
  }
  progress.messages = runner.params.messages;
  return 'ended';
}

/** Opens the SDK's loop on these messages. */
export function openRunner(
  request: TurnRequest,
  {
    messages,
    tool,
    silenceMs,
    ...params
  }: Omit<BetaToolRunnerParams, 'messages' | 'tools'> & {
    readonly messages: readonly BetaMessageParam[];
    readonly tool: TurnTool;
    /** The longest time in which nothing of a reply comes, in milliseconds; a minute unless given. */
    readonly silenceMs?: number;
  },
): TurnRunner {
  return request.client.beta.messages.toolRunner(
    {
      ...params,
      messages: [...messages],
      tools: [tool.tool, ...(request.tools ?? [])],
      stream: true,
      thread: false,
      runToolsEagerly: request.runToolsEagerly ?? false,
    },
    {
      middleware: [endSilence(silenceMs)],
      ...(request.signal && { signal: request.signal }),
      ...(request.maxRetries !== undefined && { maxRetries: request.maxRetries }),
    },
  );
}

/** Holds the calls of the memory until the reply is whole: an edit of a reply that is cut would be made twice. */
function holdMemoryCalls(stream: ReplyStream, runner: TurnRunner): void {
  stream.on('streamEvent', (event) => {
    if (event.type !== 'content_block_start') return;
    const { content_block: block } = event;
    if (block.type === 'tool_use' && block.name === 'memory') runner.deferToolCall(block.id);
  });
}

function drawPending(reply: BetaMessage): PendingReply {
  return { reply, key: randomBytes(KEY_BYTES).toString('base64url'), since: Date.now() };
}

/**
 * Asks the host whether the turn goes on, as it does where the host fails or gives no answer in time. The signal cuts
 * nothing off, because the host may be saving the step.
 */
export async function answerTo(
  step: TurnProgress,
  { onStep }: Pick<TurnRequest, 'onStep'>,
): Promise<unknown> {
  return onStep && inTime<unknown>(() => onStep(step), { late: () => new Error() }).catch(() => {});
}

/** Tells of the calls of a reply that have a result. */
function tellToolUses(
  { content }: BetaMessage,
  results: BetaMessageParam | null,
  onToolUse: TurnRequest['onToolUse'],
): void {
  if (!onToolUse || typeof results?.content !== 'object') return;
  const failures = new Map(
    results.content.flatMap((block) =>
      block.type === 'tool_result' ? [[block.tool_use_id, block.is_error === true]] : [],
    ),
  );
  for (const block of content) {
    if (block.type !== 'tool_use') continue;
    const isFailure = failures.get(block.id);
    if (isFailure !== undefined) onToolUse({ name: block.name, outcome: isFailure ? 'error' : 'ok' });
  }
}

/** Waits for a whole reply. @throws as `converse`. */
export async function wholeReply(
  stream: ReplyStream,
  {
    onText,
    onCut,
  }: {
    readonly onText?: TurnRequest['onText'];
    /**
     * Hears of a reply that did not arrive whole: the part of it that the API has told, and how many characters came.
     */
    readonly onCut: (begun: BetaMessage, characters: number) => void;
  },
): Promise<BetaMessage> {
  let [began, characters] = [false, 0];
  let begun: BetaMessage | undefined;
  stream.on('connect', () => {
    began = true;
  });
  if (onText) stream.on('text', (delta) => onText(delta));
  stream.on('streamEvent', (event, snapshot) => {
    begun = snapshot;
    characters += charactersOf(event);
  });
  try {
    return await stream.finalMessage();
  } catch (error) {
    if (begun !== undefined) onCut(begun, characters);
    throw began && !isApiWord(error) ? new ReplyCut(error) : error;
  }
}

/** Counts the characters of words, thoughts and calls. */
function charactersOf(event: BetaRawMessageStreamEvent): number {
  if (event.type !== 'content_block_delta') return 0;
  const { delta } = event;
  if (delta.type === 'text_delta') return delta.text.length;
  if (delta.type === 'thinking_delta') return delta.thinking.length;
  return delta.type === 'input_json_delta' ? delta.partial_json.length : 0;
}
