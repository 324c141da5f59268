import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startLocalWorker } from '../../../../infra/local/lambda/local-worker.ts';
import { NO_USAGE, type TurnUsage } from '../../../../src/agent/turn-outcome.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { openTenant } from '../../../../src/open/open-memory.ts';
import { createStamps } from '../../../../src/stamps.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import type { Delivery } from '../../../../src/worker/turn/delivery.ts';
import { createTokenBudget, type TokenBudget } from '../../../../src/worker/turn/token-budget.ts';
import { interceptStore } from '../../../stage/store-wrappers.ts';

const EVENING = Date.parse('2026-11-22T23:00:00Z');
const LEASE_MS = 60_000;
const ROOT_KEY = new Uint8Array(32).fill(1);

let store: ObjectStore;
let calls: string[];
beforeEach(() => {
  calls = [];
  store = interceptStore(openSqliteObjectStore({ path: ':memory:' }), (call, proceed) => {
    calls.push(call.verb);
    return proceed();
  });
});
afterEach(() => store[Symbol.asyncDispose]());

const usage = (inputTokens: number, outputTokens: number) => ({ ...NO_USAGE, inputTokens, outputTokens });

describe('the budget of a tenant', () => {
  let now = EVENING;
  let close: () => Promise<void>;
  let budget: TokenBudget;
  let another: TokenBudget;
  /** Opens one in a worker whose clock is off by some hours. */
  let openOff: (hours: number) => TokenBudget;
  beforeEach(async () => {
    now = EVENING;
    const tenant = await openTenant({ store, rootKey: ROOT_KEY, tenant: 'acme' });
    close = tenant.close;
    openOff = (hours) => {
      const clock = (): number => now + hours * 3_600_000;
      const stamps = createStamps({ clock, monotonic: () => now });
      stamps.observe(now);
      const kept = { ...stamps, observe: () => {} };
      return createTokenBudget({ ...tenant.parts.context, clock, stamps: kept }, { tokensPerDay: 1_000 });
    };
    [budget, another] = [openOff(0), openOff(0)];
  });
  afterEach(() => close());

  const spend = async (of: TokenBudget, taken: TurnUsage, wanted = 1): Promise<void> => {
    const reserved = await of.reserve(wanted, { leaseMs: LEASE_MS });
    if ('heldBack' in reserved) throw new Error('the turn was held back');
    await reserved.settle(taken, {});
  };
  /** The delivery of a turn that would like so many tokens; undefined: it runs, and settles at once. */
  const heldBack = async (of: TokenBudget, wanted = 1): Promise<Delivery | undefined> => {
    const reserved = await of.reserve(wanted, { leaseMs: LEASE_MS });
    if ('heldBack' in reserved) return reserved.heldBack;
    await reserved.settle(NO_USAGE, {});
    return undefined;
  };
  const UNTIL_MIDNIGHT = {
    state: 'later',
    code: 'tokens_per_day',
    afterSeconds: 3_600,
    isExact: true,
    isCondition: true,
  };
  const FOR_A_WHILE = { state: 'later', code: 'tokens_reserved', afterSeconds: 5, isCondition: true };

  it('lets turns run until it is used up, by whatever worker, and until midnight then', async () => {
    await spend(budget, usage(600, 399));
    expect(await heldBack(another)).toBeUndefined();
    await spend(another, usage(1, 0));
    expect(await heldBack(budget)).toEqual(UNTIL_MIDNIGHT);
    now += 3_600_000;
    expect(await heldBack(budget)).toBeUndefined();
  });

  it('is reserved before Claude is asked: turns at the same time do not take more than there is', async () => {
    const reserved = await Promise.all(
      Array.from({ length: 10 }, (_, i) => [budget, another][i % 2]?.reserve(300, { leaseMs: LEASE_MS })),
    );
    const running = reserved.flatMap((each) => (each && 'settle' in each ? [each] : []));
    expect(running).toHaveLength(3);
    for (const each of reserved) {
      if (each && 'heldBack' in each) expect(each.heldBack).toEqual(FOR_A_WHILE);
    }
    await Promise.all(running.map((each) => each.settle(usage(100, 10), {})));
    expect(await heldBack(another, 670)).toBeUndefined();
    await spend(budget, usage(670, 0), 670);
    expect(await heldBack(another)).toEqual(UNTIL_MIDNIGHT);
  });

  it('lets a turn run alone that may take more than is left', async () => {
    expect(await heldBack(budget, 16_000)).toBeUndefined();
    await spend(budget, usage(999, 0));
    const alone = await budget.reserve(16_000, { leaseMs: LEASE_MS });
    expect(alone).toHaveProperty('settle');
    expect(await heldBack(another)).toEqual(FOR_A_WHILE);
  });

  it('counts as taken what a worker had reserved that died, once its turn must have ended', async () => {
    await budget.reserve(600, { leaseMs: LEASE_MS - 0.5 });
    now += LEASE_MS;
    expect(await heldBack(another, 500)).toEqual(FOR_A_WHILE);
    now += 1;
    expect(await heldBack(another, 500)).toBeUndefined();
    await spend(another, usage(400, 0));
    expect(await heldBack(another)).toMatchObject({ code: 'tokens_per_day' });
  });

  it('counts the tokens of a turn that began before midnight for that day', async () => {
    const reserved = await budget.reserve(10, { leaseMs: 7_200_000 });
    now += 3_600_000;
    if ('settle' in reserved) await reserved.settle(usage(1_000, 0), {});
    expect(await heldBack(budget)).toBeUndefined();
    now = EVENING;
    expect(await heldBack(openOff(0))).toEqual(UNTIL_MIDNIGHT);
  });

  it.each([-47, -23, -2, 2, 23, 47])(
    'counts by the days of the store where its clock is off by %i h',
    async (hours) => {
      const off = openOff(hours);
      await spend(off, usage(600, 0));
      await spend(budget, usage(400, 0));
      const until = { state: 'later', afterSeconds: 3_600 };
      expect([await heldBack(off), await heldBack(budget)]).toMatchObject([until, until]);
      now += 3_600_000;
      expect([await heldBack(off), await heldBack(budget)]).toEqual([undefined, undefined]);
    },
  );

  it('counts all that many workers take at the same time', async () => {
    await Promise.all(Array.from({ length: 24 }, () => spend(budget, usage(41, 0))));
    expect(await heldBack(budget)).toBeUndefined();
    await spend(budget, usage(16, 0));
    expect(await heldBack(budget)).toEqual(UNTIL_MIDNIGHT);
  });

  it('counts what is written to the prompt cache, and not what is read from it', async () => {
    await spend(budget, { ...NO_USAGE, cacheReadTokens: 5_000 });
    expect(await heldBack(budget)).toBeUndefined();
    await spend(budget, { ...NO_USAGE, cacheWriteTokens: 1_000 });
    expect(await heldBack(budget)).toEqual(UNTIL_MIDNIGHT);
  });

  it('says in no object what was taken', async () => {
    await spend(budget, usage(123_456, 0));
    for await (const { objects } of store.list({ prefix: 'tenants/' })) {
      for (const { key } of objects) {
        const found = await store.get(key);
        const body = typeof found === 'object' ? found.body : new Uint8Array();
        expect(key + new TextDecoder('latin1').decode(body)).not.toMatch(/123456|tokens/);
      }
    }
  });
});

