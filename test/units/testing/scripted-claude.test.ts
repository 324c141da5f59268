import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ScriptedClaude, startScriptedClaude } from '../../../infra/local/claude/scripted-claude.ts';

const HEADERS = { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' };
const CLEARING = {
  type: 'clear_tool_uses_20250919',
  trigger: { type: 'input_tokens', value: 100 },
  keep: { type: 'tool_uses', value: 1 },
  exclude_tools: ['memory'],
};
const COMPACTION = { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 50_000 } };
const CLEARING_BETA = 'context-management-2025-06-27';
const COMPACTION_BETA = 'compact-2026-01-12';
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'memory', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Nothing.' };
const USER = { role: 'user', content: 'Hello' };
const ASSISTANT = { role: 'assistant', content: 'Hi' };
const CALLING = { role: 'assistant', content: [CALL] };
const REQUEST = {
  model: 'claude-opus-4-8',
  max_tokens: 10,
  tools: [{ type: 'memory_20250818', name: 'memory' }],
  messages: [USER],
};

let claude: ScriptedClaude;

beforeEach(async () => {
  claude = await startScriptedClaude({
    play: () => ({ say: 'Yes.' }),
    summarise: () => 'We said hello.',
  });
});

afterEach(() => claude[Symbol.asyncDispose]());

