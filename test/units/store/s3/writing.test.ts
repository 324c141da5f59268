import { afterEach, expect, it, vi } from 'vitest';
import { repeatOnConflict } from '../../../../src/store/s3/writing.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it('a write that collides pauses for at most 20 ms, and each time for at most twice as long', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 0 });
  vi.spyOn(Math, 'random').mockReturnValue(1);
  const at: number[] = [];
  const collides = repeatOnConflict(async () => {
    at.push(Date.now());
    throw Object.assign(new Error('conflict'), { name: 'ConditionalRequestConflict' });
  }, undefined);
  const ended = expect(collides).rejects.toThrow('conflict');
  await vi.runAllTimersAsync();
  await ended;
  expect(at).toEqual([0, 20, 60, 140, 300, 620, 1_260, 2_540, 5_100]);
});
