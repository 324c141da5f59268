import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../../src/errors.ts';
import { createKeyGate, type KeyGate } from '../../../src/keys/key-gate.ts';

const OPTIONS = { limitMs: 50_000, late: () => new MemoryError('timeout', 'timeout') };

let now: number;
let gate: KeyGate;
/** The requests that reached the service. */
let sent: ('send' | 'probe')[];
/** Serves each request as the service does. */
let serve: () => Promise<Uint8Array>;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  now = 0;
  sent = [];
  gate = createKeyGate({ ...OPTIONS, monotonic: () => now });
});
afterEach(() => {
  vi.useRealTimers();
});

async function pass(ms: number): Promise<void> {
  now += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

const failing = (code: MemoryErrorCode) => (): Promise<never> => Promise.reject(new MemoryError(code, code));
const working = async (): Promise<Uint8Array> => new Uint8Array(32).fill(7);

async function ask(signal?: AbortSignal): Promise<string> {
  const request = (form: 'send' | 'probe') => (): Promise<Uint8Array> => {
    sent.push(form);
    return serve();
  };
  try {
    await gate.ask({
      send: request('send'),
      probe: request('probe'),
      fail: (error) => error as MemoryError,
      discard: (answer) => answer.fill(0),
      signal,
    });
    return 'ok';
  } catch (error) {
    return (error as MemoryError).code;
  }
}

describe('a service that is shared', () => {
  it('is asked by everybody while it works', async () => {
    serve = working;
    expect(await Promise.all(Array.from({ length: 50 }, () => ask()))).toEqual(Array(50).fill('ok'));
    expect(sent).toEqual(Array(50).fill('send'));
  });

  it.each(['unavailable', 'timeout'] as const)(
    'is asked once a second in all once it was %s',
    async (code) => {
      serve = failing(code);
      expect(await ask()).toBe(code);
      for (let tick = 0; tick < 100; tick++) {
        await pass(100);
        expect(await Promise.all(Array.from({ length: 50 }, () => ask()))).toEqual(Array(50).fill(code));
      }
      expect(sent).toEqual(['send', ...Array(10).fill('probe')]);
      serve = working;
      await pass(1_000);
      expect(await ask()).toBe('ok');
      expect(await ask()).toBe('ok');
      expect(sent.slice(11)).toEqual(['probe', 'send']);
    },
  );

  it.each(['access_denied', 'key_unavailable', 'integrity', 'misconfigured', 'aborted'] as const)(
    'is asked on after %s, which is about one tenant or key',
    async (code) => {
      serve = failing(code);
      for (let call = 0; call < 5; call++) expect(await ask()).toBe(code);
      expect(sent).toEqual(Array(5).fill('send'));
    },
  );

  it('works again when a probe is refused, because that is an answer', async () => {
    serve = failing('unavailable');
    await ask();
    await pass(1_000);
    serve = failing('access_denied');
    expect(await ask()).toBe('access_denied');
    serve = working;
    expect(await ask()).toBe('ok');
  });

  it('holds nobody for longer than two seconds once it hung, with one probe at a time', async () => {
    serve = failing('timeout');
    await ask();
    await pass(1_000);
    const late = Promise.withResolvers<Uint8Array>();
    serve = () => late.promise;
    const probing = ask();
    expect(await ask()).toBe('timeout');
    await pass(1_999);
    expect(await Promise.race([probing, 'waits'])).toBe('waits');
    await pass(1);
    expect(await probing).toBe('timeout');
    for (let second = 0; second < 10; second++) {
      await pass(1_000);
      expect(await ask()).toBe('timeout');
    }
    expect(sent).toEqual(['send', 'probe']);
    const key = new Uint8Array(32).fill(7);
    serve = working;
    late.resolve(key);
    await pass(0);
    expect(key).toEqual(new Uint8Array(32));
    expect(await ask()).toBe('ok');
  });

  it.each([
    [1_999, 'send'],
    [2_000, 'probe'],
  ])('that left its caller without an answer for %i ms is asked next by a %s', async (ms, form) => {
    const answers: (() => void)[] = [];
    serve = () =>
      new Promise((_, reject) => {
        answers.push(() => reject(new MemoryError('aborted', 'aborted')));
      });
    const asking = ask();
    await pass(ms);
    answers[0]?.();
    expect(await asking).toBe('aborted');
    await pass(1_000);
    serve = working;
    expect(await ask()).toBe('ok');
    expect(sent).toEqual(['send', form]);
  });

  it('is probed on when the one who began the probe has left', async () => {
    serve = failing('unavailable');
    await ask();
    await pass(1_000);
    const late = Promise.withResolvers<Uint8Array>();
    serve = () => late.promise;
    const caller = new AbortController();
    const probing = ask(caller.signal);
    caller.abort();
    expect(await probing).toBe('aborted');
    late.resolve(new Uint8Array(32));
    await pass(0);
    serve = working;
    expect(await ask()).toBe('ok');
    expect(sent).toEqual(['send', 'probe', 'send']);
  });

  it.each(['access_denied', 'integrity'] as const)(
    'that takes its time to say %s hangs no other',
    async (code) => {
      const refused = Promise.withResolvers<Uint8Array>();
      serve = () => refused.promise;
      const asking = ask();
      await pass(2_000);
      refused.reject(new MemoryError(code, code));
      expect(await asking).toBe(code);
      serve = working;
      expect(await ask()).toBe('ok');
      expect(sent).toEqual(['send', 'send']);
    },
  );

  it('passes the answer of a probe on as it came', async () => {
    const request = { fail: (error: unknown) => error as MemoryError, signal: undefined };
    const discard = vi.fn<(answer: Uint8Array) => void>();
    const failed = gate.ask({ ...request, discard, send: failing('unavailable'), probe: working });
    await expect(failed).rejects.toMatchObject({ code: 'unavailable' });
    await pass(1_000);
    const answer = await gate.ask({ ...request, discard, send: failing('unavailable'), probe: working });
    expect(answer).toEqual(new Uint8Array(32).fill(7));
    await pass(0);
    expect(discard).not.toHaveBeenCalled();
  });
});

describe('a service that hangs', () => {
  const ATONCE = 16;
  let answers: ((answer: Uint8Array) => void)[];
  beforeEach(() => {
    answers = [];
    serve = () => {
      const { promise, resolve } = Promise.withResolvers<Uint8Array>();
      answers.push(resolve);
      return promise;
    };
  });
  const outcomes = (asking: readonly Promise<string>[]) =>
    Promise.all(asking.map((each) => Promise.race([each, 'waits'])));

  it('is asked by 16 at once, and by one more for each that is answered, in their order', async () => {
    const asking = Array.from({ length: 20 }, () => ask());
    await pass(0);
    expect(sent).toHaveLength(ATONCE);
    answers[3]?.(new Uint8Array(32));
    await pass(0);
    expect(sent).toHaveLength(ATONCE + 1);
    answers[ATONCE]?.(new Uint8Array(32));
    await pass(0);
    const [said, then] = [await outcomes(asking), sent.length];
    expect(said.flatMap((each, index) => (each === 'ok' ? [index] : []))).toEqual([3, ATONCE]);
    expect(then).toBe(ATONCE + 2);
  });

  it('is late after its limit, to those who wait for a place too, and what comes then is overwritten', async () => {
    const asking = Array.from({ length: 20 }, () => ask());
    await pass(OPTIONS.limitMs - 1);
    expect(new Set(await outcomes(asking))).toEqual(new Set(['waits']));
    await pass(1);
    expect(new Set(await outcomes(asking))).toEqual(new Set(['timeout']));
    expect(sent).toHaveLength(ATONCE);
    const key = new Uint8Array(32).fill(7);
    answers[0]?.(key);
    await pass(0);
    expect(key).toEqual(new Uint8Array(32));
  });

  it('lets who cancels go at once, from a place and from the queue, where nobody loses his turn', async () => {
    const asking = Array.from({ length: ATONCE }, () => ask());
    const callers = Array.from({ length: 3 }, () => new AbortController());
    const queued = callers.map(({ signal }) => ask(signal));
    await pass(0);
    callers[1]?.abort();
    expect(await queued[1]).toBe('aborted');
    answers[0]?.(new Uint8Array(32));
    await pass(0);
    expect(sent).toHaveLength(ATONCE + 1);
    callers[0]?.abort();
    expect(await queued[0]).toBe('aborted');
    await pass(0);
    expect(sent).toHaveLength(ATONCE + 2);
    expect(await asking[0]).toBe('ok');
    answers.at(-1)?.(new Uint8Array(32));
    expect(await queued[2]).toBe('ok');
  });

  it('is asked by 16 again once it works', async () => {
    const asking = Array.from({ length: 40 }, () => ask());
    await pass(OPTIONS.limitMs);
    await Promise.all(asking);
    await pass(1_000);
    serve = working;
    expect(await Promise.all(Array.from({ length: 40 }, () => ask()))).toContain('ok');
    expect(await Promise.all(Array.from({ length: 40 }, () => ask()))).toEqual(Array(40).fill('ok'));
  });
});

describe('a gate by the clock of the process', () => {
  it('lets nobody through for a second after trouble', async () => {
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
    gate = createKeyGate(OPTIONS);
    serve = failing('unavailable');
    for (const ms of [0, 999, 1]) {
      await vi.advanceTimersByTimeAsync(ms);
      expect(await ask()).toBe('unavailable');
    }
    expect(await ask()).toBe('unavailable');
    expect(sent).toEqual(['send', 'probe']);
  });
});
