import { anthropic, createAnthropic } from '@ai-sdk/anthropic';
import { convertToModelMessages, generateText, isStepCount, streamText, type UIMessage } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { expect, it } from 'vitest';
import { memoryFunctionTool, memoryTool } from '../../../src/hosts/ai-sdk.ts';
import { memoryToolDefinition as definition } from '../../../src/language/schema.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { describeToolHost } from '../../contracts/tool-host.ts';
import { commands, type PlayedClaude, playClaude } from '../../stage/scripted-claude.ts';
import { readByClaude } from './read-by-claude.ts';

const model = ({ url }: PlayedClaude) =>
  createAnthropic({ apiKey: 'none', baseURL: `${url}/v1` })('claude-sonnet-5-5');

describeToolHost('the AI SDK, with Claude', {
  marksErrors: true,
  async play(memory, turns, { signal } = {}) {
    await using claude = await playClaude([...turns.map((turn) => commands(...turn)), { say: 'Done.' }]);
    const { text } = await generateText({
      model: model(claude),
      tools: { memory: memoryTool(memory) },
      prompt: 'Go on.',
      stopWhen: isStepCount(turns.length + 1),
      maxRetries: 0,
      ...(signal && { abortSignal: signal }),
    });
    expect(text).toBe('Done.');
    return readByClaude(claude, { marksErrors: true });
  },
});

const open = (): Promise<Memory> =>
  openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(7) });

it("is to the provider what the provider's own tool is, with the same beta", async () => {
  await using memory = await open();
  const { id, type, args, isProviderExecuted } = anthropic.tools.memory_20250818({});
  expect(memoryTool(memory)).toMatchObject({ id, type, args, isProviderExecuted });
  await using claude = await playClaude([{ say: 'Done.' }]);
  await generateText({ model: model(claude), tools: { memory: memoryTool(memory) }, prompt: 'Go on.' });
  expect(claude.sent[0]?.body['tools']).toEqual([{ type: 'memory_20250818', name: 'memory' }]);
  expect(claude.sent[0]?.headers['anthropic-beta']).toContain('context-management-2025-06-27');
});

it('keeps what Claude read word for word, also in a conversation that a browser kept', async () => {
  await using memory = await open();
  await memory.files.write('/memories/dot.gif', new TextEncoder().encode('GIF89a'));
  const tools = { memory: memoryTool(memory) };
  await using claude = await playClaude([
    commands({ command: 'delete', path: '/memories' }, { command: 'view', path: '/memories/dot.gif' }),
    { say: 'Once.' },
    { say: 'Twice.' },
  ]);
  const options = { model: model(claude), tools, stopWhen: isStepCount(3) };
  const stream = streamText({ ...options, prompt: 'Go on.' });
  const kept: UIMessage[] = [];
  await stream
    .toUIMessageStream({ onEnd: ({ messages }) => void kept.push(...messages) })
    .pipeTo(new WritableStream());
  const sentBack = JSON.parse(JSON.stringify(kept)) as UIMessage[];
  const { text } = await generateText({
    ...options,
    messages: [
      { role: 'user', content: 'Go on.' },
      ...(await convertToModelMessages(sentBack, { tools })),
      { role: 'user', content: 'And now?' },
    ],
  });
  expect(text).toBe('Twice.');
  const [, live, again] = claude.sent.map(({ body }) => body.messages[2]);
  expect(live).toEqual(again);
  expect(live).toHaveProperty('content.0', {
    type: 'tool_result',
    tool_use_id: expect.any(String),
    content: 'Error: Cannot delete the /memories directory itself',
    is_error: true,
  });
});

it('says to any other model what the commands are and which fields they take', async () => {
  await using memory = await open();
  const call = (input: object) => ({
    type: 'tool-call' as const,
    toolCallId: 'call_1',
    toolName: 'memory',
    input: JSON.stringify(input),
  });
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const other = new MockLanguageModelV4({
    doGenerate: [
      {
        content: [call({ command: 'create', path: '/memories/a', file_text: 'x' })],
        finishReason: { unified: 'tool-calls', raw: undefined },
        usage,
        warnings: [],
      },
      {
        content: [{ type: 'text', text: 'Done.' }],
        finishReason: { unified: 'stop', raw: undefined },
        usage,
        warnings: [],
      },
    ],
  });
  const tools = { memory: memoryFunctionTool(memory) };
  await generateText({ model: other, tools, prompt: 'Go on.', stopWhen: isStepCount(2) });
  const { description, inputSchema } = definition();
  expect(other.doGenerateCalls[0]?.tools).toEqual([
    { type: 'function', name: 'memory', description, inputSchema },
  ]);
  expect((await memory.files.read('/memories/a'))?.text()).toBe('x');
});
