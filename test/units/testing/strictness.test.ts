import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ScriptedClaude, startScriptedClaude } from '../../../infra/local/claude/scripted-claude.ts';
import type { ScriptedPart } from '../../../src/testing/claude/reply.ts';

const CLEARING_BETA = 'context-management-2025-06-27';
const COMPACTION_BETA = 'compact-2026-01-12';
const ON_DEMAND_BETA = 'compact-2026-09-04';
const BINDING_BETA = 'thinking-binding-controls-2026-08-01';
const TOOLS = [{ type: 'memory_20250818', name: 'memory' }];
const USER = { role: 'user', content: 'Hello' };
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'memory', input: {} };
const RESULT = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'Nothing.' };
const SEARCH = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} };
const FOUND = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] };
const WORDS = { type: 'text', text: 'Hi.' };
const MANUAL = { type: 'enabled', budget_tokens: 1024 };
const DROP = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } };

const CURRENT = 'claude-sonnet-5-5';
const OLDER = 'claude-haiku-4-5';

type Body = Readonly<Record<string, unknown>>;
interface Answer {
  readonly status: number;
  readonly body: Body & {
    readonly content: readonly Body[];
    readonly error?: { readonly message: string; readonly details?: Body };
  };
}

let claude: ScriptedClaude;
let part: ScriptedPart;
let summary: string | { readonly stop: string };

beforeAll(async () => {
  claude = await startScriptedClaude({ play: () => part, summarise: () => summary });
});

afterAll(() => claude[Symbol.asyncDispose]());

beforeEach(() => {
  part = { say: 'Yes.' };
  summary = 'We said hello.';
});

