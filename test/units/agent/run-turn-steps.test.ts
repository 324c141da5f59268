import { describe, expect, it } from 'vitest';
import { runTurn, type TurnProgress } from '../../../src/agent/index.ts';
import { commands, playClaude } from '../../stage/scripted-claude.ts';
import { type Turn, useTurnSite } from './turn-site.ts';

const CREATE = commands({ command: 'create', path: '/memories/f', file_text: 'x' });
const VIEW = commands({ command: 'view', path: '/memories' });
const DONE = { say: 'Done.' };
const HELLO = [{ role: 'user' as const, content: 'Count.' }];

const site = useTurnSite();

/** Steps of a turn that is stopped at the step with this number, from 1. */
function stopAt(number: number): {
  readonly steps: TurnProgress[];
  readonly onStep: (progress: TurnProgress) => Promise<'go_on' | 'stop'>;
} {
  const steps: TurnProgress[] = [];
  return {
    steps,
    async onStep(progress) {
      steps.push(JSON.parse(JSON.stringify(progress)) as TurnProgress);
      return steps.length === number ? 'stop' : 'go_on';
    },
  };
}

function resumedFrom(resumeFrom: TurnProgress | undefined, turn: Turn): Turn {
  if (resumeFrom === undefined) throw new Error('there is no such step');
  return { ...turn, resumeFrom };
}

