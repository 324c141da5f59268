import { Readable } from 'node:stream';
import { afterEach, expect, it, vi } from 'vitest';
import { repeatOnConflict } from '../../../../src/store/s3/writing.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it.each(['ConditionalRequestConflict', 'ExistingObjectIsDirectory'])(
  'a write that collides with %s pauses for at most 20 ms, and each time for at most twice as long',
  async (name) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'], now: 0 });
    vi.spyOn(Math, 'random').mockReturnValue(1);
    const at: number[] = [];
    const collides = repeatOnConflict(
      async () => {
        at.push(Date.now());
        throw Object.assign(new Error('conflict'), { name });
      },
      { answer: undefined },
      undefined,
    );
    const ended = expect(collides).rejects.toThrow('conflict');
    await vi.runAllTimersAsync();
    await ended;
    expect(at).toEqual([0, 20, 60, 140, 300, 620, 1_260, 2_540, 5_100]);
  },
);

it.each([
  ['MinIO', 3],
  ['AmazonS3', 1],
])('a write that %s denies takes %i requests', async (server, requests) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let sent = 0;
  const answer = { statusCode: 403, headers: { server }, body: Readable.from([]) };
  const denied = repeatOnConflict(
    async () => {
      sent++;
      throw Object.assign(new Error('denied'), { name: 'AccessDenied' });
    },
    { answer },
    undefined,
  );
  const ended = expect(denied).rejects.toThrow('denied');
  await vi.runAllTimersAsync();
  await ended;
  expect(sent).toBe(requests);
});