async function send(change: Body, { beta = '', version = '2023-06-01' } = {}): Promise<Answer> {
  const body = { model: CURRENT, max_tokens: 2000, tools: TOOLS, messages: [USER], ...change };
  const response = await fetch(`${claude.url}/v1/messages`, {
    method: 'POST',
    headers: {
      'x-api-key': 'key',
      'anthropic-version': version,
      ...(beta && { 'anthropic-beta': beta }),
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Answer['body'] };
}

const edits = (...list: readonly object[]): Body => ({ context_management: { edits: list } });
const said = (...content: readonly object[]): object => ({ role: 'assistant', content });

describe('The scripted Claude refuses', () => {
  it.each([
    ['more tokens than the model has', { max_tokens: 128_001 }, '128001 > 128000'],
    ['more tokens than an older model has', { model: OLDER, max_tokens: 64_001 }, '64001 > 64000'],
    ['a budget for thinking where the model has effort', { thinking: MANUAL }, 'thinking.type.enabled'],
    ['adaptive thinking on an older model', { model: OLDER, thinking: { type: 'adaptive' } }, 'adaptive'],
    [
      'no thinking where the model always thinks',
      { model: 'claude-fable-5-1', thinking: { type: 'disabled' } },
      'thinking.type.disabled',
    ],
    [
      'a small budget',
      { model: OLDER, thinking: { ...MANUAL, budget_tokens: 1023 } },
      'budget_tokens: Input should be a whole number of at least 1024',
    ],
    [
      'a budget of all tokens',
      { model: OLDER, max_tokens: 1024, thinking: MANUAL },
      'must be greater than `thinking.budget_tokens`',
    ],
    ['a way to drop thoughts without its header', { thinking: DROP }, 'block_binding: Extra inputs'],
    ['a temperature on a newer model', { temperature: 0.5 }, '`temperature` is not supported'],
    ['top_k on a newer model', { top_k: 5 }, '`top_k` is not supported'],
    [
      'a temperature while an older model thinks',
      { model: OLDER, temperature: 0.5, thinking: MANUAL },
      'may only be set to 1',
    ],
    [
      'two ways to sample',
      { model: OLDER, temperature: 0.5, top_p: 0.9 },
      '`temperature` and `top_p` cannot both be specified',
    ],
    ['a forced tool while it thinks', { tool_choice: { type: 'any' } }, 'forces tool use'],
    ['effort on a model without', { model: OLDER, output_config: { effort: 'low' } }, 'effort parameter'],
    ['an effort that is none', { output_config: { effort: 'none' } }, 'output_config.effort'],
    [
      'more marks of the cache than four',
      {
        cache_control: { type: 'ephemeral' },
        system: Array.from({ length: 4 }, () => ({ ...WORDS, cache_control: { type: 'ephemeral' } })),
      },
      'A maximum of 4 blocks',
    ],
    ['a prefill', { messages: [USER, said(WORDS)] }, 'does not support assistant message prefill'],
    [
      'a prefill that ends with space',
      { model: OLDER, messages: [USER, said({ type: 'text', text: 'The ' })] },
      'trailing whitespace',
    ],
    [
      'a search without its result before another message',
      { messages: [USER, said(WORDS, SEARCH), USER] },
      'without a corresponding `web_search_tool_result`',
    ],
    ['a system message at first', { messages: [{ role: 'system', content: 'Be brief.' }, USER] }, '"user"'],
    [
      'a system message before one of the user',
      { messages: [USER, said(WORDS), { role: 'system', content: 'Be brief.' }, USER] },
      'messages.2: a system message must follow',
    ],
    [
      'a system message on an older model',
      { model: OLDER, messages: [USER, { role: 'system', content: 'Be brief.' }] },
      "role 'system' is not supported",
    ],
    [
      'a tool use that began without a thought, in manual thinking',
      { model: OLDER, thinking: MANUAL, messages: [USER, said(CALL), { role: 'user', content: [RESULT] }] },
      'Expected `thinking` or `redacted_thinking`, but found `tool_use`',
    ],
  ])('%s', async (_, change, reason) => {
    const { status, body } = await send(change);
    expect(body.error?.message).toContain(reason);
    expect(status).toBe(400);
  });

  it('a model that it does not know, as not found', async () => {
    expect(await send({ model: 'a-model' })).toMatchObject({
      status: 404,
      body: { error: { type: 'not_found_error' } },
    });
  });

  it('every way to sample from the version 2026-10-21 on', async () => {
    const { body } = await send({ model: OLDER, temperature: 1 }, { version: '2026-10-21' });
    expect(body.error?.message).toBe('temperature: Extra inputs are not permitted');
    expect(await send({ model: OLDER, temperature: 0.2 })).toMatchObject({ status: 200 });
  });

  it.each([
    [
      'compaction on a model without',
      OLDER,
      { type: 'compact_20260112' },
      COMPACTION_BETA,
      'compact_20260112',
    ],
    [
      'the clearing of thoughts where nothing thinks',
      'claude-opus-4-8',
      { type: 'clear_thinking_20251015', keep: 'all' },
      CLEARING_BETA,
      'requires `thinking`',
    ],
  ])('%s', async (_, model, edit, beta, reason) => {
    expect((await send({ model, ...edits(edit) }, { beta })).body.error?.message).toContain(reason);
  });

  it('the clearing of thoughts behind another edit', async () => {
    const trigger = { type: 'input_tokens', value: 100 };
    const keep = { type: 'tool_uses', value: 1 };
    const [tools, thoughts] = [
      { type: 'clear_tool_uses_20250919', trigger, keep },
      { type: 'clear_thinking_20251015', keep: { type: 'thinking_turns', value: 2 } },
    ];
    const beta = CLEARING_BETA;
    expect((await send(edits(tools, thoughts), { beta })).body.error?.message).toContain('must be the first');
    expect(await send(edits(thoughts, tools), { beta })).toMatchObject({ status: 200 });
  });
});

describe('The scripted Claude takes', () => {
  it.each([
    ['a prefill on an older model', { model: OLDER, messages: [USER, said(WORDS)] }],
    ['a search with its result', { messages: [USER, said(SEARCH, FOUND, WORDS), USER] }],
    ['a system message behind one of the user', { messages: [USER, { role: 'system', content: 'Go.' }] }],
    [
      'a system message between user and assistant',
      { messages: [USER, { role: 'system', content: 'Go.' }, said(WORDS), USER] },
    ],
    [
      'a result where it thinks by itself',
      { messages: [USER, said(CALL), { role: 'user', content: [RESULT] }] },
    ],
    ['an effort', { output_config: { effort: 'xhigh' } }],
  ])('%s', async (_, change) => {
    expect(await send(change)).toMatchObject({ status: 200 });
  });
});

describe("The scripted Claude's thoughts", () => {
  const SIGNED = { system: 'Be brief.' };

  async function thinkTwice(): Promise<readonly object[]> {
    part = { say: 'First.', think: 'Hm.' };
    const first = await send(SIGNED);
    const messages = [USER, said(...first.body.content), USER];
    const second = await send({ ...SIGNED, messages });
    return [...messages, said(...second.body.content), USER];
  }

  it('come by default with current models, signed, and only where they were asked for with older ones', async () => {
    const { body } = await send({});
    expect(body.content[0]).toEqual({ type: 'thinking', thinking: '', signature: expect.any(String) });
    expect((await send({ model: OLDER })).body.content).toEqual([{ type: 'text', text: 'Yes.' }]);
    const asked = await send({ model: OLDER, thinking: MANUAL });
    expect(asked.body.content[0]).toMatchObject({ type: 'thinking' });
  });

  it('may come back in the same conversation, with other marks of the cache', async () => {
    const messages = await thinkTwice();
    expect(await send({ ...SIGNED, messages })).toMatchObject({ status: 200 });
    const tools = [{ ...TOOLS[0], cache_control: { type: 'ephemeral' } }];
    expect(await send({ ...SIGNED, messages, tools })).toMatchObject({ status: 200 });
  });

  it.each([
    ['the system prompt', (messages: readonly object[]) => ({ system: 'Be long.', messages })],
    [
      'the tools',
      (messages: readonly object[]) => ({
        tools: [...TOOLS, { name: 'read', input_schema: { type: 'object' } }],
        messages,
      }),
    ],
    [
      'an earlier message',
      (messages: readonly object[]) => ({
        messages: [{ role: 'user', content: 'Hi' }, ...messages.slice(1)],
      }),
    ],
  ])('are refused when %s has changed', async (_, change) => {
    const { status, body } = await send({ ...SIGNED, ...change(await thinkTwice()) });
    expect(status).toBe(400);
    expect(body.error?.message).toMatch(
      /^messages\.1\.content\.0: Invalid `signature` in `thinking` block\. The block is bound to a different conversation\./,
    );
  });

  it('are refused when one between others is missing, and pass when all are', async () => {
    const messages = await thinkTwice();
    const without = (wanted: (i: number) => boolean): readonly object[] =>
      messages.map((message, i) => {
        const { content } = message as { readonly content: readonly Body[] };
        return wanted(i) && Array.isArray(content)
          ? { ...message, content: content.filter(({ type }) => type !== 'thinking') }
          : message;
      });
    const { body } = await send({ ...SIGNED, messages: without((i) => i === 1) });
    expect(body.error?.message).toContain('messages.3.content.0: Invalid `signature`');
    expect(await send({ ...SIGNED, messages: without(() => true) })).toMatchObject({ status: 200 });
  });

  it('are refused when they were changed, on every model', async () => {
    part = { say: 'First.', think: 'Hm.' };
    const first = await send({ model: OLDER, thinking: MANUAL });
    const [thought, ...rest] = first.body.content;
    const messages = [USER, said({ ...thought, thinking: 'Aha.' }, ...rest), USER];
    const { body } = await send({ model: OLDER, thinking: MANUAL, messages });
    expect(body.error?.message).toBe('messages.1.content.0: Invalid `signature` in `thinking` block');
  });

  it('are not bound on older models, and dropped by another model', async () => {
    part = { say: 'First.', think: 'Hm.' };
    const first = await send({ model: OLDER, thinking: MANUAL, system: 'Be brief.' });
    const messages = [USER, said(...first.body.content), USER];
    expect(await send({ model: OLDER, thinking: MANUAL, system: 'Be long.', messages })).toMatchObject({
      status: 200,
    });
    expect((await send({ messages })).body['input_transformations']).toEqual([
      { type: 'thinking_dropped', path: 'messages.1.content.0', reason: 'model_binding_mismatch' },
    ]);
  });

  it('are dropped on demand, and those behind them stay valid', async () => {
    const messages = await thinkTwice();
    const change = { system: 'Be long.', thinking: DROP };
    const dropped = await send({ ...change, messages }, { beta: BINDING_BETA });
    expect(dropped.body['input_transformations']).toHaveLength(2);
    const longer = [...messages, said(...dropped.body.content), USER];
    const next = await send({ ...change, messages: longer }, { beta: BINDING_BETA });
    expect(next.body['input_transformations']).toHaveLength(2);
  });

  it('may not stand last', async () => {
    part = { think: 'Hm.', stop: 'pause_turn' };
    const { body } = await send({});
    const message = await send({ messages: [USER, said(...body.content)] });
    expect(message.body.error?.message).toBe(
      'messages.1: The final block in an assistant message cannot be `thinking`.',
    );
    expect(await send({ messages: [USER, said(...body.content), USER] })).toMatchObject({ status: 200 });
  });
});

describe('A summary on demand', () => {
  const COMPACT = { compaction: { type: 'summarize' } };
  const ASK = { ...COMPACT, messages: [USER, said(WORDS)] };
  const beta = ON_DEMAND_BETA;

  it('comes alone, with its tokens in the iterations, and whole where it is streamed', async () => {
    const { body } = await send(ASK, { beta });
    expect(body).toMatchObject({
      content: [{ type: 'compaction', content: 'We said hello.', signature: expect.any(String) }],
      stop_reason: 'compaction',
      usage: { input_tokens: 0, output_tokens: 0, iterations: [{ type: 'compaction' }] },
    });
    const streamed = await fetch(`${claude.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': 'key', 'anthropic-version': '2023-06-01', 'anthropic-beta': beta },
      body: JSON.stringify({ model: CURRENT, max_tokens: 2000, stream: true, ...ASK }),
    });
    const events = await streamed.text();
    expect(events).toContain(`"content_block":${JSON.stringify(body.content[0])}`);
    expect(events).not.toContain('content_block_delta');
  });

  it('is missing, with what the request ended with', async () => {
    summary = { stop: 'max_tokens' };
    expect((await send(ASK, { beta })).body).toMatchObject({ content: [], stop_reason: 'max_tokens' });
  });

  it.each([
    ['without its header', {}, COMPACTION_BETA, `requires anthropic-beta: ${ON_DEMAND_BETA}`],
    ['of a model that has none', { model: OLDER }, beta, 'not supported for this model'],
    ['of another kind', { compaction: { type: 'forget' } }, beta, "should be 'summarize'"],
    ['with another field', { compaction: { type: 'summarize', trigger: 5 } }, beta, 'Extra inputs'],
    [
      'in too many words',
      { compaction: { type: 'summarize', instructions: 'x'.repeat(16_385) } },
      beta,
      'at most 16384',
    ],
    ['beside context edits', edits({ type: 'compact_20260112' }), `${beta},${COMPACTION_BETA}`, ''],
    ['beside stop sequences', { stop_sequences: ['.'] }, beta, 'stop_sequences'],
    ['beside a format', { output_config: { format: { type: 'json_schema' } } }, beta, 'output_config.format'],
    ['beside a rest of a budget', { output_config: { task_budget: { remaining: 5 } } }, beta, 'remaining'],
    ['beside a forced tool', { model: 'claude-opus-4-8', tool_choice: { type: 'any' } }, beta, 'tool_choice'],
    ['behind an open call', { messages: [USER, said(CALL)] }, beta, 'without `tool_result`'],
  ])('is refused %s', async (_, change, header, words) => {
    const { status, body } = await send({ ...ASK, ...change }, { beta: header });
    expect(status).toBe(400);
    expect(body.error?.message).toContain(words);
  });

  it('is refused while the reply before it is unfinished', async () => {
    part = { say: 'Wait.', stop: 'pause_turn' };
    const paused = await send({});
    const { body } = await send({ ...ASK, messages: [USER, said(...paused.body.content)] }, { beta });
    expect(body.error?.details).toEqual({ error_code: 'compaction_incomplete_turn' });
  });

  it('stands first and once, as it came, with its header, and alone where nothing follows', async () => {
    const { body } = await send(ASK, { beta });
    const [block = {}] = body.content;
    const answer = (messages: readonly object[], header = beta, change: Body = {}): Promise<Answer> =>
      send({ messages, ...change }, { beta: header });
    expect(await answer([said(block)])).toMatchObject({ status: 200 });
    expect(await answer([said(block), said(WORDS), USER])).toMatchObject({ status: 200 });
    expect(await answer([{ role: 'user', content: [block, WORDS] }])).toMatchObject({ status: 200 });
    expect(await send({ ...COMPACT, messages: [said(block), USER] }, { beta })).toMatchObject({
      status: 200,
    });
    const codeOf = async (messages: readonly object[]): Promise<unknown> =>
      (await answer(messages)).body.error?.details?.['error_code'];
    expect(await codeOf([USER, said(block), USER])).toBe('compaction_block_misplaced');
    expect(await codeOf([said(WORDS, block), USER])).toBe(undefined);
    expect(await codeOf([said({ ...block, content: 'Bye.' }), USER])).toBe('compaction_content_mismatch');
    expect(await codeOf([said({ ...block, signature: 'x' }), USER])).toBe('compaction_signature_invalid');
    for (const [refused, words] of [
      [answer([said(block), USER], ''), "'compaction' is not an expected type of block"],
      [answer([said(block), said(block), USER]), 'at most one'],
      [answer([said({ ...block, citations: null }), USER]), 'citations: Extra inputs'],
      [
        answer(
          [said(block), USER],
          `${beta},${COMPACTION_BETA}`,
          edits({
            type: 'compact_20260112',
            trigger: { type: 'input_tokens', value: 50_000 },
          }),
        ),
        'does not run on a signed',
      ],
    ] as const) {
      const { status, body: said400 } = await refused;
      expect([status, said400.error?.message]).toEqual([400, expect.stringContaining(words)]);
    }
  });

  it('is none of Bedrock’s', async () => {
    const response = await fetch(`${claude.url}/model/anthropic.claude-opus-4-6/invoke`, {
      method: 'POST',
      headers: { authorization: 'Bearer key' },
      body: JSON.stringify({
        anthropic_version: 'bedrock-2023-05-31',
        anthropic_beta: [beta],
        max_tokens: 2000,
        ...ASK,
      }),
    });
    expect(response.status).toBe(400);
    expect(await response.text()).toContain(`Unexpected value(s) \`${beta}\``);
  });
});

it('The scripted Claude reads from its cache what it has kept', async () => {
  const cache_control = { type: 'ephemeral' };
  const long = { role: 'user', content: 'x'.repeat(40_000) };
  const first = await send({ cache_control, messages: [long] });
  expect(first.body['usage']).toMatchObject({ cache_read_input_tokens: 0 });
  const messages = [long, said(...first.body.content), USER];
  const second = await send({ cache_control, messages });
  const { cache_read_input_tokens: read } = second.body['usage'] as { cache_read_input_tokens: number };
  expect(read).toBeGreaterThan(9_000);
  expect((await send({ messages })).body['usage']).toMatchObject({ cache_read_input_tokens: 0 });
});
