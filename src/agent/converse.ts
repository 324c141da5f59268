import type { BetaToolRunnerParams } from '@anthropic-ai/sdk/lib/tools/BetaToolRunner';
import type { BetaMessage } from '@anthropic-ai/sdk/resources/beta';
import { isApiWord, ReplyCut } from './api-failure.ts';
import { isUnfinished, type Progress, stepBehind, takeReply } from './turn-progress.ts';
import type { ReplyStream, TurnRequest } from './turn-request.ts';
import type { TurnTool } from './turn-tool.ts';

/**
 * Runs the SDK's loop from where the turn is to its end, until the memory is `down`, or until it is told to stop. Where the
 * turn is then stands in `progress`.
 *
 * @throws ReplyCut when a reply began and did not arrive whole; what the client threw when it did not begin.
 */
export async function converse(turn: {
  readonly request: TurnRequest;
  readonly maxRequests: number;
  readonly digest: string;
  readonly params: Omit<BetaToolRunnerParams, 'messages' | 'tools'>;
  readonly tool: TurnTool;
  readonly progress: Progress;
  readonly down: () => unknown;
}): Promise<'ended' | 'down' | 'stopped'> {
  const { request, maxRequests, digest, params, tool, progress, down } = turn;
  const runner = request.client.beta.messages.toolRunner(
    {
      ...params,
      messages: [...progress.messages],
      tools: [tool.tool, ...(request.tools ?? [])],
      max_iterations: maxRequests - progress.usage.requests,
      stream: true,
      thread: false,
    },
    request.signal && { signal: request.signal },
  );
  for await (const stream of runner) {
    progress.messages = runner.params.messages;
    progress.usage = { ...progress.usage, requests: progress.usage.requests + 1 };
    const reply = await wholeReply(stream, request.onText);
    request.onReply?.(reply, stream.request_id ?? undefined);
    takeReply(progress, reply);
    const results = reply.stop_reason === 'tool_use' ? await runner.generateToolResponse() : null;
    if (down()) return 'down';
    if (!isUnfinished(reply)) continue;
    const step = { ...stepBehind(progress, reply, results), digest, touches: tool.touches() };
    if ((await request.onStep?.(step)) === 'stop') {
      progress.messages = step.messages;
      return 'stopped';
    }
  }
  progress.messages = runner.params.messages;
  return 'ended';
}

async function wholeReply(stream: ReplyStream, onText: TurnRequest['onText']): Promise<BetaMessage> {
  let began = false;
  stream.on('connect', () => {
    began = true;
  });
  if (onText) stream.on('text', (delta) => onText(delta));
  return stream.finalMessage().catch((error: unknown) => {
    throw began && !isApiWord(error) ? new ReplyCut(error) : error;
  });
}
