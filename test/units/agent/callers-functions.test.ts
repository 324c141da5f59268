import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TurnProgress, TurnRequest } from '../../../src/agent/index.ts';
import { commands } from '../../stage/scripted-claude.ts';
import { useTurnSite } from './turn-site.ts';

const PARTS = [
  {
    say: 'First.',
    calls: [{ name: 'memory', input: { command: 'create', path: '/memories/f', file_text: 'x' } }],
  },
  commands({ command: 'view', path: '/memories/f' }),
  { say: 'Done.' },
];
const site = useTurnSite();
const { play, isThere } = site;

/** The mistakes of a function of the caller's; `end` is waited for by the one that fails late. */
const WRONG: Readonly<Record<string, (end: Promise<void>) => unknown>> = {
  throws: () => {
    throw new Error('words of the host');
  },
  rejects: () => Promise.reject(new Error('words of the host')),
  'rejects late': async (end) => {
    await end;
    throw new Error('words of the host');
  },
  'answers nothing': () => undefined,
  'answers with rubbish': () => ({ stop: true }),
  'answers with an object that cannot be waited for': () => ({
    // biome-ignore lint/suspicious/noThenProperty: such an object is handed in on purpose
    get then() {
      throw new Error('words of the host');
    },
  }),
};
/** A listener is not waited for; the answer of `onStep` is. */
const NEVER = { 'never ends': () => new Promise(() => {}) };
const FUNCTIONS = ['onCommand', 'onText', 'onToolUse', 'onReply', 'onStep'] as const;

const unhandled: unknown[] = [];
const note = (error: unknown): void => {
  unhandled.push(error);
};
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(() => {
  vi.useRealTimers();
  process.off('unhandledRejection', note);
});

/** Runs the turn of `PARTS`, and tells what came of it: its end, what Claude was shown, and what is stored. */
async function outcomeWith(functions: Partial<TurnRequest>): Promise<unknown> {
  const { outcome, sent } = await play(PARTS, functions);
  const shown = sent.map(({ body }) => JSON.stringify(body.messages).replaceAll(/toolu_\w+/g, 'call'));
  const { outcome: end, usage } = outcome;
  const touches = outcome.touches.list.map(({ kind, path }) => [kind, path]);
  const result = { end, usage, touches, shown, isThere: await isThere('/memories/f') };
  await site.memory.files.remove('/memories/f');
  return result;
}

describe.each(FUNCTIONS)('a turn whose %s', (name) => {
  const wrongs: typeof WRONG = { ...WRONG, ...(name !== 'onStep' && NEVER) };

  it.each(Object.entries(wrongs))('%s ends as without it', async (_, wrong) => {
    const end = Promise.withResolvers<void>();
    let asked = 0;
    const failing = () => {
      asked += 1;
      return wrong(end.promise);
    };
    if (name === 'onStep') end.resolve();
    const outcome = await outcomeWith({ [name]: failing } as Partial<TurnRequest>);
    end.resolve();
    await turn();
    expect(asked).toBeGreaterThan(0);
    expect(unhandled).toEqual([]);
    expect(outcome).toEqual(await outcomeWith({}));
    expect(outcome).toMatchObject({ end: 'answered', isThere: true });
    expect(JSON.stringify(outcome)).not.toContain('words of the host');
  });
});

describe('a turn whose onStep never answers', () => {
  it('goes on after a minute', async () => {
    const asked = Promise.withResolvers<void>();
    let steps = 0;
    const onReply = (): void => {
      if (steps === 0) vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    };
    const onStep = (): Promise<'go_on'> => {
      steps += 1;
      if (steps > 1) return Promise.resolve('go_on');
      asked.resolve();
      return new Promise(() => {});
    };
    const outcome = outcomeWith({ onReply, onStep });
    await asked.promise;
    await vi.advanceTimersByTimeAsync(59_999);
    expect(steps).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    vi.useRealTimers();
    expect(await outcome).toMatchObject({ end: 'answered', isThere: true });
    expect(steps).toBe(3);
  });

  it('stops where it is told to, however that is told', async () => {
    const behind = ({ pending }: TurnProgress) => (pending ? 'go_on' : 'stop');
    const ways = [async (step: TurnProgress) => behind(step), behind as never];
    for (const onStep of ways)
      expect(await outcomeWith({ onStep })).toMatchObject({ end: 'interrupted', isThere: true });
  });
});
