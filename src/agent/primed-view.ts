import { randomUUID } from 'node:crypto';
import type { BetaMessageParam, BetaThinkingConfigParam } from '@anthropic-ai/sdk/resources/beta';
import type { TurnTool } from './turn-tool.ts';

const VIEW = { command: 'view', path: '/memories' } as const;

/**
 * The conversation with a view of the memory directory behind the user's message, as if Claude had asked for it. It
 * stays as it is when the last message is not the user's, or when the API wants Claude's thoughts before each call
 * (`thinking` of type `enabled`).
 */
export async function primed(request: {
  readonly messages: readonly BetaMessageParam[];
  readonly tool: TurnTool;
  readonly thinking: BetaThinkingConfigParam | undefined;
  readonly signal?: AbortSignal;
}): Promise<readonly BetaMessageParam[]> {
  const { messages, tool, thinking, signal } = request;
  if (messages.at(-1)?.role !== 'user' || thinking?.type === 'enabled') return messages;
  const { isError, content } = await tool.run(VIEW, signal);
  const id = `toolu_${randomUUID().replaceAll('-', '')}`;
  return [
    ...messages,
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'memory', input: VIEW }] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: id,
          content: typeof content === 'string' ? content : [...content],
          ...(isError && { is_error: true }),
        },
      ],
    },
  ];
}
