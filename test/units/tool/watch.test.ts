import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { createWatch, type EventHandler, type MemoryEvent } from '../../../src/tool/watch.ts';

let events: MemoryEvent[];
let failures: number;

beforeEach(() => {
  events = [];
  failures = 0;
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

const watch = ({
  showsPaths = true,
  handler = (event) => events.push(event),
}: {
  readonly showsPaths?: boolean;
  readonly handler?: EventHandler;
} = {}) =>
  createWatch({
    tenant: 'acme',
    handler,
    showsPaths,
    onFailure() {
      failures++;
    },
  });

describe('the watch over calls', () => {
  const refusing = async (): Promise<never> => {
    throw new MemoryError('policy_refused', 'no');
  };
  const verbs = {
    limit: 5,
    read: async (..._: unknown[]) => 'text',
    write: async (..._: unknown[]) => 'written',
    copy: async (..._: unknown[]) => 'copied',
    rename: async (..._: unknown[]) => 'renamed',
    refused: (..._: unknown[]) => refusing(),
    broken: (..._: unknown[]) => {
      throw new Error('broken');
    },
    close: async () => 'closed',
  };

  it('tells the paths of each, where they are asked for and may be told', async () => {
    const subject = watch();
    const watched = subject.verbs('files', verbs, undefined);
    expect(await watched.read('/memories/a', {})).toBe('text');
    await watched.write('/memories/a', '/memories/content');
    await watched.copy('/memories/a', '/memories/b', {});
    await watched.rename('/memories/a', '/memories/b');
    await watched.read('');
    await watched.read('/elsewhere');
    await watched.read(5);
    await watched.refused('/memories/secret').catch(() => {});
    await subject.closed();
    expect(events.map(({ command, paths }) => [command, paths])).toEqual([
      ['files.read', ['/memories/a']],
      ['files.write', ['/memories/a']],
      ['files.copy', ['/memories/a', '/memories/b']],
      ['files.rename', ['/memories/a', '/memories/b']],
      ['files.read', []],
      ['files.read', []],
      ['files.read', []],
      ['files.refused', undefined],
    ]);
  });

  it('tells no paths where they are not asked for', async () => {
    const subject = watch({ showsPaths: false });
    await subject.verbs('files', verbs, undefined).read('/memories/a');
    await subject.closed();
    expect(events.map((event) => 'paths' in event)).toEqual([false]);
  });

  it('leaves what is no call and the close as they are, and the object as it is made', async () => {
    const subject = watch();
    const watched = subject.verbs('admin', verbs, undefined);
    expect(watched).toSatisfy(Object.isFrozen);
    expect(watched.limit).toBe(5);
    expect(watched.close).toBe(verbs.close);
    await watched.read();
    await subject.closed();
    expect(events.map(({ command }) => command)).toEqual(['admin.read']);
  });

  it('tells the code of what failed, and passes the failure on', async () => {
    const subject = watch();
    const watched = subject.verbs('files', verbs, undefined);
    await expect(watched.refused()).rejects.toMatchObject({ code: 'policy_refused' });
    await expect(watched.broken()).rejects.toThrow('broken');
    await subject.closed();
    expect(events.map(({ outcome }) => outcome)).toEqual(['policy_refused', 'unavailable']);
  });

  it.each([
    ['of the call', ['/memories/a', { actor: 'me' }], 'me'],
    ['of the memory, where the call names none', ['/memories/a', {}], 'host'],
    ['of the memory, where there are no options', ['/memories/a'], 'host'],
    ['of the memory, where they are null', [null], 'host'],
    ['of the memory, where there are no arguments', [], 'host'],
  ])('names the actor %s', async (_, args, actor) => {
    const subject = watch();
    await subject.verbs('files', verbs, 'host').read(...args);
    await subject.verbs('files', verbs, undefined).read();
    await subject.closed();
    expect(events.map((event) => event.actor)).toEqual([actor, undefined]);
    expect('actor' in (events[1] ?? {})).toBe(false);
  });

  it('tells the time that each took, to the microsecond', async () => {
    const subject = watch();
    const times = [10, 12.345_678];
    vi.spyOn(performance, 'now').mockImplementation(() => times.shift() ?? 0);
    await subject.verbs('files', verbs, undefined).read();
    vi.restoreAllMocks();
    await subject.closed();
    expect(events[0]?.durationMs).toBe(2.346);
  });
});

describe('the watch over commands', () => {
  const execute = (outcome: object) =>
    watch().execute(async () => outcome as { readonly isError: false }, 'host');

  it('tells the paths of each, and who asked', async () => {
    const asked = vi.fn(async (..._: unknown[]) => ({ isError: false }) as const);
    const subject = watch();
    const run = subject.execute(asked, 'host');
    const input = { command: 'rename', old_path: '/memories/a', new_path: '/memories/b' };
    const options = { actor: 'me' };
    expect(await run(input, options)).toEqual({ isError: false });
    await run({ command: 'view', path: '/memories/c' });
    await run({ command: 'unheard', path: '/elsewhere' });
    await subject.closed();
    expect(asked.mock.calls).toEqual([
      [input, options],
      [{ command: 'view', path: '/memories/c' }, {}],
      [{ command: 'unheard', path: '/elsewhere' }, {}],
    ]);
    expect(events.map(({ command, actor, outcome, paths }) => [command, actor, outcome, paths])).toEqual([
      ['rename', 'me', 'ok', ['/memories/a', '/memories/b']],
      ['view', 'host', 'ok', ['/memories/c']],
      ['invalid', 'host', 'ok', []],
    ]);
  });

  it('tells the code of one that failed', async () => {
    const error = new MemoryError('not_found', 'none');
    const failed = { isError: true, error };
    expect(await execute(failed)({ command: 'view', path: '/memories/a' })).toBe(failed);
    await new Promise((resolve) => setImmediate(resolve));
    expect(events).toMatchObject([{ command: 'view', outcome: 'not_found', actor: 'host', tenant: 'acme' }]);
  });
});

describe('the watch over a listing', () => {
  function listing(fail = false) {
    const ended = vi.fn();
    async function* list(..._: unknown[]) {
      try {
        yield 1;
        yield 2;
        if (fail) throw new MemoryError('integrity', 'damaged');
      } finally {
        ended();
      }
    }
    const subject = watch();
    return { subject, list: subject.verbs('files', { list }, 'host').list, ended };
  }

  it.each([
    [1, [1]],
    [9, [1, 2]],
  ])('is told once, when its caller has seen enough: %i entries at most', async (most, expected) => {
    const { subject, list, ended } = listing();
    const seen: number[] = [];
    for await (const entry of list('/memories/a')) {
      seen.push(entry);
      if (seen.length === most) break;
    }
    expect(seen).toEqual(expected);
    expect(ended).toHaveBeenCalledTimes(1);
    await subject.closed();
    expect(events).toMatchObject([{ command: 'files.list', outcome: 'ok', paths: ['/memories/a'] }]);
  });

  it('is told with what it failed with', async () => {
    const { subject, list } = listing(true);
    const drain = async (): Promise<void> => {
      for await (const _ of list());
    };
    await expect(drain()).rejects.toMatchObject({ code: 'integrity' });
    await subject.closed();
    expect(events).toMatchObject([{ command: 'files.list', outcome: 'integrity', actor: 'host' }]);
  });
});

describe('a handler of events that is slow', () => {
  const verbs = { read: async () => {} };

  it('has 10,000 events to finish at most; further ones are dropped, which is reported', async () => {
    const gate = Promise.withResolvers<void>();
    let handled = 0;
    const subject = watch({
      async handler() {
        await gate.promise;
        handled++;
      },
    });
    const { read } = subject.verbs('files', verbs, undefined);
    for (let call = 0; call < 10_000; call++) await read();
    expect(failures).toBe(0);
    await read();
    expect(failures).toBe(1);
    gate.resolve();
    await subject.closed();
    expect(handled).toBe(10_000);
    await read();
    await subject.closed();
    expect([handled, failures]).toEqual([10_001, 1]);
  });

  it('keeps a close waiting for a second', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const subject = watch({ handler: () => new Promise(() => {}) });
    await subject.verbs('files', verbs, undefined).read();
    const closed = subject.closed().then(() => 'closed');
    await vi.advanceTimersByTimeAsync(999);
    expect(await Promise.race([closed, 'waiting'])).toBe('waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect(await closed).toBe('closed');
  });

  it('leaves no timer where it was done in time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const subject = watch();
    await subject.verbs('files', verbs, undefined).read();
    await subject.closed();
    expect(events).toHaveLength(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(vi.getTimerCount()).toBe(0);
  });
});
