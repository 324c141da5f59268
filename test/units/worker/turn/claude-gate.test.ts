import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createClaudeGate } from '../../../../src/worker/turn/claude-gate.ts';
import type { Delivery } from '../../../../src/worker/turn/delivery.ts';

const REFUSED: Delivery = { state: 'later', code: 'overloaded_error', afterSeconds: 7, isCondition: true };
const ANSWERED = { state: 'answered', isFresh: true } as Delivery;

describe('the gate before Claude', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 1) }));
  afterEach(() => void vi.useRealTimers());
  const pass = (seconds: number): void => void vi.setSystemTime(Date.now() + seconds * 1_000);

  /** A gate, and whether a turn that would end so went through it. */
  const open = () => {
    const gate = createClaudeGate();
    const asks = async (delivery: Delivery = REFUSED, model = 'claude'): Promise<boolean> => {
      let asked = false;
      await gate(model, async () => {
        asked = true;
        return delivery;
      });
      return asked;
    };
    const shut = async (model = 'claude'): Promise<void> => {
      for (let i = 0; i < 5; i++) expect(await asks(REFUSED, model)).toBe(true);
    };
    return { gate, asks, shut };
  };

  it('shuts at the fifth refusal in a row, and lets one a minute through', async () => {
    const { asks, shut } = open();
    await shut();
    pass(59);
    expect(await asks()).toBe(false);
    pass(1);
    expect(await asks()).toBe(true);
    expect(await asks()).toBe(false);
    pass(60);
    expect([await asks(), await asks()]).toEqual([true, false]);
  });

  it('tells who waits before it what the last refusal said, and no turn of that', async () => {
    const { gate, asks, shut } = open();
    await shut();
    pass(60);
    await asks({
      ...REFUSED,
      code: 'http_401',
      afterSeconds: 780,
      turn: 'canary',
      hasProgress: true,
    } as Delivery);
    await asks({ ...REFUSED, code: 'http_401', afterSeconds: 780, turn: 'canary' } as Delivery);
    for (let i = 0; i < 4; i++) await asks({ ...REFUSED, code: 'http_401', afterSeconds: 780 } as Delivery);
    pass(24);
    expect(await gate('claude', async () => ANSWERED)).toEqual({
      ...REFUSED,
      code: 'http_401',
      afterSeconds: 780,
      agoSeconds: 24,
    });
  });

  it.each<readonly [string, Delivery]>([
    ['an answer', ANSWERED],
    [
      'a reply that brought the turn further',
      { state: 'later', code: 'unfinished', afterSeconds: 0, hasProgress: true },
    ],
  ])('is opened by %s', async (_, heard) => {
    const { asks, shut } = open();
    await shut();
    pass(60);
    expect(await asks(heard)).toBe(true);
    await shut();
  });

  it.each<readonly [string, Delivery]>([
    ['the budget of a tenant', { ...REFUSED, code: 'tokens_per_day' }],
    ['a store that cannot be reached', { ...REFUSED, code: 'unavailable' }],
    ['a time that is up', { ...REFUSED, code: 'deadline' }],
    ['a fault of the message', { state: 'failed', code: 'prompt_too_long' }],
    ['a reply that is cut', { state: 'later', code: 'reply_cut', afterSeconds: 5 }],
    ['an answer of before', { state: 'answered', isFresh: false } as Delivery],
  ])(
    'is neither shut nor opened by %s, which does not take the place of the one that asks',
    async (_, other) => {
      const { asks, shut } = open();
      for (let i = 0; i < 9; i++) expect(await asks(other)).toBe(true);
      await shut();
      pass(60);
      expect([await asks(other), await asks()]).toEqual([true, true]);
      expect(await asks()).toBe(false);
    },
  );

  it('lets nobody beside the one that asks, who come again in a minute', async () => {
    const { gate, shut } = open();
    await shut();
    pass(60);
    const asking = Promise.withResolvers<Delivery>();
    const first = gate('claude', () => asking.promise);
    const held = { ...REFUSED, afterSeconds: 60, isExact: true };
    expect(await gate('claude', async () => ANSWERED)).toEqual(held);
    pass(600);
    expect(await gate('claude', async () => ANSWERED)).toEqual(held);
    asking.resolve(ANSWERED);
    expect(await first).toBe(ANSWERED);
    expect(await gate('claude', async () => ANSWERED)).toBe(ANSWERED);
  });

  it('is each model’s own, and forgets models rather than keep too many', async () => {
    const { asks, shut } = open();
    await shut();
    expect(await asks(REFUSED, 'another')).toBe(true);
    for (let i = 0; i < 100; i++) await asks(REFUSED, `model-${i}`);
    expect(await asks()).toBe(true);
  });

  it('is not shut for longer by a clock that is put back', async () => {
    const { gate, asks, shut } = open();
    await shut();
    pass(-30);
    expect(await gate('claude', async () => ANSWERED)).toEqual({ ...REFUSED, agoSeconds: 0 });
    pass(-3_600);
    expect(await asks()).toBe(true);
  });
});
