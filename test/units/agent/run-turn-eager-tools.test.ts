import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { describe, expect, it } from 'vitest';
import { useTurnSite } from './turn-site.ts';

const site = useTurnSite();
const CALLS = {
  calls: [
    { name: 'weigh', input: {} },
    { name: 'memory', input: { command: 'create', path: '/memories/f', file_text: 'x' } },
  ],
};
const DONE = { say: 'Done.' };
/** All of the reply but its last event. */
const CUT = { fault: 'break' as const, afterEvents: 8, part: CALLS };

function scales(): { readonly weighed: () => number; readonly tool: BetaRunnableTool } {
  let weighed = 0;
  return {
    weighed: () => weighed,
    tool: {
      type: 'custom',
      name: 'weigh',
      input_schema: { type: 'object' },
      parse: (input: unknown) => input,
      run: () => `${++weighed} kg`,
    },
  };
}

describe('runToolsEagerly', () => {
  it.each([
    ['runs a call of a tool before its reply is whole', true, 1],
    ['is off by default', undefined, 0],
  ] as const)('%s, and never one of the memory', async (_, runToolsEagerly, before) => {
    const { tool, weighed } = scales();
    const eager = runToolsEagerly === undefined ? {} : { runToolsEagerly };
    const { outcome, sent } = await site.play([CUT, DONE], { tools: [tool], ...eager });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Done.' });
    expect(weighed()).toBe(before);
    expect(await site.isThere('/memories/f')).toBe(false);
    expect(sent.map(({ body }) => 'runToolsEagerly' in body)).toEqual([false, false]);
  });

  it('hands the results over in the order of the calls, each run once', async () => {
    const { tool, weighed } = scales();
    const used: string[] = [];
    const { outcome, sent } = await site.play([CALLS, DONE], {
      tools: [tool],
      runToolsEagerly: true,
      onToolUse: ({ name, outcome: end }) => used.push(`${name} ${end}`),
    });
    expect(outcome).toMatchObject({ outcome: 'answered' });
    expect([weighed(), await site.isThere('/memories/f'), used]).toEqual([
      1,
      true,
      ['weigh ok', 'memory ok'],
    ]);
    expect(sent[1]?.body.messages.at(-1)).toMatchObject({ content: [{ content: '1 kg' }, {}] });
  });
});
