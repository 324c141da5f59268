import { afterEach, describe, expect, it, vi } from 'vitest';
import type { PlanOutcome } from '../../../src/history/change/plan.ts';
import { createHistory, type History } from '../../../src/history/history.ts';
import type { Policy } from '../../../src/tree/admission/policy.ts';
import type { TenantLimits } from '../../../src/tree/admission/quota.ts';
import { createTree } from '../../../src/tree/tree.ts';
import { keepingClient, textsOf } from '../../stage/history-site.ts';
import { at, bytes, openSite, type TestClient, type TestSite } from '../../stage/test-tree.ts';

const [A, B, C, NEW] = ['/memories/a', '/memories/b', '/memories/c', '/memories/new'];
const ACTOR = 'operator';

afterEach(() => void vi.useRealTimers());

/** Three texts of ann's, and what bad made of them: one edited, one renamed, one deleted, and a new file. */
async function poisoned(): Promise<{ site: TestSite; client: TestClient; moment: Date }> {
  const site = await openSite();
  const client = await keepingClient(site);
  const { tree } = client;
  const [ann, bad] = [{ actor: 'ann' }, { actor: 'bad' }];
  for (const path of [A, B, C]) await tree.create(at(path), bytes(`ann ${path}`), ann);
  await site.time.pause(10);
  const moment = new Date(site.time.clock());
  await site.time.pause(10);
  await tree.overwrite(at(A), bytes('bad'), bad);
  await tree.rename({ from: at(B), to: at('/memories/moved') }, bad);
  await tree.remove(at(C), bad);
  await tree.create(at(NEW), bytes('new'), bad);
  return { site, client, moment };
}

/** The history of a process with that policy, and those limits. */
async function historyWith(
  site: TestSite,
  { policy, limits }: { readonly policy?: Policy; readonly limits?: TenantLimits },
): Promise<{ history: History; client: TestClient }> {
  const client = await site.client({
    keepsHistory: true,
    clock: () => Math.floor(site.time.clock()),
    ...(limits && { limits }),
  });
  client.intercept(async (_, proceed) => {
    await site.time.pause(2);
    return proceed();
  });
  const tenant = { ...client.tenant, policy };
  return { history: createHistory(tenant, createTree(tenant)), client };
}

function writesOf({ calls }: TestClient): readonly string[] {
  return calls.flatMap(({ verb }) => (verb === 'put' || verb === 'delete' ? [verb] : []));
}

type Asked = (history: History, moment: Date, options?: object) => Promise<PlanOutcome>;
const restoreAt: Asked = (history, moment, options) =>
  history.restoreAt(moment, { actor: ACTOR, ...options });
const undo: Asked = (history, _, options) => history.undo({ writer: 'bad', actor: ACTOR, ...options });

const THEN = { [A]: `ann ${A}`, [B]: `ann ${B}`, [C]: `ann ${C}` };
const NOW = { [A]: 'bad', '/memories/moved': `ann ${B}`, [NEW]: 'new' };

/** Refuses what is to be at one path. */
const refusing =
  (refused: string): Policy =>
  ({ path }) =>
    path === refused ? { refuse: [{ rule: 'ours' }] } : 'allow';

