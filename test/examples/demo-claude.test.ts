import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startDemoClaude } from '../../examples/demo/demo-claude.ts';
import { USER_LINES } from '../../examples/demo/script.ts';
import type { ScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';
import { openMemory } from '../../src/index.ts';

const HEADERS = { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' };
const CALL = {
  type: 'tool_use',
  id: 'toolu_1',
  name: 'memory',
  input: { command: 'view', path: '/memories' },
};
const RESULT = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Nothing.' };
const USER = { role: 'user', content: 'Hello' };
const CALLING = { role: 'assistant', content: [CALL] };
const REQUEST = {
  model: 'claude-opus-4-8',
  max_tokens: 10,
  tools: [{ type: 'memory_20250818', name: 'memory' }],
  messages: [USER],
};

let claude: ScriptedClaude;

beforeEach(async () => {
  claude = await startDemoClaude();
});

afterEach(() => claude[Symbol.asyncDispose]());

async function send(
  body: unknown,
  headers: Readonly<Record<string, string>> = HEADERS,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const response = await fetch(`${claude.url}/v1/messages`, {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

describe('The Claude of the demo', () => {
  it.each([
    ['without the memory tool', []],
    ['with another tool of its name', [{ name: 'memory', input_schema: {} }]],
  ])('refuses a request %s', async (_, tools) => {
    const { status, body } = await send({ ...REQUEST, tools });
    expect(status).toBe(400);
    expect(body).toMatchObject({ error: { message: expect.stringContaining('memory_20250818') } });
  });

  it('says so when the user leaves the script', async () => {
    const { status, body } = await send(REQUEST);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      stop_reason: 'end_turn',
      content: [{ text: expect.stringContaining('script') }],
    });
  });

  it('does not know what it was not told', async () => {
    const answer = { role: 'user', content: [{ ...RESULT, content: 'There is nothing.' }] };
    const { body } = await send({
      ...REQUEST,
      messages: [{ role: 'user', content: USER_LINES.two[0] }, CALLING, answer],
    });
    expect(body).toMatchObject({
      stop_reason: 'end_turn',
      content: [{ text: expect.stringContaining('no such thing') }],
    });
  });

  it('ends when a command is refused, and repeats the refusal', async () => {
    const answer = { role: 'user', content: [{ ...RESULT, content: 'Not today.', is_error: true }] };
    const { body } = await send({
      ...REQUEST,
      messages: [{ role: 'user', content: USER_LINES.two[0] }, CALLING, answer],
    });
    expect(body).toMatchObject({
      stop_reason: 'end_turn',
      content: [{ text: 'My view was refused: Not today.' }],
    });
  });

  it.each([false, true])(
    'plays its part for the tool runner as the SDK sets it up, stream: %s',
    async (stream) => {
      const client = new Anthropic({ apiKey: 'key', baseURL: claude.url, maxRetries: 0 });
      await using memory = await openMemory({
        store: 'memory:',
        tenant: 'demo',
        rootKey: new Uint8Array(randomBytes(32)),
      });
      const reply = await client.beta.messages.toolRunner({
        model: 'claude-opus-4-8',
        max_tokens: 10,
        stream,
        tools: [betaMemoryTool(memory.handlers)],
        messages: [{ role: 'user', content: USER_LINES.one[0] ?? '' }],
      });
      expect(reply.content).toEqual([
        expect.objectContaining({ text: 'Noted: Kestrel, with a budget of 4,000 euros.' }),
      ]);
      const kept = await memory.execute({ command: 'view', path: '/memories/customers/acme-bakery.md' });
      expect(kept.content).toContain('Code name: Kestrel');
    },
  );
});