describe('a worker with a budget', () => {
  const message = (turn: string) => ({ tenant: 'acme', turn, prompt: 'Hello' });

  it('asks Claude for no further turn when it is used up, and answers again what was answered', async () => {
    await using site = await startLocalWorker(store, undefined, { tokensPerDay: 1 });
    expect(await site.deliver([message('one')])).toEqual({ batchItemFailures: [] });
    expect(await site.deliver([message('two')])).toEqual({
      batchItemFailures: [{ itemIdentifier: expect.any(String) }],
    });
    expect(site.scenes).toHaveLength(1);
    expect(site.lines.join()).toContain('"code":"tokens_per_day"');
    expect(await site.deliver([{ ...message('one') }])).toEqual({ batchItemFailures: [] });
    expect(await site.deliver([{ ...message('one'), tenant: 'globex' }])).toEqual({ batchItemFailures: [] });
    expect(site.scenes).toHaveLength(2);
  });

  it('ends a turn that has had its most requests, although it is used up', async () => {
    let failures = 0;
    const failing = interceptStore(store, (call, proceed) => {
      const isFirst = call.verb === 'put' && call.key.includes('/answers/') && failures++ === 0;
      return isFirst ? Promise.reject(new MemoryError('access_denied', 'canary')) : proceed();
    });
    const calls = [{ name: 'memory', input: { command: 'view', path: '/memories' } }];
    const turnOptions = { maxRequests: 1 };
    await using site = await startLocalWorker(failing, () => ({ calls }), { tokensPerDay: 1, turnOptions });
    for (const _ of ['not stored', 'stored']) await site.deliver([message('one')]);
    expect(site.replies).toMatchObject([{ outcome: 'truncated', reason: 'max_requests' }]);
    await site.deliver([message('two')]);
    expect(site.lines.join()).toContain('"code":"tokens_per_day"');
    expect(site.scenes).toHaveLength(1);
  });

  it('counts replies that were cut, and tells of them', async () => {
    const part = { say: 'word '.repeat(400), think: false } as const;
    const cut = { fault: 'break', afterEvents: 3, part } as const;
    await using site = await startLocalWorker(store, () => cut, { tokensPerDay: 1_500 });
    const back = { batchItemFailures: [{ itemIdentifier: expect.any(String) }] };
    expect(await site.deliver([message('one')])).toEqual(back);
    const told = site.lines.map((line) => JSON.parse(line)).find(({ code }) => code === 'reply_cut');
    expect(told).toMatchObject({ claudeRequests: 3, outputTokens: 1_500 });
    expect(told.inputTokens).toBeGreaterThan(0);
    expect(await site.deliver([message('two')])).toEqual(back);
    expect(site.scenes).toHaveLength(3);
    expect(site.lines.join()).toContain('"code":"tokens_per_day"');
  });

  it('of ten turns at once answers as many as it has tokens for, and the others when these have settled', async () => {
    const words = 'word '.repeat(80);
    const messages = Array.from({ length: 10 }, (_, i) => ({ ...message(`turn-${i}`), maxTokens: 400 }));
    const heldBackLines = () => site.lines.filter((line) => line.includes('"code":"tokens_reserved"'));
    const play = async () => {
      // Claude speaks when the other turns have come.
      await vi.waitFor(() => expect(heldBackLines().length).toBeGreaterThanOrEqual(8), { timeout: 20_000 });
      return { say: words, think: false } as const;
    };
    await using site = await startLocalWorker(store, play, { tokensPerDay: 1_000 });
    const { batchItemFailures } = await site.deliver(messages);
    expect(batchItemFailures).toHaveLength(8);
    expect(heldBackLines()).toHaveLength(8);
    for (const each of messages) await site.deliver([each]);
    const taken = site.lines
      .map((line) => JSON.parse(line))
      .reduce((sum, { inputTokens = 0, outputTokens = 0 }) => sum + inputTokens + outputTokens, 0);
    expect(site.scenes.length).toBeGreaterThan(2);
    expect(taken).toBeGreaterThanOrEqual(1_000);
    expect(taken).toBeLessThan(1_000 + 500);
  });

  it('refuses a bound that would let no turn run', async () => {
    for (const tokensPerDay of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(startLocalWorker(store, undefined, { tokensPerDay })).rejects.toMatchObject({
        code: 'misconfigured',
      });
    }
  });

  it('sends a GET and two PUTs for it, and without one nothing', async () => {
    const requestsOf = async (tokensPerDay?: number): Promise<Record<string, number>> => {
      await using site = await startLocalWorker(store, undefined, { tokensPerDay });
      await site.deliver([message('one')]);
      calls = [];
      await site.deliver([message('two')]);
      return Object.fromEntries(
        ['get', 'put'].map((verb) => [verb, calls.filter((each) => each === verb).length]),
      );
    };
    const without = await requestsOf();
    await store[Symbol.asyncDispose]();
    store = interceptStore(openSqliteObjectStore({ path: ':memory:' }), (call, proceed) => {
      calls.push(call.verb);
      return proceed();
    });
    const { get = 0, put = 0 } = without;
    expect(await requestsOf(1_000_000)).toEqual({ get: get + 1, put: put + 2 });
  });
});