describe('what the policy refuses', () => {
  it.each([A, B, C])(
    'is told before restoreAt writes anything, and left with partial: %s',
    async (refused) => {
      const { site, moment } = await poisoned();
      const { history, client } = await historyWith(site, { policy: refusing(refused) });
      const left = expect.arrayContaining([
        { path: refused, reason: 'refused', rules: ['ours'], version: expect.any(String) },
      ]);
      expect(await restoreAt(history, moment, { dryRun: true })).toMatchObject({ outcome: 'planned', left });
      client.calls.length = 0;
      expect(await restoreAt(history, moment)).toMatchObject({ outcome: 'withheld', left });
      expect(writesOf(client)).toEqual([]);
      expect(await textsOf(client)).toEqual(NOW);
      expect(await restoreAt(history, moment, { partial: true })).toMatchObject({ outcome: 'written', left });
      const { [refused]: _, ...others } = THEN;
      const kept = { [A]: { [A]: 'bad' }, [B]: { '/memories/moved': `ann ${B}` }, [C]: {} }[refused];
      // A file that is not written at its earlier place stays where it is now.
      expect(await textsOf(client)).toEqual({ ...others, ...kept });
      expect(await restoreAt(history, moment)).toMatchObject({ outcome: 'withheld', changes: [] });
    },
  );

  it.each([A, B, C])('is left by undo, which does the rest: %s', async (refused) => {
    const { site, moment } = await poisoned();
    const { history, client } = await historyWith(site, { policy: refusing(refused) });
    const path = refused === B ? '/memories/moved' : refused;
    const left = [{ path, reason: 'refused', rules: ['ours'], version: expect.any(String) }];
    const planned = await undo(history, moment, { dryRun: true });
    expect(planned).toMatchObject({ outcome: 'planned', left });
    for (const each of planned.left) expect(each).not.toHaveProperty('limit');
    const { digest } = planned;
    expect(await undo(history, moment, { digest })).toMatchObject({ outcome: 'written', left });
    const { [refused]: _, ...others } = THEN;
    const kept = { [A]: { [A]: 'bad' }, [B]: { '/memories/moved': `ann ${B}` }, [C]: {} }[refused];
    expect(await textsOf(client)).toEqual({ ...others, ...kept });
  });

  it.each([
    ['restoreAt', restoreAt],
    ['undo', undo],
  ])('is told by a policy that changes its mind, and %s has deleted nothing before', async (_, ask) => {
    const { site, moment } = await poisoned();
    let asked = 0;
    const policy: Policy = () => (++asked > 6 ? { refuse: [{ rule: 'ours' }] } : 'allow');
    const { history, client } = await historyWith(site, { policy });
    await ask(history, moment, { dryRun: true });
    const judged = asked;
    asked = 6 - judged;
    await expect(ask(history, moment)).rejects.toMatchObject({ code: 'policy_refused' });
    expect(Object.values(await textsOf(client))).toEqual(expect.arrayContaining([`ann ${B}`, 'new']));
    asked = Number.NEGATIVE_INFINITY;
    expect(await ask(history, moment)).toMatchObject({ outcome: 'written', left: [] });
    expect(await textsOf(client)).toEqual(THEN);
  });

  it.each([
    ['restoreAt', restoreAt],
    ['undo', undo],
  ])('is waited for 60 s at most, and %s writes nothing then', async (_, ask) => {
    const { site, moment } = await poisoned();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let asked = 0;
    const policy: Policy = () => {
      asked += 1;
      return new Promise(() => {});
    };
    const { history, client } = await historyWith(site, { policy });
    const ended = expect(ask(history, moment)).rejects.toMatchObject({ code: 'unavailable' });
    client.calls.length = 0;
    // Every text is waited for at once.
    await vi.waitUntil(() => asked === 3, 10_000);
    await vi.advanceTimersByTimeAsync(60_000);
    await ended;
    expect(writesOf(client)).toEqual([]);
  });
});

describe('what has no room', () => {
  const LIMITS: readonly (readonly [TenantLimits, object])[] = [
    [{ files: 2 }, { limit: 'files' }],
    [{ tenantBytes: 35 }, { limit: 'tenant_bytes' }],
  ];
  it.each(LIMITS)('is left, and nothing is written without partial: %j', async (limits, why) => {
    const { site, moment } = await poisoned();
    const { history, client } = await historyWith(site, { limits });
    const left = [{ path: C, reason: 'refused', version: expect.any(String), ...why }];
    expect(await restoreAt(history, moment, { dryRun: true })).toMatchObject({ outcome: 'planned', left });
    client.calls.length = 0;
    expect(await restoreAt(history, moment)).toMatchObject({ outcome: 'withheld', left });
    expect(writesOf(client)).toEqual([]);
    expect(await restoreAt(history, moment, { partial: true })).toMatchObject({ outcome: 'written', left });
    expect(await textsOf(client)).toEqual({ [A]: THEN[A], [B]: THEN[B] });
  });

  it.each(LIMITS)('is left by undo: %j', async (limits, why) => {
    const { site, moment } = await poisoned();
    const { history, client } = await historyWith(site, { limits });
    const left = [{ path: C, reason: 'refused', version: expect.any(String), ...why }];
    expect(await undo(history, moment)).toMatchObject({ outcome: 'written', left });
    expect(await textsOf(client)).toEqual({ [A]: THEN[A], [B]: THEN[B] });
  });

  it('counts what is deleted, so that a plan fits that needs the room of what goes', async () => {
    for (const limits of [{ files: 3 }, { tenantBytes: 45 }]) {
      const { site, moment } = await poisoned();
      const { history, client } = await historyWith(site, { limits });
      expect(await restoreAt(history, moment)).toMatchObject({ outcome: 'written', left: [] });
      expect(await textsOf(client)).toEqual(THEN);
    }
  });

  it('is a text that is larger than a file may be', async () => {
    const { site, moment } = await poisoned();
    const { history, client } = await historyWith(site, {});
    const tenant = { ...client.tenant, maxFileBytes: 10 };
    const small = createHistory(tenant, createTree(tenant));
    const why = { reason: 'refused', limit: 'file_bytes' };
    const { left } = await restoreAt(small, moment, { dryRun: true });
    expect(left).toEqual(expect.arrayContaining([expect.objectContaining({ path: A, ...why })]));
    expect(await restoreAt(history, moment)).toMatchObject({ outcome: 'written' });
  });
});
