import { ChatAnthropic } from '@langchain/anthropic';
import { createAgent, ToolMessage } from 'langchain';
import { expect, it } from 'vitest';
import { memoryFunctionTool, memoryTool } from '../../../src/hosts/langchain.ts';
import { memoryToolDefinition as definition } from '../../../src/language/schema.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { describeToolHost } from '../../contracts/tool-host.ts';
import { commands, type PlayedClaude, playClaude } from '../../stage/scripted-claude.ts';
import { readByClaude } from './read-by-claude.ts';

const chatModel = ({ url }: PlayedClaude): ChatAnthropic =>
  new ChatAnthropic({ apiKey: 'none', anthropicApiUrl: url, model: 'claude-sonnet-5-5', maxRetries: 0 });

describeToolHost('an agent of LangChain, with Claude', {
  // ChatAnthropic does not pass the status of a ToolMessage on.
  marksErrors: false,
  async play(memory, turns, { signal } = {}) {
    await using claude = await playClaude([...turns.map((turn) => commands(...turn)), { say: 'Done.' }]);
    const agent = createAgent({ model: chatModel(claude), tools: [memoryTool(memory)] });
    const { messages } = await agent.invoke({ messages: 'Go on.' }, { ...(signal && { signal }) });
    expect(messages.at(-1)?.text).toBe('Done.');
    return readByClaude(claude, { marksErrors: false });
  },
});

const open = (): Promise<Memory> =>
  openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(7) });

it("is Claude's own tool to Claude, and a failure has its status in the agent's messages", async () => {
  await using memory = await open();
  await using claude = await playClaude([
    commands({ command: 'delete', path: '/memories' }, { command: 'view', path: '/memories' }),
    { say: 'Done.' },
  ]);
  const agent = createAgent({ model: chatModel(claude), tools: [memoryTool(memory)] });
  const { messages } = await agent.invoke({ messages: 'Go on.' });
  expect(claude.sent[0]?.body['tools']).toEqual([{ type: 'memory_20250818', name: 'memory' }]);
  const results = messages.filter((message) => ToolMessage.isInstance(message));
  expect(results.map(({ status, name }) => [status, name])).toEqual([
    ['error', 'memory'],
    ['success', 'memory'],
  ]);
});

it('says to any other model what the commands are and which fields they take', async () => {
  await using memory = await open();
  await using claude = await playClaude([
    commands({ command: 'create', path: '/memories/a', file_text: 'x' }),
    commands({ command: 'view', path: '/memories/a', view_range: [1, 1] }, { command: 'close' }),
    { say: 'Done.' },
  ]);
  const agent = createAgent({ model: chatModel(claude), tools: [memoryFunctionTool(memory)] });
  await agent.invoke({ messages: 'Go on.' });
  const { name, description, inputSchema } = definition();
  expect(claude.sent[0]?.body['tools']).toEqual([{ name, description, input_schema: inputSchema }]);
  const [, [viewed, refused] = []] = readByClaude(claude, { marksErrors: false });
  expect(viewed?.content).toMatch(/ 1\tx$/);
  expect(refused?.content).toContain('did not match expected schema');
});

it('answers a caller without a tool call with the content, or throws the sentence', async () => {
  await using memory = await open();
  const tool = memoryTool(memory);
  const created = tool.invoke({ command: 'create', path: '/memories/a', file_text: 'x' });
  expect(await created).toBe('File created successfully at: /memories/a');
  await expect(tool.invoke({ command: 'view', path: '/memories/b' })).rejects.toThrow(
    /^The path \/memories\/b does not exist\. Please provide a valid path\.$/,
  );
});
