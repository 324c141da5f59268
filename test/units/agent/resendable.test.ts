import type { BetaContentBlockParam, BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { describe, expect, it } from 'vitest';
import { resendable } from '../../../src/agent/resendable.ts';

const USER: BetaMessageParam = { role: 'user', content: 'Go on.' };
const THOUGHT: BetaContentBlockParam = { type: 'thinking', thinking: 'Hm.', signature: 's' };
const HIDDEN: BetaContentBlockParam = { type: 'redacted_thinking', data: 'd' };
const WORDS: BetaContentBlockParam = { type: 'text', text: 'Yes. ' };
const CALL: BetaContentBlockParam = { type: 'tool_use', id: 'toolu_1', name: 'memory', input: {} };
const SEARCH: BetaContentBlockParam = {
  type: 'server_tool_use',
  id: 'srvtoolu_1',
  name: 'web_search',
  input: {},
};
const FOUND: BetaContentBlockParam = {
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [],
};
const REMOTE: BetaContentBlockParam = {
  type: 'mcp_tool_use',
  id: 'mcptoolu_1',
  name: 'x',
  server_name: 'y',
  input: {},
};
const SUMMARY: BetaContentBlockParam = { type: 'compaction', content: 'So far.' };

const claude = (...content: BetaContentBlockParam[]): BetaMessageParam => ({ role: 'assistant', content });

describe('resendable', () => {
  it.each([
    ['nothing of a whole reply', [THOUGHT, WORDS], [THOUGHT, WORDS]],
    ['nothing of a search with its result', [THOUGHT, SEARCH, FOUND, WORDS], [THOUGHT, SEARCH, FOUND, WORDS]],
    ['a call without a result', [THOUGHT, WORDS, CALL], [THOUGHT, WORDS]],
    ['a search without a result', [WORDS, SEARCH], [WORDS]],
    ['a call of a connected server without a result', [WORDS, REMOTE], [WORDS]],
    ['thoughts at the end', [WORDS, THOUGHT, HIDDEN], [WORDS]],
    ['thoughts that only a call followed', [WORDS, THOUGHT, CALL], [WORDS]],
    ['thoughts that were signed over a call that goes', [THOUGHT, SEARCH, HIDDEN, WORDS], [THOUGHT, WORDS]],
    ['a text of nothing but space', [THOUGHT, WORDS, { type: 'text', text: '\n' }], [THOUGHT, WORDS]],
    ['an empty text behind a summary', [SUMMARY, { type: 'text', text: '' }], [SUMMARY]],
  ] as const)('leaves out %s', (_, said, kept) => {
    const messages = [USER, claude(...said)];
    expect(resendable(messages)).toEqual([USER, claude(...kept)]);
    expect(resendable(resendable(messages))).toEqual(resendable(messages));
  });

  it.each([
    ['a thought alone', [THOUGHT]],
    ['a thought and a call', [THOUGHT, CALL]],
    ['an empty text', [{ type: 'text', text: '' }]],
    ['nothing', []],
  ] as const)('leaves a message out that holds %s', (_, said) => {
    expect(resendable([USER, claude(...said)])).toEqual([USER]);
  });

  it('leaves a text out that is empty, and keeps one that is not', () => {
    expect(resendable([USER, { role: 'assistant', content: ' ' }])).toEqual([USER]);
    const whole: readonly BetaMessageParam[] = [USER, { role: 'assistant', content: 'Yes.' }];
    expect(resendable(whole)).toEqual(whole);
  });

  it('finds the result of a search in the message that went on', () => {
    const paused = [USER, claude(THOUGHT, SEARCH), claude(FOUND, WORDS)];
    expect(resendable(paused)).toEqual(paused);
    expect(resendable([USER, claude(WORDS, SEARCH), claude(THOUGHT)])).toEqual([USER, claude(WORDS)]);
  });

  it('keeps what stands before the last words as it is, object by object', () => {
    const messages = [USER, claude(THOUGHT, CALL), USER, claude(WORDS)];
    expect(resendable(messages).every((message, i) => message === messages[i])).toBe(true);
    const waiting = [USER, claude(THOUGHT, CALL), USER];
    expect(resendable(waiting)).toEqual(waiting);
    expect(resendable([])).toEqual([]);
  });
});
