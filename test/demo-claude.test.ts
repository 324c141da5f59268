import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { USER_LINES } from '../examples/demo/script.ts';
import { type ScriptedClaude, startScriptedClaude } from '../examples/demo/scripted-claude.ts';
import { openMemory } from '../src/index.ts';

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
  model: 'a-model',
  max_tokens: 10,
  tools: [{ type: 'memory_20250818', name: 'memory' }],
  messages: [USER],
};

let claude: ScriptedClaude;

beforeEach(async () => {
  claude = await startScriptedClaude();
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

describe('The scripted Claude', () => {
  it.each([
    ['without model', { model: undefined }, 'model'],
    ['without max_tokens', { max_tokens: undefined }, 'max_tokens'],
    ['without the memory tool', { tools: [] }, 'memory_20250818'],
    ['with another type of memory tool', { tools: [{ type: 'custom', name: 'memory' }] }, 'memory_20250818'],
    ['without messages', { messages: [] }, 'messages'],
    ['with two messages of the user in a row', { messages: [USER, USER] }, 'messages.1'],
    ['that begins with the assistant', { messages: [{ role: 'assistant', content: 'Hi' }] }, 'messages.0'],
    [
      'that ends with the assistant',
      { messages: [USER, { role: 'assistant', content: 'Hi' }] },
      'end with a user',
    ],
    ['with an unknown role', { messages: [{ role: 'robot', content: 'Hi' }] }, 'role'],
    ['with an empty text', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }, 'text'],
    ['with empty content', { messages: [{ role: 'user', content: [] }] }, 'non-empty'],
    ['with content of a wrong type', { messages: [{ role: 'user', content: 7 }] }, 'messages.0.content'],
    ['with an unknown block', { messages: [{ role: 'user', content: [{ type: 'dream' }] }] }, 'content.0'],
    ['with a call nobody answered', { messages: [USER, CALLING, USER] }, 'without `tool_result`'],
    [
      'with a result behind other content',
      { messages: [USER, CALLING, { role: 'user', content: [{ type: 'text', text: 'So:' }, RESULT] }] },
      'without `tool_result`',
    ],
    [
      'with a result nobody asked for',
      { messages: [{ role: 'user', content: [RESULT] }] },
      'unexpected `tool_use_id`',
    ],
    [
      'with two results of one call',
      { messages: [USER, CALLING, { role: 'user', content: [RESULT, RESULT] }] },
      'unexpected `tool_use_id`',
    ],
    [
      'with a result of a wrong type',
      { messages: [USER, CALLING, { role: 'user', content: [{ ...RESULT, content: { a: 1 } }] }] },
      'content.0.content',
    ],
    [
      'with two calls of one id',
      { messages: [USER, { role: 'assistant', content: [CALL, CALL] }, USER] },
      'unique',
    ],
    ['on a thread', { thread: { type: 'create' } }, 'thread'],
  ])('refuses a request %s', async (_, change, reason) => {
    expect(await send({ ...REQUEST, ...change })).toEqual({
      status: 400,
      body: {
        type: 'error',
        error: expect.objectContaining({
          type: 'invalid_request_error',
          message: expect.stringContaining(reason),
        }),
        request_id: expect.any(String),
      },
    });
  });

  it('refuses a request without a key or a version, and one that is not JSON', async () => {
    const { 'x-api-key': _, ...noKey } = HEADERS;
    expect(await send(REQUEST, noKey)).toMatchObject({
      status: 401,
      body: { error: { type: 'authentication_error' } },
    });
    expect(await send(REQUEST, { 'x-api-key': 'key' })).toMatchObject({ status: 400 });
    expect(await send('{')).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error' } },
    });
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

  it('gives up when a command is refused, and repeats the refusal', async () => {
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
        model: 'a-model',
        max_tokens: 10,
        stream,
        tools: [betaMemoryTool(memory)],
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
