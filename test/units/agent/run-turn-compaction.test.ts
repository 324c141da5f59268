import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runTurn, type TurnProgress, type TurnRequest } from '../../../src/agent/index.ts';
import { type Memory, openMemory } from '../../../src/index.ts';
import { ApiRefusal } from '../../../src/testing/claude/api-refusal.ts';
import { commands, type Played, type PlayedClaude, playClaude } from '../../stage/scripted-claude.ts';

const BETA = 'compact-2026-09-04';
const CLEARING_BETA = 'context-management-2025-06-27';
const THRESHOLD_BETA = 'compact-2026-01-12';
const VIEW = commands({ command: 'view', path: '/memories' });
const YES = { say: 'Yes.' };
/** More than 200,000 tokens by the scripted Claude's count, and by an estimate as well. */
const LONG = 'word '.repeat(160_000);
const LONG_CONVERSATION: readonly BetaMessageParam[] = [
  { role: 'user', content: LONG },
  { role: 'assistant', content: 'I see.' },
  { role: 'user', content: 'And now?' },
];

let memory: Memory;

beforeEach(async () => {
  memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
});

afterEach(() => memory.close());

type Options = Parameters<typeof playClaude>[1];

async function play(
  parts: readonly Played[],
  { claude: options, ...turn }: Partial<TurnRequest> & { readonly claude?: Options } = {},
): Promise<{
  readonly outcome: Awaited<ReturnType<typeof runTurn>>;
  readonly sent: PlayedClaude['sent'];
  readonly again: (more: Partial<TurnRequest>) => ReturnType<typeof runTurn>;
}> {
  const claude = await playClaude(parts, options);
  opened.push(claude);
  const client = claude.client();
  const again: Awaited<ReturnType<typeof play>>['again'] = (more) =>
    runTurn({ client, memory, model: 'claude-sonnet-5-5', messages: LONG_CONVERSATION, ...turn, ...more });
  return { outcome: await again({}), sent: claude.sent, again };
}

const opened: PlayedClaude[] = [];
afterEach(async () => {
  for (const claude of opened.splice(0)) await claude[Symbol.asyncDispose]();
});

const SUMMARY = { type: 'compaction', content: 'Words were said.', signature: expect.any(String) };
const summarise = () => 'Words were said.';

