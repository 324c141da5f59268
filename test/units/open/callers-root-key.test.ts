import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { heldToPort } from '../../../src/keys/own-root-key.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { describeRootKey } from '../../contracts/root-key.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

const right = envRootKey(new Uint8Array(32).fill(1));
const CREATE = { command: 'create', path: '/memories/a', file_text: 'text' };
const VIEW = { command: 'view', path: '/memories/a' };

describeRootKey('a root key of the caller’s', async () => ({
  root: heldToPort(right),
  another: heldToPort(envRootKey(new Uint8Array(32).fill(2))),
}));

let store: ObjectStore;
/** In the place of what the root key does; the right one where it is absent. */
let generate: RootKey['generate'] | undefined;
let unwrap: RootKey['unwrap'] | undefined;
const rootKey: RootKey = {
  get id() {
    return right.id;
  },
  generate: (...asked) => (generate ?? right.generate)(...asked),
  unwrap: (...asked) => (unwrap ?? right.unwrap)(...asked),
};

const open = () => openMemory({ store, rootKey, tenant: 'acme', logger: silentLogger, lazy: true });

beforeEach(() => {
  [generate, unwrap] = [undefined, undefined];
  store = openSqliteObjectStore({ path: ':memory:' });
});
afterEach(async () => {
  vi.useRealTimers();
  await store[Symbol.asyncDispose]();
});

const ANSWERS: readonly (readonly [string, () => unknown, string])[] = [
  [
    'throws',
    () => {
      throw new Error('key');
    },
    'unavailable',
  ],
  ['rejects', () => Promise.reject(new Error('key')), 'unavailable'],
  ['rejects with nothing', () => Promise.reject(), 'unavailable'],
  ['answers nothing', () => undefined, 'integrity'],
  ['answers a text', async () => 'key', 'integrity'],
  ['answers an empty object', async () => ({}), 'integrity'],
  ['answers a key too short', async () => new Uint8Array(31), 'integrity'],
  ['generates a key and wraps nothing', async () => ({ key: new Uint8Array(32) }), 'integrity'],
  [
    'generates a wrap that no keyring can hold',
    async () => ({ key: new Uint8Array(32), wrapped: new Uint8Array(8_193) }),
    'integrity',
  ],
];

describe('a root key of the caller’s that', () => {
  it.each(ANSWERS)('%s makes and opens no keyring', async (_, answer, code) => {
    {
      await using memory = await open();
      generate = answer as RootKey['generate'];
      expect(await memory.execute(CREATE)).toMatchObject({ error: { name: 'MemoryError', code } });
    }
    generate = undefined;
    await using made = await open();
    expect(await made.execute(CREATE)).toMatchObject({ isError: false });
    unwrap = answer as RootKey['unwrap'];
    await using memory = await open();
    const result = await memory.execute(VIEW);
    expect(result).toMatchObject({ error: { name: 'MemoryError', code } });
    if (result.isError) expect(String(result.error.cause)).not.toContain('key');
  });

  it('never answers holds no caller who cancels, and nobody for longer than a minute', async () => {
    const memory = await open();
    const late = Promise.withResolvers<Awaited<ReturnType<RootKey['generate']>>>();
    const asked = Promise.withResolvers<void>();
    generate = () => {
      asked.resolve();
      return late.promise;
    };
    const caller = new AbortController();
    const left = memory.execute(CREATE, { signal: caller.signal });
    await asked.promise;
    caller.abort();
    expect(await left).toMatchObject({ error: { code: 'aborted' } });

    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const again = Promise.withResolvers<void>();
    generate = () => {
      again.resolve();
      return late.promise;
    };
    const outcome = memory.execute(CREATE);
    await again.promise;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await outcome).toMatchObject({ error: { code: 'timeout' } });
    await memory.close();
    const key = new Uint8Array(32).fill(7);
    late.resolve({ key, wrapped: new Uint8Array(40) });
    await new Promise((resolve) => setImmediate(resolve));
    expect(key).toEqual(new Uint8Array(32));
    expect(await store.get('keyrings/acme' as never)).toBeUndefined();
  });
});
