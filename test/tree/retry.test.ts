import { describe, expect, it } from 'vitest';
import { untilSettled } from '../../src/tree/retry.ts';
import { createVirtualTime } from '../doubles/virtual-time.ts';

describe('an attempt that may have to be repeated', () => {
  function contender() {
    const pauses: number[] = [];
    const { randomBytes: random } = createVirtualTime();
    const pause = async (ms: number): Promise<void> => {
      pauses.push(ms);
    };
    return { pauses, vault: { pause, random, signal: undefined } };
  }

  it('does not pause when the first attempt settles it', async () => {
    const { pauses, vault } = contender();
    expect(await untilSettled(vault, async () => 'done')).toBe('done');
    expect(pauses).toEqual([]);
  });

  it('pauses for a random part of a growing time, at most 400 ms', async () => {
    const { pauses, vault } = contender();
    let left = 20;
    await untilSettled(vault, async () => (left-- > 0 ? 'again' : undefined));
    expect(pauses).toHaveLength(20);
    pauses.forEach((ms, i) => {
      expect(ms).toBeGreaterThan(0);
      expect(ms).toBeLessThanOrEqual(Math.min(400, 8 * 2 ** i));
    });
    expect(new Set(pauses).size).toBeGreaterThan(10);
  });

  it('doubles the longest pause from 8 ms up to 400 ms, of which it takes the part that chance says', async () => {
    const { pauses, vault } = contender();
    for (const [byte, part] of [
      [255, 1],
      [127, 1 / 2],
      [0, 1 / 256],
    ] as const) {
      let left = 9;
      pauses.length = 0;
      const random = (length: number): Uint8Array => new Uint8Array(length).fill(byte);
      await untilSettled({ ...vault, random }, async () => (left-- > 0 ? 'again' : undefined));
      expect(pauses).toEqual([8, 16, 32, 64, 128, 256, 400, 400, 400].map((ms) => ms * part));
    }
  });

  it('ends as a version conflict after 64 attempts', async () => {
    const { vault } = contender();
    let attempts = 0;
    const never = untilSettled(vault, async () => {
      attempts++;
      return 'again';
    });
    await expect(never).rejects.toMatchObject({ code: 'version_conflict', retry: 'now' });
    expect(attempts).toBe(64);
  });

  it('passes an error on at once', async () => {
    const { vault } = contender();
    const failing = untilSettled(vault, async () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
  });

  it('stops waiting when the caller gives up', async () => {
    const time = createVirtualTime();
    const controller = new AbortController();
    const vault = { pause: time.pause, random: time.randomBytes, signal: controller.signal };
    let attempts = 0;
    const waiting = untilSettled(vault, async () => {
      attempts++;
      controller.abort();
      return 'again';
    });
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    expect(attempts).toBe(1);
  });
});
