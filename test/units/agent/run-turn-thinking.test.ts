import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runTurn, type TurnOutcome, type TurnProgress, type TurnRequest } from '../../../src/agent/index.ts';
import { type Memory, openMemory } from '../../../src/index.ts';
import { commands, type Played, playClaude, type Sent } from '../../stage/scripted-claude.ts';

const MODEL = 'claude-sonnet-5-5';
const VIEW = commands({ command: 'view', path: '/memories' });
const QUESTION: readonly BetaMessageParam[] = [{ role: 'user', content: 'Where were we?' }];
const NEXT: BetaMessageParam = { role: 'user', content: 'And now?' };
const READ = {
  type: 'custom' as const,
  name: 'read',
  input_schema: { type: 'object' as const },
  parse: (input: unknown) => input,
  run: () => 'x',
};

let memory: Memory;

beforeEach(async () => {
  memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
});

afterEach(() => memory.close());

async function play(
  parts: readonly Played[],
  options: Partial<Omit<TurnRequest, 'client' | 'memory'>> = {},
): Promise<{ readonly outcome: TurnOutcome; readonly sent: readonly Sent[] }> {
  await using claude = await playClaude(parts);
  const client = claude.client();
  const outcome = await runTurn({ client, memory, model: MODEL, messages: QUESTION, ...options });
  return { outcome, sent: claude.sent };
}

/** A turn with its thoughts in it, and what the next turn is given of it. */
async function converse(options: Partial<TurnRequest> = {}) {
  const { outcome } = await play([VIEW, { say: 'Nowhere yet.', think: 'Hm.' }], options);
  return { messages: [...outcome.messages, NEXT], digest: outcome.digest };
}

const holdsThoughts = (messages: unknown): boolean => JSON.stringify(messages).includes('"signature"');

