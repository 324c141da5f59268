import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  createAges,
  dateOf,
  isoOf,
  letOthersRun,
  once,
  pause,
  shareWork,
  throwIfAborted,
  untilAborted,
} from '../../src/time.ts';

const REASON = new Error('enough');
const aborted = expect.objectContaining({ code: 'aborted', cause: REASON });

describe('isoOf and dateOf', () => {
  it.each([
    [0, '1970-01-01T00:00:00.000Z'],
    [1.9, '1970-01-01T00:00:00.001Z'],
    [Number.MAX_SAFE_INTEGER, '+275760-09-13T00:00:00.000Z'],
    [Number.POSITIVE_INFINITY, '+275760-09-13T00:00:00.000Z'],
    [-Number.MAX_SAFE_INTEGER, '-271821-04-20T00:00:00.000Z'],
    [Number.NaN, '1970-01-01T00:00:00.000Z'],
  ])('tell a number for which there may be no date: %d', (ms, told) => {
    expect(isoOf(ms)).toBe(told);
    expect(isoOf(dateOf(ms))).toBe(told);
    expect(isoOf(new Date(ms))).toBe(Math.abs(ms) <= 8.64e15 ? told : isoOf(Number.NaN));
  });
});

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

describe('shareWork', () => {
  function working() {
    const end = Promise.withResolvers<string>();
    const signals: AbortSignal[] = [];
    const shared = shareWork((signal) => {
      signals.push(signal);
      return end.promise;
    });
    return { shared, end, cancelled: () => signals.map(({ aborted: isAborted }) => isAborted) };
  }
  const cancelledCall = expect.objectContaining({ code: 'aborted' });

  it('runs the work once, for all who join', async () => {
    const { shared, end, cancelled } = working();
    const joined = [shared.join(), shared.join(new AbortController().signal), shared.join()];
    end.resolve('done');
    expect(await Promise.all(joined)).toEqual(['done', 'done', 'done']);
    expect(cancelled()).toEqual([false]);
  });

  it('lets one caller leave, and goes on for the others', async () => {
    const { shared, end, cancelled } = working();
    const caller = new AbortController();
    const [leaving, staying] = [shared.join(caller.signal), shared.join()];
    caller.abort();
    await expect(leaving).rejects.toEqual(cancelledCall);
    expect([shared.abandoned, cancelled()]).toEqual([false, [false]]);
    end.resolve('done');
    expect(await staying).toBe('done');
  });

  it('cancels the work when its last caller has left, and settles when that has ended', async () => {
    const { shared, end, cancelled } = working();
    const caller = new AbortController();
    const leaving = [shared.join(caller.signal), shared.join(caller.signal)];
    caller.abort();
    expect((await Promise.allSettled(leaving)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect([shared.abandoned, cancelled()]).toEqual([true, [true]]);
    let settled = false;
    const settling = shared.ended.then(() => {
      settled = true;
    });
    await letOthersRun();
    expect(settled).toBe(false);
    end.reject(new Error('late'));
    await settling;
  });

  it('that is abandoned ends for callers without a signal, too', async () => {
    const { shared, cancelled } = working();
    const waiting = shared.join();
    shared.abandon();
    await expect(waiting).rejects.toEqual(cancelledCall);
    expect([shared.abandoned, cancelled()]).toEqual([true, [true]]);
  });

  it('that is abandoned before a caller joins ends no process', async () => {
    const { shared } = working();
    shared.abandon();
    await letOthersRun();
    expect(shared.abandoned).toBe(true);
  });

  it('leaves no listener on the signals of its callers', async () => {
    const { shared, end } = working();
    const { signal } = new AbortController();
    const joined = shared.join(signal);
    end.resolve('done');
    await joined;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('createAges', () => {
  function clocks() {
    const time = { wall: 1_000_000, steady: 500 };
    const ages = createAges({ clock: () => time.wall, monotonic: () => time.steady });
    return { time, ages };
  }

  it.each([
    ['neither clock has moved', 0, 0, true],
    ['both are just below it', 99, 99, true],
    ['the wall clock is there', 100, 0, false],
    ['the monotonic clock is there', 0, 100, false],
    ['the wall clock was set back', -1, 50, false],
    ['the monotonic clock went back', 50, -1, false],
  ])('holds a limit by both clocks: %s', (_, wall, steady, expected) => {
    const { time, ages } = clocks();
    const since = ages.now();
    time.wall += wall;
    time.steady += steady;
    expect(ages.isWithin(since, 100)).toBe(expected);
  });

  it('makes bounds that count from where they are made, and stay past', () => {
    const { time, ages } = clocks();
    const bound = ages.boundIn(100);
    time.wall += 99;
    expect(bound.isPast()).toBe(false);
    time.wall += 1;
    expect(bound.isPast()).toBe(true);
    time.wall -= 50;
    expect(bound.isPast()).toBe(true);
  });

  it('tells how long ago a moment was by whichever clock ran faster', () => {
    const clocks = { wall: 1_000_000, steady: 50 };
    const ages = createAges({ clock: () => clocks.wall, monotonic: () => clocks.steady });
    const since = ages.now();
    clocks.wall += 10;
    expect(ages.elapsed(since)).toBe(10);
    clocks.steady += 20;
    expect(ages.elapsed(since)).toBe(20);
    clocks.wall -= 5_000;
    expect(ages.elapsed(since)).toBe(20);
  });
});
