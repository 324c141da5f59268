import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ResultOf } from '../../../src/page/protocol.ts';
import type { PageView } from '../../../src/page/server/answer-questions.ts';
import { openTenantView } from '../../../src/page/server/tenant-view.ts';
import { DAY_MS } from '../../../src/time.ts';
import { openAgent } from '../../stage/page-site.ts';

const asking = { signal: new AbortController().signal, send: async () => {} };
const ask = async ({ questions }: PageView, name: string, input: object): Promise<ResultOf<'plan'>> => {
  const question = questions[name];
  if (question === undefined) throw new Error(`there is no question ${name}`);
  return (await question({ ...input }, asking)) as ResultOf<'plan'>;
};

afterEach(() => {
  vi.useRealTimers();
});

describe('taking back on the page', () => {
  it('previews what an actor did, and takes back that and nothing else', async () => {
    await using agent = await openAgent({ history: { days: 30 } });
    const { files } = agent.memory;
    await files.write('/memories/a.md', 'mine', { actor: 'a user' });
    await files.write('/memories/a.md', 'forged', { actor: 'a stranger' });
    await files.write('/memories/b.md', 'forged', { actor: 'a stranger' });
    const options = { lineOf: () => '' };
    await using reading = await openTenantView(agent.options, options);
    await using view = await openTenantView(agent.options, { ...options, canWrite: true });
    const input = { undo: 'a stranger' };
    const plan = await ask(reading, 'plan', input);
    expect(plan).toMatchObject({
      outcome: 'planned',
      changes: [
        { path: '/memories/a.md', what: 'replace' },
        { path: '/memories/b.md', what: 'delete' },
      ],
      left: [],
    });
    expect('carryOut' in reading.questions).toBe(false);
    await files.write('/memories/c.md', 'forged', { actor: 'a stranger' });
    const other = ask(view, 'carryOut', { ...input, digest: plan.digest });
    await expect(other).rejects.toMatchObject({ code: 'version_conflict' });
    expect((await files.read('/memories/a.md'))?.text()).toBe('forged');
    const { digest } = await ask(view, 'plan', input);
    expect(await ask(view, 'carryOut', { ...input, digest })).toMatchObject({ outcome: 'written' });
    expect((await files.read('/memories/a.md'))?.text()).toBe('mine');
    expect([await files.exists('/memories/b.md'), await files.exists('/memories/c.md')]).toEqual([
      false,
      false,
    ]);
    expect((await agent.memory.history.list('/memories/a.md'))[0]?.writer).toBe('page');
    const gone = await ask(view, 'plan', { at: '1990-01-01T00:00:00Z' });
    expect(gone.outcome).toBe('planned');
    for (const wrong of [{}, { at: 'x' }, { at: 1 }, { undo: 1 }]) {
      await expect(ask(view, 'plan', wrong)).rejects.toMatchObject({ code: 'invalid_command' });
    }
  });

  it('carries out the plan that it showed of a moment before the days that are kept', async () => {
    const now = Date.now();
    vi.useFakeTimers({ toFake: ['Date'], now: now - 3 * DAY_MS });
    await using agent = await openAgent({ history: { days: 1 } });
    const { files } = agent.memory;
    await files.write('/memories/a.md', 'first');
    vi.setSystemTime(now);
    const options = { lineOf: () => '' };
    await using view = await openTenantView(agent.options, { ...options, canWrite: true });
    const input = { at: new Date(now - 2 * DAY_MS).toISOString() };
    const plan = await ask(view, 'plan', input);
    expect(plan.left).toMatchObject([{ path: '/memories', reason: 'too_early' }]);
    const { outcome } = await ask(view, 'carryOut', { ...input, digest: plan.digest });
    expect(outcome).toBe('nothing');
  });
});