describe('A conversation that is long when a turn begins', () => {
  it('is summarised first, and the user’s last words stay as they are', async () => {
    const { outcome, sent } = await play([YES], { claude: { summarise }, system: 'You bake.' });
    expect(outcome).toMatchObject({
      outcome: 'answered',
      text: 'Yes.',
      usage: { requests: 2, compactions: 1 },
      messages: [
        { role: 'assistant', content: [SUMMARY] },
        { role: 'user', content: 'And now?' },
        { role: 'assistant' },
      ],
    });
    expect(outcome).not.toHaveProperty('compactionFailure');
    const [first, second] = sent;
    expect(first?.headers['anthropic-beta']).toBe([CLEARING_BETA, BETA].join());
    expect(first?.body).toMatchObject({
      compaction: { type: 'summarize' },
      max_tokens: 16_000,
      system: 'You bake.',
      messages: LONG_CONVERSATION.slice(0, 2),
    });
    expect(first?.body).not.toHaveProperty('context_management');
    expect(first?.body['tools']).toEqual(second?.body['tools']);
    expect(second?.body).not.toHaveProperty('compaction');
    expect(second?.headers['anthropic-beta']).toBe([CLEARING_BETA, BETA].join());
    expect(second?.body.messages).toHaveLength(2);
    // The tokens of the summary count, and stand in its iterations alone.
    expect(outcome.usage.inputTokens).toBeGreaterThan(200_000);
  });

  it('is summarised again with its summary, which goes', async () => {
    const { outcome, again } = await play([YES, YES], { claude: { summarise } });
    const { messages, digest } = outcome;
    const more: readonly BetaMessageParam[] = [...messages, { role: 'user', content: LONG }];
    const grown = [...more, { role: 'assistant' as const, content: 'Yes.' }, ...messages.slice(1, 2)];
    const next = await again({ messages: grown, digest });
    expect(next).toMatchObject({ outcome: 'answered', usage: { compactions: 1 } });
    expect(next.messages).toHaveLength(3);
    expect(next.messages[0]).toEqual({ role: 'assistant', content: [SUMMARY] });
  });

  it('is left alone where only the user has spoken, behind a summary as well', async () => {
    const [first] = LONG_CONVERSATION;
    const alone = await play([YES], { messages: first === undefined ? [] : [first] });
    expect(alone.outcome).toMatchObject({ outcome: 'answered', usage: { requests: 1 } });
    const { outcome, again } = await play([YES, YES], { claude: { summarise } });
    const messages = [...outcome.messages.slice(0, 1), { role: 'user' as const, content: LONG }];
    expect(await again({ messages, digest: outcome.digest })).toMatchObject({ usage: { requests: 1 } });
  });

  it('is not long for its images and signatures', async () => {
    const data = Buffer.alloc(12_000_000).toString('base64');
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } } as const;
    const { sent } = await play([YES], {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'memory', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [image] }] },
      ],
    });
    expect(sent).toHaveLength(1);
  });

  it('is summarised in the caller’s words and from the caller’s bound on, with room for the summary', async () => {
    const messages = LONG_CONVERSATION.map((message) => ({ ...message, content: 'word '.repeat(2_000) }));
    const compaction = { triggerTokens: 5_000, instructions: 'Keep the names.' };
    const { sent } = await play([YES], { messages, maxTokens: 100, contextManagement: { compaction } });
    expect(sent[0]?.body).toMatchObject({
      compaction: { type: 'summarize', instructions: 'Keep the names.' },
      max_tokens: 8_192,
    });
    expect(sent[1]?.body).toMatchObject({ max_tokens: 100 });
    const unasked = await play([YES], { messages });
    expect(unasked.sent).toHaveLength(1);
  });

  it('is summarised without thoughts that the API refused, where they may go', async () => {
    const first = await play([{ think: 'Hm.', say: 'Yes.' }], { messages: LONG_CONVERSATION.slice(0, 1) });
    const messages = [...first.outcome.messages, ...LONG_CONVERSATION.slice(2)];
    const changed = { messages, system: 'You sail.', claude: { summarise } };
    const { outcome, sent } = await play([YES], { ...changed, whenPromptsChange: 'drop_thinking' });
    expect(outcome).toMatchObject({ outcome: 'answered', usage: { requests: 2, compactions: 1 } });
    expect(sent.map(({ body }) => 'compaction' in body)).toEqual([true, true, false]);
    const kept = await play([YES], changed);
    expect(kept.outcome).toMatchObject({ outcome: 'failed', code: 'conversation_changed' });
    expect(kept.sent).toHaveLength(1);
  });

  it('is primed behind its summary', async () => {
    const { outcome, sent } = await play([YES], { claude: { summarise }, prime: true });
    expect(outcome).toMatchObject({ outcome: 'answered' });
    expect(sent[1]?.body.messages).toHaveLength(4);
  });

  it.each([
    ['is off', { compaction: false }],
    ['is the caller’s own edits', { edits: [] }],
  ] as const)('is sent as it is where compaction %s', async (_, contextManagement) => {
    const { outcome, sent } = await play([YES], { contextManagement });
    expect(outcome).toMatchObject({ outcome: 'answered' });
    expect(sent).toHaveLength(1);
  });

  it('is sent as it is where no request is left behind that of a summary', async () => {
    const { outcome, sent } = await play([YES], { maxRequests: 1 });
    expect(outcome).toMatchObject({ outcome: 'answered' });
    expect(sent[0]?.body).not.toHaveProperty('compaction');
  });
});

