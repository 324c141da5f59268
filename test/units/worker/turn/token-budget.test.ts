import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startLocalWorker } from '../../../../infra/local/lambda/local-worker.ts';
import { NO_USAGE } from '../../../../src/agent/turn-outcome.ts';
import { openTenant } from '../../../../src/open/open-memory.ts';
import { createStamps } from '../../../../src/stamps.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { createTokenBudget, type TokenBudget } from '../../../../src/worker/turn/token-budget.ts';
import { interceptStore } from '../../../stage/store-wrappers.ts';

const EVENING = Date.parse('2026-11-22T23:00:00Z');
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

  it('lets turns run until it is used up, by whatever worker, and until midnight then', async () => {
    expect(await budget.refusal({})).toBeUndefined();
    await budget.count(usage(600, 399), {});
    expect(await another.refusal({})).toBeUndefined();
    await another.count(usage(1, 0), {});
    expect(await budget.refusal({})).toEqual({
      state: 'later',
      code: 'tokens_per_day',
      afterSeconds: 3_600,
      isExact: true,
      isCondition: true,
    });
    now += 3_600_000;
    expect(await budget.refusal({})).toBeUndefined();
  });

  it.each([-47, -23, -2, 2, 23, 47])(
    'counts by the days of the store where its clock is off by %i h',
    async (hours) => {
      const off = openOff(hours);
      await off.count(usage(600, 0), {});
      await budget.count(usage(400, 0), {});
      const until = { state: 'later', afterSeconds: 3_600 };
      expect([await off.refusal({}), await budget.refusal({})]).toMatchObject([until, until]);
      now += 3_600_000;
      expect([await off.refusal({}), await budget.refusal({})]).toEqual([undefined, undefined]);
    },
  );

  it('counts what several workers take at the same time', async () => {
    await Promise.all([budget, another, budget, another].map((each) => each.count(usage(200, 50), {})));
    expect(await budget.refusal({})).toMatchObject({ state: 'later' });
  });

  it('counts all that many workers take at the same time', async () => {
    await Promise.all(Array.from({ length: 24 }, () => budget.count(usage(41, 0), {})));
    expect(await budget.refusal({})).toBeUndefined();
    await budget.count(usage(16, 0), {});
    expect(await budget.refusal({})).toMatchObject({ state: 'later' });
  });

  it('counts what is written to the prompt cache, and not what is read from it', async () => {
    await budget.count({ ...NO_USAGE, cacheReadTokens: 5_000 }, {});
    expect(await budget.refusal({})).toBeUndefined();
    await budget.count({ ...NO_USAGE, cacheWriteTokens: 1_000 }, {});
    expect(await budget.refusal({})).toMatchObject({ state: 'later' });
  });

  it('says in no object what was taken', async () => {
    await budget.count(usage(123_456, 0), {});
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

  it('refuses a bound that would let no turn run', async () => {
    for (const tokensPerDay of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(startLocalWorker(store, undefined, { tokensPerDay })).rejects.toMatchObject({
        code: 'misconfigured',
      });
    }
  });

  it('sends two GETs and a PUT for it, and without one nothing', async () => {
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
    expect(await requestsOf(1_000_000)).toEqual({ get: get + 2, put: put + 1 });
  });
});
