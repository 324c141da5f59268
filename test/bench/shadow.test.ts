import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { objectsOf } from '../../bench/sealed-objects.ts';
import { record, replay, requestsOf } from '../../bench/shadow.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { interceptStore } from '../stage/store-wrappers.ts';

const ROOT_KEY = Buffer.alloc(32, 1).toString('base64');

function openStore(): ObjectStore {
  const store = openSqliteObjectStore({ path: ':memory:' });
  onTestFinished(() => store[Symbol.asyncDispose]());
  return store;
}

async function openRecorded() {
  const store = openStore();
  const recorder = record(store);
  const memory = await openMemory({ store: recorder.store, tenant: 'bench', rootKey: ROOT_KEY });
  onTestFinished(() => memory.close());
  return { store, recorder, memory };
}

const create = (path: string) => ({ command: 'create', path: `/memories/${path}`, file_text: 'text\n' });

/** Every request takes its time; notes how many are under way at most. */
function slowed(store: ObjectStore): { readonly store: ObjectStore; readonly most: () => number } {
  let [open, most] = [0, 0];
  return {
    most: () => most,
    store: interceptStore(store, async (_, proceed) => {
      most = Math.max(most, ++open);
      await sleep(2);
      const answer = await proceed();
      open--;
      return answer;
    }),
  };
}

describe('requests that are sent once more', () => {
  it('make of the other store what the command made of the first', async () => {
    const { store, recorder, memory } = await openRecorded();
    const other = openStore();
    for (const command of [
      create('a/one.md'),
      create('a/two.md'),
      { command: 'rename', old_path: '/memories/a', new_path: '/memories/b' },
      { command: 'delete', path: '/memories/b/one.md' },
    ]) {
      expect((await memory.execute(command)).isError).toBe(false);
      const sent = recorder.take();
      expect(sent.length).toBeGreaterThan(0);
      // SQLite names versions by themselves, so conditions on them cannot hold in another file.
      await replay(sent, withoutVersions(other));
    }
    expect(await objectsOf(other)).toEqual(await objectsOf(store));
  });

  it('are told to differ when a condition ends otherwise', async () => {
    const { recorder, memory } = await openRecorded();
    const other = openStore();
    await memory.execute(create('one.md'));
    const sent = recorder.take();
    await replay(sent, other);
    await expect(replay(sent, other)).rejects.toThrow('the PUT ended otherwise');
  });

  it('go one after another where they did, and side by side where they did', async () => {
    const recorder = record(slowed(openStore()).store);
    const [first, second, third] = [keyOf('1'), keyOf('2'), keyOf('3')];
    for (const key of [first, second, third]) await recorder.store.head(key);
    const inTurn = slowed(openStore());
    await replay(recorder.take(), inTurn.store);
    expect(inTurn.most()).toBe(1);

    await Promise.all([first, second, third].map((key) => recorder.store.head(key)));
    const together = slowed(openStore());
    await replay(recorder.take(), together.store);
    expect(together.most()).toBe(3);
  });

  it('are counted by their names, a listing once for each page', async () => {
    const store = openStore();
    for (const name of ['a', 'b', 'c']) await store.put(keyOf(name), new Uint8Array(1), { mode: 'create' });
    const recorder = record(store);
    for await (const _ of recorder.store.list({ prefix: '', maxKeys: 2 }));
    await recorder.store.get(keyOf('a'));
    const sent = recorder.take();
    expect(requestsOf(sent.map(({ name }) => name))).toBe('2 LIST, 1 GET');
    const pages: number[] = [];
    const counted = interceptStore(store, async (call, proceed) => {
      if (call.verb === 'list') pages.push(call.page);
      return proceed();
    });
    await replay(sent, counted);
    expect(pages).toEqual([1, 1]);
  });
});

type Key = Parameters<ObjectStore['head']>[0];

function keyOf(name: string): Key {
  return `tenants/${name}` as Key;
}

/** A store that takes every version for the one that is asked for. */
function withoutVersions(store: ObjectStore): ObjectStore {
  return {
    ...store,
    get: (key, options) => store.get(key, { ...options, ifNoneMatch: undefined }),
    put: (key, body, { mode }) => store.put(key, body, { mode: mode === 'create' ? mode : 'overwrite' }),
    delete: (targets) => store.delete(targets.map(({ key }) => ({ key }))),
  };
}