describe('A conversation that becomes long within a turn', () => {
  const tools = [
    {
      type: 'custom' as const,
      name: 'read',
      input_schema: { type: 'object' as const },
      parse: (input: unknown) => input,
      run: () => LONG,
    },
  ];
  const messages: readonly BetaMessageParam[] = [{ role: 'user', content: 'Read it.' }];
  const READ = { say: 'I read.', calls: [{ name: 'read', input: {} }] };

  it('is summarised with the results of its calls, and Claude goes on behind the summary', async () => {
    const { outcome, sent } = await play([READ, YES], { messages, tools, claude: { summarise } });
    expect(outcome).toMatchObject({
      outcome: 'answered',
      text: 'Yes.',
      usage: { requests: 3, compactions: 1 },
      messages: [{ role: 'assistant', content: [SUMMARY] }, { role: 'assistant' }],
    });
    expect(sent[1]?.body).toMatchObject({ compaction: { type: 'summarize' } });
    expect(sent[1]?.body.messages).toHaveLength(3);
    expect(sent[2]?.body.messages).toEqual([{ role: 'assistant', content: [SUMMARY] }]);
    const next = [...outcome.messages, { role: 'user' as const, content: 'Sure?' }];
    const after = await play([YES], { messages: next, digest: outcome.digest, tools });
    expect(after.outcome).toMatchObject({ outcome: 'answered' });
  });

  it('counts what the API has cleared of it', async () => {
    const short = { ...tools[0], run: () => 'word '.repeat(12_000) } as (typeof tools)[0];
    const contextManagement = {
      clearToolUses: { triggerTokens: 20_000, keep: 0 },
      compaction: { triggerTokens: 60_000 },
    };
    const reads = Array.from({ length: 5 }, () => READ);
    const { outcome, sent } = await play([...reads, YES], { messages, tools: [short], contextManagement });
    expect(outcome).toMatchObject({ outcome: 'answered', usage: { compactions: 1 } });
    const at = sent.findIndex(({ body }) => 'compaction' in body);
    expect(JSON.stringify(sent[at]?.body).length).toBeGreaterThan(200_000);
    expect(JSON.stringify(sent[at]?.body).length).toBeLessThan(300_000);
  });

  it('goes on from its summary in another process', async () => {
    const steps: TurnProgress[] = [];
    const first = await play([READ], {
      messages,
      tools,
      claude: { summarise },
      onStep: async (step) => (steps.push(step) === 2 ? 'stop' : 'go_on'),
    });
    expect(first.outcome).toMatchObject({ outcome: 'interrupted', by: 'stopped', usage: { requests: 2 } });
    const [, resumeFrom] = steps;
    if (resumeFrom === undefined) throw new Error('there is no second step');
    const { outcome, sent } = await play([YES], { messages, tools, resumeFrom });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Yes.', usage: { compactions: 1 } });
    expect(sent).toHaveLength(1);
  });

  it('keeps to the most requests of the turn', async () => {
    const { outcome, sent } = await play([READ, READ], { messages, tools, maxRequests: 2 });
    expect(outcome).toMatchObject({ outcome: 'truncated', by: 'max_requests', usage: { requests: 2 } });
    expect(sent.map(({ body }) => 'compaction' in body)).toEqual([false, false]);
  });
});

