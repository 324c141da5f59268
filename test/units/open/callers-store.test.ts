import { setTimeout as realPause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

const TENANT = { rootKey: new Uint8Array(32).fill(7), history: { days: 30 }, logger: silentLogger };
const KEY = { projectKey: 'project', sessionId: 'session' };
const MOST_MINUTES = 1_000;

type Call = (memory: Memory, signal: AbortSignal) => Promise<unknown>;

const command =
  (input: unknown): Call =>
  async (memory, signal) => {
    const result = await memory.execute(input, { signal });
    if (result.isError) throw result.error;
  };

const CALLS: Readonly<Record<string, Call>> = {
  'a view of a directory': command({ command: 'view', path: '/memories' }),
  'a view of a file': command({ command: 'view', path: '/memories/d/a' }),
  'a create': command({ command: 'create', path: '/memories/n', file_text: 'x' }),
  'an edit': command({ command: 'str_replace', path: '/memories/d/a', old_str: 'x', new_str: 'y' }),
  'a rename': command({ command: 'rename', old_path: '/memories/d', new_path: '/memories/e' }),
  'a delete': command({ command: 'delete', path: '/memories/d' }),
  'the log': (memory, signal) => memory.history.list(undefined, { signal }),
  'an undo': (memory, signal) => memory.history.undo({ writer: 'w', signal }),
  'an append to a session': (memory, signal) => memory.sessions.append(KEY, ['{"a":1}'], { signal }),
  'the load of a session': (memory, signal) => memory.sessions.load(KEY, { signal }),
};

interface Hanging {
  readonly store: ObjectStore;
  /** Lets the request hang that is the `at`th from now on. */
  arm(at: number): void;
  readonly met: Promise<'met'>;
}

/** A store of which one request never ends; it looks at no signal. */
function hanging(store: ObjectStore): Hanging {
  const never = new Promise<never>(() => {});
  let left = Number.POSITIVE_INFINITY;
  const met = Promise.withResolvers<'met'>();
  const meet = (): boolean => {
    left -= 1;
    if (left === 0) met.resolve('met');
    return left === 0;
  };
  const hangs: ObjectStore = {
    get: (...asked) => (meet() ? never : store.get(...asked)),
    head: (...asked) => (meet() ? never : store.head(...asked)),
    put: (...asked) => (meet() ? never : store.put(...asked)),
    delete: (...asked) => (meet() ? never : store.delete(...asked)),
    async *list(options) {
      if (meet()) await never;
      yield* store.list(options);
    },
    [Symbol.asyncDispose]: async () => {},
  };
  return {
    store: hangs,
    arm: (at) => {
      left = at;
    },
    met: met.promise,
  };
}

let store: ObjectStore;

beforeEach(() => {
  store = openSqliteObjectStore({ path: ':memory:' });
});
afterEach(async () => {
  vi.useRealTimers();
  await store[Symbol.asyncDispose]();
});

/** Hangs at one request of the call after the other, until the call ends before the request comes. */
async function atEachRequest(
  call: Call,
  meet: (life: {
    readonly memory: Memory;
    readonly ending: Promise<string>;
    readonly abort: () => void;
  }) => Promise<void>,
): Promise<number> {
  for (let at = 1; ; at++) {
    const tenant = `tenant-${at}`;
    const before = await openMemory({ ...TENANT, tenant, store });
    await before.files.write('/memories/d/a', 'x', { actor: 'w' });
    await before.files.write('/memories/d/b', 'z', { actor: 'w' });
    await before.close();
    const hung = hanging(store);
    const memory = await openMemory({ ...TENANT, tenant, store: hung.store });
    hung.arm(at);
    const controller = new AbortController();
    const ending = call(memory, controller.signal).then(
      () => 'done',
      (error: unknown) => String(Object(error).code),
    );
    if ((await Promise.race([hung.met, ending])) !== 'met') {
      await memory.close();
      return at - 1;
    }
    await meet({ memory, ending, abort: () => controller.abort() });
  }
}

/** Lets minutes pass until the work has ended. */
async function minutesOf(work: Promise<unknown>): Promise<void> {
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  for (let minutes = 0; ; minutes++) {
    // Compression and other work without a timer goes on beside the clock of the test.
    await realPause(1);
    if (isOver) return;
    expect(minutes).toBeLessThan(MOST_MINUTES);
    await vi.advanceTimersByTimeAsync(60_000);
  }
}

describe.each(Object.entries(CALLS))(
  '%s on a store of the caller’s of which one request never ends',
  (_, call) => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    });

    it('ends once its caller aborts, and the memory goes on', async () => {
      const requests = await atEachRequest(call, async ({ memory, ending, abort }) => {
        abort();
        await minutesOf(ending);
        expect(['aborted', 'unavailable', 'outcome_unknown', 'done']).toContain(await ending);
        await minutesOf(memory.execute({ command: 'view', path: '/memories' }));
        await minutesOf(memory.close());
      });
      expect(requests).toBeGreaterThan(0);
    });

    it('ends within minutes by itself, and the memory goes on', async () => {
      const requests = await atEachRequest(call, async ({ memory, ending }) => {
        await minutesOf(ending);
        expect(['timeout', 'unavailable', 'outcome_unknown', 'done']).toContain(await ending);
        await minutesOf(memory.execute({ command: 'view', path: '/memories' }));
        await minutesOf(memory.close());
      });
      expect(requests).toBeGreaterThan(0);
    });
  },
);