describe('A conversation with thoughts in it', () => {
  it('goes on turn after turn, each behind the bytes of the one before', async () => {
    const first = await converse({ system: 'Be brief.' });
    expect(holdsThoughts(first.messages)).toBe(true);
    const { outcome, sent } = await play([VIEW, { say: 'Still nowhere.' }], {
      ...first,
      system: 'Be brief.',
    });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Still nowhere.', digest: first.digest });
    expect(JSON.stringify(sent[0]?.body.messages)).toBe(JSON.stringify(first.messages));
  });

  it.each([
    ['the system prompt', { system: 'Be long.' }],
    ['the additions to it', { system: 'Be brief.', systemAdditions: { tidy: true } }],
    ['a tool', { system: 'Be brief.', tools: [READ] }],
  ])('is refused by a code of its own before Claude is asked, when %s has changed', async (_, change) => {
    const first = await converse({ system: 'Be brief.' });
    const { outcome, sent } = await play([{ say: 'Never said.' }], { ...first, ...change });
    expect(outcome).toMatchObject({
      outcome: 'failed',
      source: 'conversation',
      code: 'conversation_changed',
      retry: 'never',
      ...first,
      usage: { requests: 0 },
    });
    expect(sent).toEqual([]);
  });

  it('is refused by Claude without the digest, which is the same code', async () => {
    const { messages } = await converse({ system: 'Be brief.' });
    const { outcome, sent } = await play([{ say: 'Never said.' }], { messages, system: 'Be long.' });
    expect(outcome).toMatchObject({
      outcome: 'failed',
      code: 'conversation_changed',
      requestId: 'req_scripted',
    });
    const { error } = outcome as { readonly error: Error };
    expect(error.message).toContain('Invalid `signature` in `thinking` block');
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['its digest', true, 1],
    ['the refusal alone', false, 2],
  ])('goes on without its thoughts where these may be dropped, by %s', async (_, withDigest, requests) => {
    const { messages, digest } = await converse({ system: 'Be brief.' });
    const { outcome, sent } = await play([{ say: 'Still nowhere.', think: 'Aha.' }], {
      messages,
      ...(withDigest && { digest }),
      system: 'Be long.',
      whenPromptsChange: 'drop_thinking',
    });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Still nowhere.' });
    expect(sent).toHaveLength(requests);
    expect(holdsThoughts(sent.at(-1)?.body.messages)).toBe(false);
    const third = await play([{ say: 'Here.' }], {
      messages: [...outcome.messages, NEXT],
      digest: outcome.digest,
      system: 'Be long.',
    });
    expect(third.outcome).toMatchObject({ outcome: 'answered', text: 'Here.' });
    expect(holdsThoughts(third.sent[0]?.body.messages)).toBe(true);
  });

  it('keeps its thoughts when only marks of the cache have changed', async () => {
    const system = [{ type: 'text' as const, text: 'Be brief.' }];
    const marked = [
      { type: 'text' as const, text: 'Be brief.', cache_control: { type: 'ephemeral' as const } },
    ];
    const first = await converse({ system });
    const { outcome, sent } = await play([{ say: 'Yes.' }], { ...first, system: marked });
    expect(outcome).toMatchObject({ outcome: 'answered' });
    expect(holdsThoughts(sent[0]?.body.messages)).toBe(true);
  });

  it('goes on from a step with the bytes that were sent, and without thoughts behind other prompts', async () => {
    const steps: TurnProgress[] = [];
    const onStep = async (progress: TurnProgress) => {
      steps.push(JSON.parse(JSON.stringify(progress)) as TurnProgress);
      return 'stop' as const;
    };
    const first = await play([VIEW], { system: 'Be brief.', onStep });
    const [from] = steps;
    if (from === undefined) throw new Error('there is no step');
    const { messages } = first.outcome;
    const second = await play([{ say: 'Done.' }], { system: 'Be brief.', resumeFrom: from });
    expect(second.outcome).toMatchObject({ outcome: 'answered' });
    expect(JSON.stringify(second.sent[0]?.body.messages)).toBe(JSON.stringify(messages));
    const changed = { system: 'Be long.', from, whenPromptsChange: 'drop_thinking' } as const;
    const redeployed = await play([{ say: 'Done.' }], changed);
    expect(redeployed.outcome).toMatchObject({ outcome: 'answered' });
    expect(holdsThoughts(redeployed.sent[0]?.body.messages)).toBe(false);
  });

  it('is as it was given after a refusal, with its thoughts and its digest', async () => {
    const first = await converse({ system: 'Be brief.' });
    const change = { system: 'Be long.', whenPromptsChange: 'drop_thinking' } as const;
    const { outcome } = await play([VIEW, { say: 'I', stop: 'refusal' }], { ...first, ...change });
    expect(outcome).toMatchObject({ outcome: 'refused', ...first });
  });
});

