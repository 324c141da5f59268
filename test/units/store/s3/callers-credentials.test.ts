import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  answeredInTime,
  createCredentialSource,
  untilRenewal,
} from '../../../../src/store/s3/callers-credentials.ts';

const IDENTITY = { accessKeyId: 'ID', secretAccessKey: 'secret' };
const NOW = Date.parse('2026-05-05T12:00:00Z');
const RENEWAL = 300_000;

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
});
afterEach(() => {
  vi.useRealTimers();
});

it('credentials that are no provider are left as they are', () => {
  expect(answeredInTime(IDENTITY)).toBe(IDENTITY);
  expect(answeredInTime(undefined)).toBeUndefined();
});

it('a provider is asked with what it is given, and keeps the marks that it has', async () => {
  const asked: unknown[] = [];
  const ask = async (properties?: Record<string, unknown>) => {
    asked.push(properties);
    return IDENTITY;
  };
  const provider = answeredInTime(Object.assign(ask, { memoized: true }));
  const properties = { callerClientConfig: {} };
  expect(await provider(properties)).toBe(IDENTITY);
  expect(asked).toEqual([properties]);
  expect(provider.memoized).toBe(true);
});

it('a provider that does not answer within a minute is unavailable', async () => {
  const provider = answeredInTime(() => new Promise<typeof IDENTITY>(() => {}));
  let failure: unknown;
  provider().catch((error: unknown) => {
    failure = error;
  });
  await vi.advanceTimersByTimeAsync(59_999);
  expect(failure).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(failure).toMatchObject({ code: 'unavailable', message: expect.stringContaining('did not answer') });
});

it.each([
  ['nothing', undefined],
  ['null', null],
  ['no id', { secretAccessKey: 'secret' }],
  ['no secret', { accessKeyId: 'ID' }],
  ['an end that is no date', { ...IDENTITY, expiration: '2026-05-05' }],
  ['an end at no time', { ...IDENTITY, expiration: new Date(Number.NaN) }],
])('a provider that answers with %s has no credentials', async (_, answer) => {
  const provider = answeredInTime(async () => answer as unknown as typeof IDENTITY);
  await expect(provider()).rejects.toMatchObject({
    code: 'access_denied',
    message: expect.stringContaining('answered without any'),
  });
});

it('credentials are shared until five minutes before their end', async () => {
  let asks = 0;
  const asking = untilRenewal(
    async (step: number) => ({ ...IDENTITY, step, expiration: new Date(NOW + ++asks * 2 * RENEWAL) }),
    Date.now,
  );
  const [one, other] = await Promise.all([asking(1), asking(2)]);
  expect([one.step, other.step, asks]).toEqual([1, 1, 1]);
  vi.setSystemTime(NOW + RENEWAL - 1);
  expect((await asking(3)).step).toBe(1);
  vi.setSystemTime(NOW + RENEWAL);
  expect((await asking(4)).step).toBe(4);
  expect(asks).toBe(2);
});

it('credentials without an end are asked for once, and again after a failure', async () => {
  let asks = 0;
  const asking = untilRenewal(async () => {
    if (++asks === 1) throw new Error('no');
    return IDENTITY as { accessKeyId: string; secretAccessKey: string; expiration?: Date };
  });
  await expect(asking()).rejects.toThrow('no');
  expect(await asking()).toBe(IDENTITY);
  vi.setSystemTime(NOW + 1_000 * RENEWAL);
  expect(await asking()).toBe(IDENTITY);
  expect(asks).toBe(2);
});

it('a failure of an older ask does not end what a newer one gave', async () => {
  const answers: PromiseWithResolvers<typeof IDENTITY & { expiration?: Date }>[] = [];
  const asking = untilRenewal(() => {
    const answer = Promise.withResolvers<typeof IDENTITY & { expiration?: Date }>();
    answers.push(answer);
    return answer.promise;
  });
  const first = asking();
  answers[0]?.resolve({ ...IDENTITY, expiration: new Date(NOW) });
  await first;
  const second = asking();
  answers[1]?.resolve(IDENTITY);
  await second;
  await asking();
  expect(answers).toHaveLength(2);
});

it('a source gives the credentials that were set last, for a minute each time', async () => {
  const source = createCredentialSource(IDENTITY);
  const expiration = new Date(NOW + 60_000);
  expect(await source.provider()).toEqual({ ...IDENTITY, expiration });
  expect(source.replace(undefined)).toBe(false);
  expect(source.replace(IDENTITY)).toBe(false);
  const asked: unknown[] = [];
  const other = async (properties?: Record<string, unknown>) => {
    asked.push(properties);
    return { ...IDENTITY, accessKeyId: 'OTHER' };
  };
  expect(source.replace(other)).toBe(true);
  expect(source.replace(other)).toBe(false);
  const properties = { forceRefresh: true };
  for (let ask = 0; ask < 2; ask++)
    expect(await source.provider(properties)).toEqual({ ...IDENTITY, accessKeyId: 'OTHER', expiration });
  expect(asked).toEqual([properties]);
  expect(source.replace(IDENTITY)).toBe(true);
});
