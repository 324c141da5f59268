import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { letOthersRun, once, pause, throwIfAborted, untilAborted } from '../src/time.ts';

const REASON = new Error('enough');
const aborted = expect.objectContaining({ code: 'aborted', cause: REASON });

describe('throwIfAborted', () => {
  it('throws once the signal has fired, with its reason as the cause', () => {
    const call = new AbortController();
    throwIfAborted(undefined);
    throwIfAborted(call.signal);
    call.abort(REASON);
    expect(() => throwIfAborted(call.signal)).toThrow(aborted);
  });
});

describe('pause', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('resolves after its time and leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, 'removeEventListener');
    let over = false;
    const pausing = pause(100, signal).then(() => {
      over = true;
    });
    await vi.advanceTimersByTimeAsync(99);
    expect(over).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await pausing;
    expect(removed).toHaveBeenCalledTimes(1);
  });

  it('rejects as soon as the signal fires, and keeps no timer', async () => {
    const call = new AbortController();
    const pausing = pause(100, call.signal);
    expect(vi.getTimerCount()).toBe(1);
    call.abort(REASON);
    await expect(pausing).rejects.toEqual(aborted);
    expect(vi.getTimerCount()).toBe(0);
    await expect(pause(100, call.signal)).rejects.toEqual(aborted);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('untilAborted', () => {
  it('gives the result of the work, whichever way it ends', async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
    expect(await untilAborted(Promise.resolve(2), undefined)).toBe(2);
    await expect(untilAborted(Promise.reject(REASON), signal)).rejects.toBe(REASON);
  });

  it('rejects when the signal fires, and a later failure of the work ends no process', async () => {
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', onRejection);
    try {
      const [call, work] = [new AbortController(), Promise.withResolvers<void>()];
      const waiting = untilAborted(work.promise, call.signal);
      call.abort(REASON);
      await expect(waiting).rejects.toEqual(aborted);
      work.reject(new Error('late'));
      await letOthersRun();
      await letOthersRun();
      expect(rejections).toEqual([]);
    } finally {
      process.off('unhandledRejection', onRejection);
    }
  });
});

describe('once', () => {
  it('runs the work once for all who ask, while it runs and afterwards', async () => {
    const work = vi.fn(async () => ({}));
    const ask = once(work);
    const [first, second] = await Promise.all([ask(), ask()]);
    expect(second).toBe(first);
    expect(await ask()).toBe(first);
    expect(work).toHaveBeenCalledTimes(1);
  });

  it('runs it again after a failure, which all who waited for it see', async () => {
    const work = vi.fn(async () => 'done').mockRejectedValueOnce(REASON);
    const ask = once(work);
    const asked = await Promise.allSettled([ask(), ask()]);
    expect(asked.map((each) => each.status)).toEqual(['rejected', 'rejected']);
    expect(work).toHaveBeenCalledTimes(1);
    expect(await ask()).toBe('done');
    expect(work).toHaveBeenCalledTimes(2);
  });
});
