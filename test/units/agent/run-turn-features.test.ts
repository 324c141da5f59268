import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runTurn, type TurnRequest } from '../../../src/agent/index.ts';
import { type Memory, openMemory } from '../../../src/index.ts';
import { type PlayedClaude, playClaude, type Sent } from '../../stage/scripted-claude.ts';

const QUESTION: readonly BetaMessageParam[] = [{ role: 'user', content: 'Where were we?' }];
const YES = { say: 'Yes.' };

let memory: Memory;

beforeEach(async () => {
  memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
});

afterEach(() => memory.close());

function ask(
  client: ReturnType<PlayedClaude['client']>,
  options: Partial<TurnRequest> = {},
): ReturnType<typeof runTurn> {
  return runTurn({ client, memory, model: 'claude-sonnet-5-5', messages: QUESTION, ...options });
}

const editsIn = ({ body }: Sent): readonly string[] =>
  ((body['context_management'] as { edits?: { type: string }[] } | undefined)?.edits ?? []).map(
    ({ type }) => type,
  );

describe('What a model lacks', () => {
  it('is not asked for where that is known', async () => {
    await using claude = await playClaude([YES]);
    expect(await ask(claude.client(), { model: 'claude-haiku-4-5' })).toMatchObject({ outcome: 'answered' });
    expect(claude.sent.map(editsIn)).toEqual([['clear_tool_uses_20250919']]);
    expect(claude.sent[0]?.headers['anthropic-beta']).toBe('context-management-2025-06-27');
  });

  it('is asked for once, and not again with the same model', async () => {
    await using claude = await playClaude([YES, YES, YES], { lacks: ['compact_20260112'] });
    const client = claude.client();
    const model = 'anthropic.claude-sonnet-5-5';
    for (const _ of [1, 2]) expect(await ask(client, { model })).toMatchObject({ outcome: 'answered' });
    await ask(client, { model: 'anthropic.claude-opus-5-5' });
    const [both, one] = [['clear_tool_uses_20250919', 'compact_20260112'], ['clear_tool_uses_20250919']];
    expect(claude.sent.map(editsIn)).toEqual([both, one, one, both, one]);
  });

  it('may be everything', async () => {
    const lacks = ['compact_20260112', 'clear_tool_uses_20250919', 'clear_thinking_20251015'];
    await using claude = await playClaude([YES], { lacks });
    const contextManagement = { keepThinkingTurns: 2 };
    expect(await ask(claude.client(), { contextManagement })).toMatchObject({
      outcome: 'answered',
      usage: { requests: 1 },
    });
    expect(claude.sent.at(-1)?.body).not.toHaveProperty('context_management');
    expect(claude.sent.at(-1)?.headers).not.toHaveProperty('anthropic-beta');
  });

  it('is no excuse for a malformed option', async () => {
    await using claude = await playClaude([YES]);
    const contextManagement = { compaction: { triggerTokens: 5 } };
    const model = 'anthropic.claude-sonnet-5-5';
    expect(await ask(claude.client(), { model, contextManagement })).toMatchObject({
      outcome: 'failed',
      code: 'invalid_request_error',
    });
    expect(claude.sent).toHaveLength(1);
  });
});

describe('Context edits', () => {
  it('have every option of the API', async () => {
    await using claude = await playClaude([YES]);
    const outcome = await ask(claude.client(), {
      contextManagement: {
        keepThinkingTurns: 2,
        clearToolUses: { clearAtLeastTokens: 5000, clearInputs: ['read'] },
        compaction: false,
      },
    });
    expect(outcome).toMatchObject({ outcome: 'answered' });
    expect(claude.sent[0]?.body['context_management']).toEqual({
      edits: [
        { type: 'clear_thinking_20251015', keep: { type: 'thinking_turns', value: 2 } },
        {
          type: 'clear_tool_uses_20250919',
          trigger: { type: 'input_tokens', value: 100_000 },
          keep: { type: 'tool_uses', value: 3 },
          exclude_tools: ['memory'],
          clear_at_least: { type: 'input_tokens', value: 5000 },
          clear_tool_inputs: ['read'],
        },
      ],
    });
  });

  it('may be given as the API takes them', async () => {
    await using claude = await playClaude([YES]);
    const edits = [
      { type: 'clear_thinking_20251015' as const, keep: 'all' as const },
      {
        type: 'clear_tool_uses_20250919' as const,
        trigger: { type: 'tool_uses' as const, value: 5 },
        keep: { type: 'tool_uses' as const, value: 2 },
        clear_tool_inputs: true,
      },
    ];
    expect(await ask(claude.client(), { contextManagement: { edits } })).toMatchObject({
      outcome: 'answered',
    });
    expect(claude.sent[0]?.body['context_management']).toEqual({ edits });
    await expect(ask(claude.client(), { contextManagement: { keepThinkingTurns: 0 } })).rejects.toMatchObject(
      { code: 'misconfigured' },
    );
  });
});

describe('The prompt cache', () => {
  it('is on by default, and what is read from it is counted', async () => {
    await using claude = await playClaude([YES, YES]);
    const client = claude.client();
    const long: BetaMessageParam = { role: 'user', content: 'x'.repeat(40_000) };
    const first = await ask(client, { messages: [long] });
    expect(first.usage).toMatchObject({ cacheReadTokens: 0 });
    expect(first.usage.cacheWriteTokens).toBeGreaterThan(9_000);
    const second = await ask(client, { messages: [...first.messages, ...QUESTION] });
    expect(second.usage.cacheReadTokens).toBeGreaterThan(9_000);
    expect(claude.sent[0]?.body['cache_control']).toEqual({ type: 'ephemeral' });
  });

  it('is what the caller wants it to be', async () => {
    await using claude = await playClaude([YES, YES]);
    const ttl = { type: 'ephemeral' as const, ttl: '1h' as const };
    await ask(claude.client(), { extras: { cache_control: ttl } });
    await ask(claude.client(), { extras: { cache_control: null } });
    expect(claude.sent.map(({ body }) => body['cache_control'])).toEqual([ttl, null]);
  });
});
