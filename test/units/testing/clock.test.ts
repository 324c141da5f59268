import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/index.ts';
import { createTestClock } from '../../../src/testing/clock.ts';

const DAY_MS = 86_400_000;

describe('The clock of a test', () => {
  it('tells a moment, goes on from there, and gives the time back', () => {
    const ownTime = Date.now;
    const began = Date.now();
    {
      using clock = createTestClock('2026-03-02T09:00:00Z');
      const set = Date.UTC(2026, 2, 2, 9);
      expect(Date.now() - set).toBeGreaterThanOrEqual(0);
      expect(Date.now() - set).toBeLessThan(10_000);
      clock.advance(DAY_MS);
      expect(Date.now() - set).toBeGreaterThanOrEqual(DAY_MS);
      clock.set(set);
      expect(Date.now() - set).toBeLessThan(10_000);
    }
    expect(Date.now).toBe(ownTime);
    expect(Date.now()).toBeGreaterThanOrEqual(began);
  });

  it('gives the time back to who has kept its function, too, and only once', () => {
    using clock = createTestClock(0);
    const kept = Date.now;
    clock.restore();
    clock.restore();
    expect(Math.abs(kept() - Date.now())).toBeLessThan(10_000);
  });

  it('is taken once, and tells no time that is none', () => {
    using clock = createTestClock();
    expect(() => createTestClock()).toThrow('The clock of this process is taken already');
    expect(() => clock.set('soon')).toThrow(new RangeError('soon is no date.'));
    clock.restore();
    expect(() => createTestClock('soon')).toThrow(RangeError);
    expect(() => createTestClock().restore()).not.toThrow();
  });

  it('is what a memory writes down', async () => {
    using clock = createTestClock('2026-03-02T09:00:00Z');
    const rootKey = randomBytes(32).toString('base64');
    await using memory = await openMemory({
      store: 'memory:',
      tenant: 'acme',
      rootKey,
      history: { days: 30 },
    });
    await memory.files.write('/memories/plan.md', 'Monday');
    clock.advance(DAY_MS);
    await memory.files.write('/memories/plan.md', 'Tuesday');
    await memory.history.restoreAt('2026-03-02T12:00:00Z');
    expect((await memory.files.read('/memories/plan.md'))?.text()).toBe('Monday');
  });
});