describe('A reply', () => {
  it.each([
    ['within its first thoughts', { think: 'Hm.' }, 'thinking', ''],
    ['within thoughts behind words', { say: 'Let me see. ', thinkLast: 'Hm.' }, 'max_tokens', 'Let me see. '],
  ])('that ends %s leaves a conversation that can go on', async (_, part, by, text) => {
    const { outcome } = await play([VIEW, { ...part, stop: 'max_tokens' }]);
    expect(outcome).toMatchObject({ outcome: 'truncated', by, text });
    const last = outcome.messages.at(-1);
    expect(JSON.stringify(last)).not.toContain('"thinking":"Hm."}]');
    const messages = [...outcome.messages, NEXT];
    const next = await play([{ say: 'Yes.' }], { messages, digest: outcome.digest });
    expect(next.outcome).toMatchObject({ outcome: 'answered', text: 'Yes.' });
  });

  it('that stops for a reason that is not known yet is truncated', async () => {
    const { outcome } = await play([{ say: 'Yes.', stop: 'tired' }]);
    expect(outcome).toMatchObject({ outcome: 'truncated', by: 'unknown', text: 'Yes.' });
  });

  it('that was stopped by a sequence of the caller’s is an answer', async () => {
    const { outcome } = await play([{ say: 'Yes.', stop: 'stop_sequence' }]);
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Yes.' });
  });

  it.each([
    ['nothing', { think: false }],
    ['nothing but thoughts', {}],
    ['nothing but space', { say: '\n\n' }],
  ] as const)('that ends its turn with %s is asked for once more', async (_, empty) => {
    const { outcome, sent } = await play([VIEW, empty, { say: 'Nowhere yet.' }]);
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Nowhere yet.', usage: { requests: 3 } });
    expect(sent[2]?.body.messages.at(-1)).toEqual({ role: 'user', content: 'Please continue.' });
    const next = await play([{ say: 'Yes.' }], { messages: [...outcome.messages, NEXT] });
    expect(next.outcome).toMatchObject({ outcome: 'answered' });
  });

  it('that is empty twice truncates the turn, and leaves nothing of it behind', async () => {
    const { outcome, sent } = await play([VIEW, {}, { think: false, say: '\n' }]);
    const usage = { requests: 3 };
    expect(outcome).toMatchObject({ outcome: 'truncated', by: 'wordless', text: '', usage });
    expect(sent).toHaveLength(3);
    expect(outcome.messages).toHaveLength(3);
  });

  it('that is empty, and the last that the turn may have, truncates it as well', async () => {
    const { outcome } = await play([VIEW, {}], { maxRequests: 2 });
    expect(outcome).toMatchObject({ outcome: 'truncated', by: 'wordless', usage: { requests: 2 } });
  });

  it('that a sequence of the caller’s stopped before a word is an empty answer', async () => {
    const { outcome, sent } = await play([{ stop: 'stop_sequence' }]);
    expect(outcome).toMatchObject({ outcome: 'answered', text: '' });
    expect(sent).toHaveLength(1);
  });

  it('that ends within a search of the API’s leaves the search out', async () => {
    const tools = [{ type: 'web_search_20250305' as const, name: 'web_search' as const }];
    const { outcome } = await play([{ say: 'I look.', searching: 'bread', stop: 'max_tokens' }], { tools });
    expect(outcome).toMatchObject({ outcome: 'truncated', by: 'max_tokens', text: 'I look.' });
    const next = await play([{ say: 'Yes.' }], { messages: [...outcome.messages, NEXT], tools });
    expect(next.outcome).toMatchObject({ outcome: 'answered' });
  });
});

it('What the caller says of changed thoughts is sent, and what was dropped is told', async () => {
  const { messages } = await converse({ system: 'Be brief.' });
  const dropped: unknown[] = [];
  const { outcome } = await play([{ say: 'Yes.' }], {
    messages,
    system: 'Be long.',
    extras: {
      betas: ['thinking-binding-controls-2026-08-01'],
      thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } },
    },
    onReply: (reply) => dropped.push(...(reply.input_transformations ?? [])),
  });
  expect(outcome).toMatchObject({ outcome: 'answered', text: 'Yes.' });
  expect(dropped).toMatchObject([{ type: 'thinking_dropped' }, { type: 'thinking_dropped' }]);
});

describe('The request', () => {
  it('leaves room for thoughts, and names an effort when there is one', async () => {
    const { sent } = await play([{ say: 'Yes.' }]);
    expect(sent[0]?.body['max_tokens']).toBe(16_000);
    expect(sent[0]?.body).not.toHaveProperty('output_config');
    const other = await play([{ say: 'Yes.' }], { effort: 'low', maxTokens: 5 });
    expect(other.sent[0]?.body).toMatchObject({ max_tokens: 5, output_config: { effort: 'low' } });
  });

  it('takes system messages within a conversation', async () => {
    const messages: readonly BetaMessageParam[] = [...QUESTION, { role: 'system', content: 'It is night.' }];
    const { outcome } = await play([VIEW, { say: 'Good night.' }], { messages, prime: true });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Good night.' });
    const next = await play([{ say: 'Yes.' }], { messages: [...outcome.messages, NEXT] });
    expect(next.outcome).toMatchObject({ outcome: 'answered' });
  });

  it('tells words as they arrive, of every reply', async () => {
    const heard: string[] = [];
    const onText = (delta: string) => heard.push(delta);
    await play(
      [
        { ...VIEW, say: 'I look. ' },
        { say: 'Nowhere.', think: 'Hm.' },
      ],
      { onText },
    );
    expect(heard).toEqual(['I look. ', 'Nowhere.']);
  });
});