describe('runTurn, step by step,', () => {
  it('tells each step behind which Claude is asked again, and not the last one', async () => {
    const { steps, onStep } = stopAt(9);
    const { outcome, sent } = await site.play([CREATE, VIEW, DONE], { onStep });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Done.' });
    const behind = steps.filter(({ pending }) => pending === undefined);
    expect(behind.map(({ usage }) => usage.requests)).toEqual([1, 2]);
    // The messages that are kept are those that are sent next.
    expect(behind.map(({ messages }) => messages)).toEqual(sent.slice(1).map(({ body }) => body.messages));
  });

  it('tells a reply that writes before its tools run, and no other', async () => {
    const isThere: boolean[] = [];
    const { steps, onStep } = stopAt(9);
    const heard: typeof onStep = async (progress) => {
      isThere.push(await site.isThere('/memories/f'));
      return onStep(progress);
    };
    const own = { name: 'ask', description: 'x', input_schema: { type: 'object' as const } };
    const tools = [{ ...own, parse: (input: unknown) => input, run: () => 'yes' }];
    const both = { calls: [...(CREATE.calls ?? []), { name: 'ask', input: {} }] };
    const { sent } = await site.play([VIEW, { calls: [{ name: 'ask', input: {} }] }, both, DONE], {
      onStep: heard,
      tools,
    });
    expect(steps.map(({ pending }) => pending !== undefined)).toEqual([false, false, true, false]);
    expect(isThere).toEqual([false, false, false, true]);
    const kept = steps[2];
    expect(kept?.messages).toEqual(sent[2]?.body.messages);
    expect(kept?.pending?.reply.content.filter(({ type }) => type === 'tool_use')).toHaveLength(2);
    expect(kept?.usage).toEqual(steps[3]?.usage);
  });

  it('makes an edit once, and goes on, where it died behind the edit', async () => {
    await site.memory.files.write('/memories/f', 'old');
    const { steps, onStep } = stopAt(9);
    const insert = commands({ command: 'insert', path: '/memories/f', insert_line: 0, insert_text: 'new' });
    const first = await site.play([insert, DONE], { onStep });
    const uses: unknown[] = [];
    const [kept] = steps;
    if (kept === undefined) throw new Error('there is no step');
    const second = await site.play([DONE], { resumeFrom: kept, onToolUse: (use) => uses.push(use), onStep });
    expect((await site.memory.files.read('/memories/f'))?.text()).toBe('new\nold');
    expect(second.outcome).toMatchObject({ outcome: 'answered', text: 'Done.' });
    expect(second.sent).toHaveLength(1);
    expect(second.sent[0]?.body.messages).toEqual(first.sent[1]?.body.messages);
    expect(second.outcome.usage).toEqual(first.outcome.usage);
    expect(second.outcome.touches).toEqual(first.outcome.touches);
    expect(uses).toEqual([{ name: 'memory', outcome: 'ok' }]);
    // The step behind the tools is told as it was the first time.
    expect(steps.map(({ pending }) => pending !== undefined)).toEqual([true, false, false]);
    expect(steps[2]).toEqual(steps[1]);
  });

  it('makes an edit where it died before it, and runs the tools of the caller again', async () => {
    const { steps, onStep } = stopAt(1);
    const runs: unknown[] = [];
    const own = { name: 'ask', description: 'x', input_schema: { type: 'object' as const } };
    const tools = [{ ...own, parse: (input: unknown) => input, run: () => String(runs.push('run')) }];
    await site.memory.files.write('/memories/f', 'old');
    const look = commands({ command: 'view', path: '/memories/f' });
    const insert = commands({ command: 'insert', path: '/memories/f', insert_line: 0, insert_text: 'new' });
    const both = { calls: [...(insert.calls ?? []), { name: 'ask', input: {} }] };
    const stopped = await site.play([look, both], {
      tools,
      onStep: async (step) => (step.pending ? onStep(step) : 'go_on'),
    });
    expect(stopped.outcome).toMatchObject({ outcome: 'interrupted', by: 'stopped' });
    expect([runs.length, steps.length]).toEqual([0, 1]);
    const [from] = steps;
    if (from === undefined) throw new Error('there is no step');
    const { outcome, sent } = await site.play([DONE], { tools, resumeFrom: from });
    expect(outcome).toMatchObject({ outcome: 'answered' });
    expect(JSON.stringify(sent[0]?.body.messages)).toContain('has been edited');
    expect((await site.memory.files.read('/memories/f'))?.text()).toBe('new\nold');
    expect(runs).toHaveLength(1);
  });

  it('tells Claude of an edit that may have been made, and writes nothing', async () => {
    const { steps, onStep } = stopAt(1);
    await site.play([CREATE], { onStep });
    const [from] = steps;
    if (from === undefined) throw new Error('there is no step');
    await site.memory.files.write('/memories/other', 'x');
    const { sent } = await site.play([DONE], { resumeFrom: from });
    expect(JSON.stringify(sent[0]?.body.messages)).toContain(
      'Error: The edit may have been applied. View /memories/f before trying again.',
    );
    expect(await site.isThere('/memories/f')).toBe(false);
  });

  it('drops the thoughts of a kept reply with the others, where the prompts have changed', async () => {
    const { steps, onStep } = stopAt(1);
    const thinking = { ...CREATE, think: 'Hm.' };
    const model = 'claude-sonnet-5-5';
    await site.play([thinking], { onStep, model });
    const [from] = steps;
    if (from === undefined) throw new Error('there is no step');
    expect(JSON.stringify(from.pending)).toContain('"thinking"');
    const changed = { resumeFrom: from, system: 'Others.', model } as const;
    const refused = await site.play([DONE], changed);
    expect(refused.outcome).toMatchObject({ outcome: 'failed', code: 'conversation_changed' });
    const { outcome, sent } = await site.play([DONE], { ...changed, whenPromptsChange: 'drop_thinking' });
    expect(outcome).toMatchObject({ outcome: 'answered' });
    expect(JSON.stringify(sent)).not.toContain('"thinking"');
  });

  it('stops where it is told to, and goes on from there in another process', async () => {
    const { steps, onStep } = stopAt(3);
    const first = await site.play([CREATE, VIEW], { onStep });
    expect(first.outcome).toMatchObject({ outcome: 'interrupted', by: 'stopped', usage: { requests: 2 } });
    expect(first.outcome.messages).toEqual(steps[2]?.messages);
    expect(await site.isThere('/memories/f')).toBe(true);
    const from = steps[2];
    if (from === undefined) throw new Error('there is no second step');
    const second = await site.play([DONE], { resumeFrom: from, prime: true });
    expect(second.sent).toHaveLength(1);
    expect(second.outcome).toMatchObject({ outcome: 'answered', text: 'Done.', usage: { requests: 3 } });
    expect(second.outcome.usage.inputTokens).toBeGreaterThan(from.usage.inputTokens);
    expect(second.outcome.messages).toHaveLength(6);
  });

  it('keeps the words of a reply that was paused, and asks for the rest', async () => {
    const { steps, onStep } = stopAt(1);
    await using claude = await playClaude([{ say: 'One, ', stop: 'pause_turn' }, { say: 'two.' }]);
    const options = {
      client: claude.client(),
      memory: site.memory,
      model: 'claude-opus-4-8',
      messages: HELLO,
    } as const;
    expect(await runTurn({ ...options, onStep })).toMatchObject({ outcome: 'interrupted', by: 'stopped' });
    expect(steps[0]).toMatchObject({ text: 'One, ' });
    const [from] = steps;
    if (from === undefined) throw new Error('there is no step');
    expect(await runTurn({ ...options, resumeFrom: from })).toMatchObject({
      outcome: 'answered',
      text: 'One, two.',
    });
  });

  it('counts the requests of earlier runs towards the limit of the turn', async () => {
    const { steps, onStep } = stopAt(2);
    await site.play([VIEW, VIEW], { onStep });
    const [, from] = steps;
    if (from === undefined) throw new Error('there is no second step');
    const { outcome, sent } = await site.play([VIEW, VIEW, DONE], { resumeFrom: from, maxRequests: 3 });
    expect(outcome).toMatchObject({ outcome: 'truncated', by: 'max_requests' });
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['calls tools', { say: 'I look.', ...VIEW }],
    ['pauses', { say: 'I look.', stop: 'pause_turn' }],
  ])('ends without a request where it goes on behind its last reply, which %s', async (_, last) => {
    const { steps, onStep } = stopAt(2);
    const first = await site.play([VIEW, last], { onStep, maxRequests: 2 });
    expect(first.outcome).toMatchObject({ outcome: 'interrupted', by: 'stopped' });
    const whole = await site.play([VIEW, last], { maxRequests: 2 });
    const { outcome, sent } = await site.play([DONE], resumedFrom(steps[1], { maxRequests: 2 }));
    expect(sent).toHaveLength(0);
    expect(outcome).toMatchObject({
      outcome: 'truncated',
      by: 'max_requests',
      text: 'I look.',
      reply: { stop_reason: whole.outcome.outcome === 'truncated' && whole.outcome.reply.stop_reason },
      usage: { requests: 2 },
    });
    expect(outcome.messages).toHaveLength(whole.outcome.messages.length);
  });

  it('ends with the words of its last reply alone, where it died before the tools of that one', async () => {
    const parts = [
      { say: 'I look.', ...VIEW },
      { say: 'I write.', ...CREATE },
    ];
    const { steps, onStep } = stopAt(2);
    await site.play(parts, { onStep, maxRequests: 2 });
    expect(steps[1]?.pending).toBeDefined();
    const { outcome, sent } = await site.play([], resumedFrom(steps[1], { maxRequests: 2 }));
    expect(sent).toHaveLength(0);
    expect(outcome).toMatchObject({ outcome: 'truncated', by: 'max_requests', text: 'I write.' });
  });

  it('goes on behind its last reply where it may have more of them by then', async () => {
    const { steps, onStep } = stopAt(1);
    await site.play([{ say: 'I look.', ...VIEW }], { onStep, maxRequests: 1 });
    const { outcome } = await site.play([DONE], resumedFrom(steps[0], { maxRequests: 2 }));
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Done.', usage: { requests: 2 } });
  });

  it.each([1, 2])('has one more reply where only %i may be left of those it had', async (maxRequests) => {
    const { steps, onStep } = stopAt(2);
    await site.play([VIEW, VIEW], { onStep });
    const { outcome, sent } = await site.play([VIEW, VIEW, DONE], resumedFrom(steps[1], { maxRequests }));
    expect(outcome).toMatchObject({ outcome: 'truncated', by: 'max_requests', usage: { requests: 3 } });
    expect(sent).toHaveLength(1);
  });
});