async function send(
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
  const response = await fetch(`${claude.url}/v1/messages`, {
    method: 'POST',
    headers: { ...HEADERS, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Readonly<Record<string, unknown>> };
}

const refusal = (reason: string) => ({
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

const edits = (...given: readonly object[]) => ({ ...REQUEST, context_management: { edits: given } });

describe('The scripted Claude', () => {
  it.each([
    ['without model', { model: undefined }, 'model'],
    ['without max_tokens', { max_tokens: undefined }, 'max_tokens'],
    ['with a field that is not known', { max_token: 10 }, 'Extra inputs'],
    ['with an unknown type of tool', { tools: [{ type: 'dream', name: 'memory' }] }, 'tools.0.type'],
    ['with the memory tool under another name', { tools: [{ type: 'memory_20250818', name: 'm' }] }, 'name'],
    ['with a tool of its own without a schema', { tools: [{ name: 'read' }] }, 'input_schema'],
    ['with two tools of one name', { tools: [...REQUEST.tools, ...REQUEST.tools] }, 'unique'],
    ['without messages', { messages: [] }, 'messages'],
    ['that begins with the assistant', { messages: [ASSISTANT] }, 'messages.0'],
    ['that ends with the assistant', { messages: [USER, ASSISTANT] }, 'end with a user message'],
    ['with an unknown role', { messages: [{ role: 'robot', content: 'Hi' }] }, 'role'],
    ['with a field in a message', { messages: [{ ...USER, id: 'msg_1' }] }, 'Extra inputs'],
    ['with an empty text', { messages: [{ role: 'user', content: [{ type: 'text', text: '' }] }] }, 'text'],
    ['with empty content', { messages: [{ role: 'user', content: [] }] }, 'non-empty'],
    ['with content of a wrong type', { messages: [{ role: 'user', content: 7 }] }, 'messages.0.content'],
    ['with an unknown block', { messages: [{ role: 'user', content: [{ type: 'dream' }] }] }, 'content.0'],
    ['with a call of the user', { messages: [{ role: 'user', content: [CALL] }] }, 'content.0'],
    [
      'with a call of a tool it does not have',
      { messages: [USER, { role: 'assistant', content: [{ ...CALL, name: 'read' }] }] },
      'no tool of this name',
    ],
    [
      'with a malformed id',
      { messages: [USER, { role: 'assistant', content: [{ ...CALL, id: 'a b' }] }] },
      'pattern',
    ],
    ['with a call without an answer', { messages: [USER, CALLING, USER] }, 'without `tool_result`'],
    [
      'with a result behind other content',
      { messages: [USER, CALLING, { role: 'user', content: [{ type: 'text', text: 'So:' }, RESULT] }] },
      'without `tool_result`',
    ],
    [
      'with a result that was not asked for',
      { messages: [{ role: 'user', content: [RESULT] }] },
      'unexpected `tool_use_id`',
    ],
    [
      'with the result of another call',
      { messages: [USER, CALLING, { role: 'user', content: [{ ...RESULT, tool_use_id: 'toolu_2' }] }] },
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
      'with a mark of failure that is no boolean',
      { messages: [USER, CALLING, { role: 'user', content: [{ ...RESULT, is_error: 'yes' }] }] },
      'is_error',
    ],
    [
      'with two calls of one id',
      { messages: [USER, { role: 'assistant', content: [CALL, CALL] }, USER] },
      'unique',
    ],
    [
      'with a summary but not its header',
      { messages: [USER, { role: 'assistant', content: [{ type: 'compaction', content: 'x' }] }, USER] },
      'compaction',
    ],
    ['on a thread', { thread: { type: 'create' } }, 'thread'],
  ])('refuses a request %s', async (_, change, reason) => {
    expect(await send({ ...REQUEST, ...change })).toEqual(refusal(reason));
  });

  it('takes messages of one role in a row as one turn', async () => {
    const rows = [
      [USER, USER],
      [USER, ASSISTANT, ASSISTANT, USER],
      [USER, CALLING, { role: 'user', content: [RESULT] }, USER],
    ];
    for (const messages of rows) expect(await send({ ...REQUEST, messages })).toMatchObject({ status: 200 });
  });

  it('refuses a request without a key or a version, and one that is not JSON', async () => {
    expect(await send(REQUEST, { 'x-api-key': '' })).toMatchObject({
      status: 401,
      body: { error: { type: 'authentication_error' } },
    });
    expect(await send(REQUEST, { 'anthropic-version': '' })).toEqual(refusal('anthropic-version'));
    expect(await send('{')).toEqual(refusal('JSON'));
  });

  it.each([
    ['of any kind without a header', edits(CLEARING), '', 'context_management: Extra inputs'],
    ['that clears, with the header of compaction', edits(CLEARING), COMPACTION_BETA, 'edits.0'],
    ['that compacts, with the header of clearing', edits(COMPACTION), CLEARING_BETA, 'edits.0'],
    ['that is not known', edits({ type: 'forget' }), CLEARING_BETA, 'edits.0'],
    ['that comes twice', edits(CLEARING, CLEARING), CLEARING_BETA, 'duplicate'],
    ['with a field that is not known', edits({ ...CLEARING, more: 1 }), CLEARING_BETA, 'more'],
    ['with a malformed trigger', edits({ ...CLEARING, trigger: 100 }), CLEARING_BETA, 'trigger'],
    [
      'that compacts early',
      edits({ ...COMPACTION, trigger: { ...COMPACTION.trigger, value: 49_999 } }),
      COMPACTION_BETA,
      'trigger.value',
    ],
  ])('refuses a context edit %s', async (_, body, beta, reason) => {
    expect(await send(body, beta ? { 'anthropic-beta': beta } : {})).toEqual(refusal(reason));
  });

  it('refuses a beta that is not known', async () => {
    expect(await send(REQUEST, { 'anthropic-beta': `${CLEARING_BETA},dreams-2026-01-01` })).toEqual(
      refusal('dreams-2026-01-01'),
    );
  });

  it('takes edits with their headers, and a summary only as it gave it', async () => {
    const headers = { 'anthropic-beta': `${CLEARING_BETA}, ${COMPACTION_BETA}` };
    const long = { role: 'user', content: 'x'.repeat(200_000) };
    const first = await send({ ...edits(CLEARING, COMPACTION), messages: [long] }, headers);
    expect(first.body).toMatchObject({
      content: [
        { type: 'compaction', content: 'We said hello.' },
        { type: 'text', text: 'Yes.' },
      ],
    });
    const content = first.body['content'] as readonly object[];
    const back = { ...REQUEST, messages: [long, { role: 'assistant', content }, USER] };
    expect(await send(back, headers)).toMatchObject({ status: 200 });
    const changed = [{ ...content[0], content: 'We said goodbye.' }, ...content.slice(1)];
    const forged = { ...REQUEST, messages: [long, { role: 'assistant', content: changed }, USER] };
    expect(await send(forged, headers)).toEqual(refusal('as it was received'));
  });
});
