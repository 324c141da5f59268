// A process of its own on a SQLite store: node sqlite-worker.ts TASK PATH ARGUMENT
import { setTimeout as sleep } from 'node:timers/promises';
import { MemoryError } from '../../../../src/errors.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';

const KEY = 'data/file' as ObjectKey;

const TASKS: Readonly<Record<string, (store: ObjectStore, argument: string) => Promise<void>>> = {
  /** Adds 1 to the number in the file, so many times. */
  async increment(store, times) {
    for (let done = 0; done < Number(times); ) {
      const stored = await store.get(KEY);
      if (typeof stored !== 'object') throw new Error('the number is missing');
      const next = String(Number(new TextDecoder().decode(stored.body)) + 1);
      const mode = { ifMatch: stored.etag };
      if ('etag' in (await store.put(KEY, new TextEncoder().encode(next), { mode }))) done++;
    }
  },

  /** Creates objects until it is killed, and prints the key of each that was acknowledged. */
  async append(store, prefix) {
    for (let i = 0; ; i++) {
      const key = `${prefix}${i}` as ObjectKey;
      await store.put(key, new Uint8Array(20_000).fill(i), { mode: 'create' });
      process.stdout.write(`${key}\n`);
      await sleep(1);
    }
  },

  /** Creates objects until there is no room; all that were acknowledged must be readable then. */
  async fill(store) {
    process.on('SIGXFSZ', () => {});
    const acknowledged: ObjectKey[] = [];
    const failure = await (async () => {
      for (let i = 0; i < 1000; i++) {
        const key = `fill/${i}` as ObjectKey;
        await store.put(key, new Uint8Array(10_000), { mode: 'create' });
        acknowledged.push(key);
      }
    })().catch((error: unknown) => error);
    if (!(failure instanceof MemoryError)) throw new Error('the store was never full');
    const expected = ['unavailable', 'outcome_unknown'];
    if (!expected.includes(failure.code)) throw failure;
    for (const key of [KEY, ...acknowledged]) {
      if ((await store.head(key)) === undefined) throw new Error(`${key} is lost`);
    }
  },

  /** Reads, and is refused when it writes. */
  async readonly(store) {
    if (typeof (await store.get(KEY)) !== 'object') throw new Error('the object is missing');
    const failure = await store
      .put(KEY, new Uint8Array(1), { mode: 'overwrite' })
      .catch((error: unknown) => error);
    if (!(failure instanceof MemoryError && failure.code === 'access_denied')) throw failure;
  },
};

const [task = '', path = '', argument = ''] = process.argv.slice(2);
await using store = openSqliteObjectStore({ path });
await TASKS[task]?.(store, argument);
