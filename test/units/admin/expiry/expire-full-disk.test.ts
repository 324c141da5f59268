import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { openAdmin } from '../../../../src/open/open-admin.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { DAY_MS } from '../../../../src/time.ts';
import { silentLogger } from '../../../stage/silent-logger.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

/** A store in which a change that frees nothing finds no room. */
function full(below: ObjectStore): ObjectStore {
  return {
    ...below,
    async changeAll(changes, options) {
      if (changes.deletes.length > 0) return (await below.changeAll?.(changes, options)) ?? { etags: [] };
      throw new MemoryError('unavailable', 'full, says the test', { details: { reason: 'disk_full' } });
    },
  };
}

it('a history expires in the room of what goes, where nothing is left of what is kept for deletes', async () => {
  const below = openSqliteObjectStore({ path: ':memory:' });
  const options = { tenant: 'acme', rootKey: new Uint8Array(32).fill(5), logger: silentLogger };
  await using memory = await openMemory({ ...options, store: below, history: { days: 30 } });
  for (const text of ['one', 'two', 'three']) await memory.files.write('/memories/a', text);
  vi.setSystemTime(Date.now() + 40 * DAY_MS);
  await using admin = await openAdmin({ ...options, store: full(below), expireAfterDays: 1 });
  const { history, marked } = await admin.expire({ historyDays: 30 });
  expect({ history, marked }).toEqual({ history: 2, marked: 0 });
  expect((await admin.verify()).findings).toEqual([]);
  expect(await memory.history.list('/memories/a')).toHaveLength(1);
});
