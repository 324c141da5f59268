import { describe, expect, it } from 'vitest';
import { untilDone } from '../../../src/tree/concurrency.ts';
import type { CallOptions, Tenant, Work } from '../../../src/tree/tenant.ts';
import { withTenant } from '../../stage/test-tree.ts';
import { createVirtualTime } from '../../stage/virtual-time.ts';

describe('an attempt that may have to be repeated', () => {
  function workOf(tenant: Pick<Tenant, 'pause' | 'random'>, call: CallOptions = {}): Work {
    return { tenant, call } as unknown as Work;
  }

  function contender() {
    const pauses: number[] = [];
    const { randomBytes: random } = createVirtualTime();
    const pause = async (ms: number): Promise<void> => {
      pauses.push(ms);
    };
    return { pauses, work: workOf({ pause, random }) };
  }

  it('does not pause when the first attempt settles it', async () => {
    const { pauses, work } = contender();
    expect(await untilDone(work, async () => 'done')).toBe('done');
    expect(pauses).toEqual([]);
  });

  it('pauses for a random part of a growing time, at most 400 ms', async () => {
    const { pauses, work } = contender();
    let left = 20;
    await untilDone(work, async () => (left-- > 0 ? 'again' : undefined));
    expect(pauses).toHaveLength(20);
    pauses.forEach((ms, i) => {
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThanOrEqual(Math.min(400, 8 * 2 ** i));
    });
    expect(new Set(pauses).size).toBeGreaterThan(10);
  });

  it('doubles the longest pause from 8 ms up to 400 ms, of which it takes the part that chance says', async () => {
    const { pauses, work } = contender();
    for (const [byte, part] of [
      [255, 1],
      [127, 1 / 2],
      [0, 1 / 256],
    ] as const) {
      let left = 9;
      pauses.length = 0;
      const random = (length: number): Uint8Array => new Uint8Array(length).fill(byte);
      await untilDone(withTenant(work, { random }), async () => (left-- > 0 ? 'again' : undefined));
      expect(pauses).toEqual([8, 16, 32, 64, 128, 256, 400, 400, 400].map((ms) => ms * part));
    }
  });

  it('ends as a version conflict after 64 attempts', async () => {
    const { work } = contender();
    let attempts = 0;
    const never = untilDone(work, async () => {
      attempts++;
      return 'again';
    });
    await expect(never).rejects.toMatchObject({
      code: 'version_conflict',
      retry: 'now',
      message: expect.stringContaining('by others at every attempt'),
    });
    expect(attempts).toBe(64);
  });

  it('passes an error on at once', async () => {
    const { work } = contender();
    const failing = untilDone(work, async () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
  });

  it('stops waiting when the caller cancels', async () => {
    const time = createVirtualTime();
    const controller = new AbortController();
    const { signal } = controller;
    const work = workOf({ pause: time.pause, random: time.randomBytes }, { signal });
    let attempts = 0;
    const waiting = untilDone(work, async () => {
      attempts++;
      controller.abort();
      return 'again';
    });
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    expect(attempts).toBe(1);
  });
});
