import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { describe, expect, it } from 'vitest';
import { conversationDigest, onBasis } from '../../../src/agent/conversation-digest.ts';

const TOOL = { type: 'custom', name: 'read', input_schema: { type: 'object' } };
const BASIS = { system: 'Be brief.', systemAdditions: { topic: 'bread' }, tools: [TOOL] } as const;

describe('conversationDigest', () => {
  it('is short, and the same for the same prompts and tools', () => {
    expect(conversationDigest(BASIS)).toMatch(/^[\w-]{43}$/);
    expect(conversationDigest(structuredClone(BASIS))).toBe(conversationDigest(BASIS));
    expect(conversationDigest({})).toBe(conversationDigest({ systemAdditions: {}, tools: [] }));
  });

  it.each([
    ['another system prompt', { system: 'Be long.' }],
    ['no system prompt', { system: '' }],
    ['a system prompt in blocks', { system: [{ type: 'text' as const, text: 'Be brief.' }] }],
    ['another topic', { systemAdditions: { topic: 'cake' } }],
    ['a word on order', { systemAdditions: { topic: 'bread', tidy: true } }],
    ['another description of a tool', { tools: [{ ...TOOL, description: 'Reads.' }] }],
    ['one tool more', { tools: [TOOL, { ...TOOL, name: 'write' }] }],
    ['another definition of the memory tool', { toolProps: { strict: true } }],
  ])('is another one with %s', (_, change) => {
    expect(conversationDigest({ ...BASIS, ...change })).not.toBe(conversationDigest(BASIS));
  });

  it('is another one with another order of the tools', () => {
    const tools = [TOOL, { ...TOOL, name: 'write' }];
    expect(conversationDigest({ tools: tools.toReversed() })).not.toBe(conversationDigest({ tools }));
  });

  it('is the same with other functions behind the tools, and with other marks of the cache', () => {
    const mark = { cache_control: { type: 'ephemeral' as const } };
    const marked = {
      system: [{ type: 'text' as const, text: 'Be brief.', ...mark }],
      toolProps: mark,
      tools: [{ ...TOOL, ...mark, run: () => 'x', parse: (value: unknown) => value }],
    };
    const plain = { system: [{ type: 'text' as const, text: 'Be brief.' }], tools: [TOOL] };
    expect(conversationDigest(marked)).toBe(conversationDigest(plain));
    const inSchema = { ...TOOL, input_schema: { properties: { cache_control: {} } } };
    expect(conversationDigest({ tools: [inSchema] })).not.toBe(
      conversationDigest({ tools: [{ ...TOOL, input_schema: { properties: {} } }] }),
    );
  });
});

describe('onBasis', () => {
  const thought = { type: 'thinking' as const, thinking: 'Hm.', signature: 's' };
  const user: BetaMessageParam = { role: 'user', content: 'Hello' };
  const messages: readonly BetaMessageParam[] = [
    user,
    { role: 'assistant', content: [thought, { type: 'tool_use', id: 't', name: 'memory', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: '' }] },
    { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'd' }] },
    { role: 'assistant', content: 'Hi.' },
  ];

  it('takes messages as they are on their own basis, without thoughts, and without a digest', () => {
    expect(onBasis('a', { messages, digest: 'a' })).toBe(messages);
    expect(onBasis('a', { messages })).toBe(messages);
    expect(onBasis('a', { messages: [user], digest: 'b' })).toEqual([user]);
  });

  it('says so where thoughts were thought on another one, or leaves all of them out', () => {
    expect(onBasis('a', { messages, digest: 'b' })).toBe('changed');
    expect(onBasis('a', { messages, digest: 'b' }, 'fail')).toBe('changed');
    expect(onBasis('a', { messages, digest: 'b' }, 'drop_thinking')).toEqual([
      user,
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'memory', input: {} }] },
      messages[2],
      messages[4],
    ]);
  });
});
