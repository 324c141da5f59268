import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { parseTurnMessage, parseTurnText } from '../../../../src/worker/turn/turn-message.ts';

const TURN = { tenant: 'acme', turn: 'turn-1', prompt: 'What is due today?' };

describe('parseTurnMessage', () => {
  it('takes a prompt as the user’s message', () => {
    expect(parseTurnMessage(TURN)).toEqual({
      tenant: 'acme',
      turn: 'turn-1',
      messages: [{ role: 'user', content: 'What is due today?' }],
    });
  });

  it('takes a conversation and the options as they are', () => {
    const messages = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello.' }] },
      { role: 'user', content: [{ type: 'text', text: 'And now?' }] },
    ];
    const options = { system: 'Be brief.', model: 'claude-sonnet-5-5', maxTokens: 1_000, digest: 'd' };
    const { prompt: _, ...turn } = TURN;
    expect(parseTurnMessage({ ...turn, messages, ...options })).toEqual({ ...turn, messages, ...options });
  });

  it.each(['text', [{ type: 'text', text: 'Hello' }]])('takes a list of one message alone: %j', (content) => {
    const { prompt: _, ...turn } = TURN;
    const messages = [{ role: 'user', content }];
    expect(parseTurnMessage({ ...turn, messages })).toEqual({ ...turn, messages });
  });

  it('takes what is as long as it may be', () => {
    const longest = { turn: 'x'.repeat(256), conversation: 'x'.repeat(256), model: 'x'.repeat(200) };
    for (const maxTokens of [1, 1_000_000]) {
      expect(parseTurnMessage({ ...TURN, ...longest, maxTokens })).toMatchObject({ ...longest, maxTokens });
    }
    const { prompt: _, ...turn } = TURN;
    const given = { messages: [{ role: 'user', content: 'x' }], digest: 'x'.repeat(100) };
    expect(parseTurnMessage({ ...turn, ...given })).toMatchObject(given);
  });

  it('takes system messages within a conversation, also behind the last message of the user', () => {
    const { prompt: _, ...turn } = TURN;
    const messages = [
      { role: 'user', content: 'Hello' },
      { role: 'system', content: 'It is night.' },
    ];
    expect(parseTurnMessage({ ...turn, messages })).toEqual({ ...turn, messages });
  });

  it.each([
    ['nothing', undefined],
    ['a list', [TURN]],
    ['no tenant', { ...TURN, tenant: undefined }],
    ['a tenant in a folder', { ...TURN, tenant: '../acme' }],
    ['a tenant in capitals', { ...TURN, tenant: 'Acme' }],
    ['a list as tenant', { ...TURN, tenant: ['acme'] }],
    ['no turn', { ...TURN, turn: undefined }],
    ['an empty turn', { ...TURN, turn: '' }],
    ['a turn that is too long', { ...TURN, turn: 'x'.repeat(257) }],
    ['a number as turn', { ...TURN, turn: 1 }],
    ['a turn with half of a letter', { ...TURN, turn: 'x\ud83d' }],
    ['a turn that names the tokens of a day', { ...TURN, turn: '["tokens","20600"]' }],
    ['neither messages nor prompt', { ...TURN, prompt: undefined }],
    ['both messages and prompt', { ...TURN, messages: [{ role: 'user', content: 'x' }] }],
    ['an empty prompt', { ...TURN, prompt: '' }],
    ['no messages', { ...TURN, prompt: undefined, messages: [] }],
    ['a message without a role', { ...TURN, prompt: undefined, messages: [{ content: 'x' }] }],
    ['a system message alone', { ...TURN, prompt: undefined, messages: [{ role: 'system', content: 'x' }] }],
    ['an unknown role', { ...TURN, prompt: undefined, messages: [{ role: 'robot', content: 'x' }] }],
    ['a digest of no messages', { ...TURN, digest: 'd' }],
    [
      'a long digest',
      { ...TURN, prompt: undefined, messages: [{ role: 'user', content: 'x' }], digest: 'x'.repeat(101) },
    ],
    [
      'a last word of Claude',
      { ...TURN, prompt: undefined, messages: [{ role: 'assistant', content: 'x' }] },
    ],
    ['an empty model', { ...TURN, model: '' }],
    ['a form of an answer that is none', { ...TURN, answer: 'whole' }],
    ['no form of an answer', { ...TURN, answer: null }],
    ['no room for an answer', { ...TURN, maxTokens: 0 }],
    ['more room for an answer than there is', { ...TURN, maxTokens: 1_000_001 }],
    ['a long model', { ...TURN, model: 'x'.repeat(201) }],
    ['a long conversation', { ...TURN, conversation: 'x'.repeat(257) }],
    ['half a token', { ...TURN, maxTokens: 1.5 }],
    ['an unknown field', { ...TURN, tennant: 'acme' }],
  ])('refuses %s, without repeating it', (_, value) => {
    expect(() => parseTurnMessage(value)).toThrowError(
      expect.objectContaining({ name: 'MemoryError', code: 'invalid_command', retry: 'never' }),
    );
    const message = messageOf(() => parseTurnMessage(value));
    expect(message).not.toContain('What is due');
    expect(message).not.toContain('../acme');
  });

  it('refuses a text that is not JSON', () => {
    expect(messageOf(() => parseTurnText('{"tenant": secret'))).toBe('the message is not JSON');
  });
});

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof MemoryError) return error.message;
    throw error;
  }
  throw new Error('nothing was refused');
}
