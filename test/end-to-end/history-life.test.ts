import { afterAll } from 'vitest';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { describeHistoryLife } from '../contracts/history-life.ts';
import { rawObjects } from '../stage/raw-stores.ts';
import { laterStore } from '../stage/store-wrappers.ts';

const store = openSqliteObjectStore({ path: ':memory:' });
afterAll(() => store[Symbol.asyncDispose]());

describeHistoryLife('SQLite', () => ({
  options: (laterMs = 0) => ({ store: laterStore(store, laterMs), rootKey: new Uint8Array(32).fill(3) }),
  raw: rawObjects(store),
}));