describe('A summary that is not made', () => {
  const refused = (message: string, options: ConstructorParameters<typeof ApiRefusal>[1]) => () => {
    throw new ApiRefusal(message, options);
  };
  it.each([
    ['was cut off', () => ({ stop: 'max_tokens' }), 'max_tokens'],
    ['has no room', () => ({ stop: 'model_context_window_exceeded' }), 'model_context_window_exceeded'],
    ['became a call', () => ({ stop: 'tool_use' }), 'tool_use'],
    ['was refused', () => ({ stop: 'refusal' }), 'refusal'],
    ['is empty', () => ({ stop: 'end_turn' }), 'end_turn'],
    [
      'is not to be had now',
      refused('Overloaded', {
        status: 529,
        type: 'overloaded_error',
        details: { error_code: 'compaction_unavailable' },
      }),
      'compaction_unavailable',
    ],
    ['is limited', refused('No.', { status: 429, type: 'rate_limit_error' }), 'rate_limit_error'],
    ['comes too late for the window', refused('prompt is too long: 1 tokens > 0', {}), 'prompt_too_long'],
  ] as const)(
    'because it %s is told beside the answer, and asked for once in a turn',
    async (_, make, code) => {
      const { outcome, sent } = await play([VIEW, YES], { claude: { summarise: make } });
      expect(outcome).toMatchObject({
        outcome: 'answered',
        text: 'Yes.',
        compactionFailure: { code, requestId: 'req_scripted' },
        usage: { requests: 3, compactions: 0 },
      });
      expect(sent.map(({ body }) => 'compaction' in body)).toEqual([true, false, false]);
      expect(outcome.messages.slice(0, 3)).toEqual(LONG_CONVERSATION);
    },
  );

  it('because the signal fired ends the turn', async () => {
    const ending = new AbortController();
    const summariseLate = () => {
      ending.abort();
      return 'late';
    };
    const { outcome } = await play([YES], { claude: { summarise: summariseLate }, signal: ending.signal });
    expect(outcome).toMatchObject({ outcome: 'interrupted', by: 'aborted' });
    expect(outcome.messages).toEqual(LONG_CONVERSATION);
  });
});

describe('Where client or model has no compaction on demand', () => {
  it('it is at a threshold, from the request on that would have been for the summary', async () => {
    const lacking = { lacks: ['compaction'], summarise };
    const { outcome, sent, again } = await play([YES, YES], { claude: lacking });
    expect(outcome).toMatchObject({ outcome: 'answered', usage: { requests: 1, compactions: 1 } });
    expect(outcome).not.toHaveProperty('compactionFailure');
    expect(sent.map(({ body }) => 'compaction' in body)).toEqual([true, false]);
    expect(sent[1]?.headers['anthropic-beta']).toBe([CLEARING_BETA, THRESHOLD_BETA].join());
    await again({});
    expect(sent).toHaveLength(3);
    expect(JSON.stringify(sent[2]?.body['context_management'])).toContain('compact_20260112');
  });

  it('it is at a threshold from the first request on where the model is one of Bedrock’s', async () => {
    const model = 'anthropic.claude-opus-4-6';
    const { outcome, sent } = await play([YES], { model, claude: { summarise } });
    expect(outcome).toMatchObject({ outcome: 'answered', usage: { requests: 1, compactions: 1 } });
    expect(sent).toHaveLength(1);
  });

  it('a conversation with a summary of a threshold goes on with it', async () => {
    const model = 'anthropic.claude-opus-4-6';
    const { outcome } = await play([YES], { model, claude: { summarise } });
    const grown = [
      ...outcome.messages,
      { role: 'user' as const, content: LONG },
      { role: 'assistant' as const, content: 'Yes.' },
      { role: 'user' as const, content: 'And now?' },
    ];
    const next = await play([YES], { messages: grown, model: 'claude-opus-4-8', claude: { summarise } });
    expect(next.outcome).toMatchObject({ outcome: 'answered', usage: { requests: 1, compactions: 1 } });
    expect(next.sent).toHaveLength(1);
  });

  it('a summary on demand is told in the user’s name, without the thoughts behind it', async () => {
    const { outcome } = await play([{ think: 'Hm.', say: 'Yes.' }], { claude: { summarise } });
    const messages = [...outcome.messages, { role: 'user' as const, content: 'And now?' }];
    const model = 'anthropic.claude-opus-4-6';
    const moved = await play([YES], { model, messages, digest: outcome.digest });
    expect(moved.outcome).toMatchObject({ outcome: 'answered' });
    expect(moved.sent[0]?.body.messages[0]).toEqual({ role: 'user', content: 'Words were said.' });
    expect(JSON.stringify(moved.sent[0]?.body)).not.toContain('Hm.');
  });
});
