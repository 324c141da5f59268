import { afterAll } from 'vitest';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { describeHistoryLife } from '../contracts/history-life.ts';
import { laterStore } from '../doubles/later-store.ts';
import { rawObjects } from '../support/raw-stores.ts';

const store = openSqliteObjectStore({ path: ':memory:' });
afterAll(() => store[Symbol.asyncDispose]());

describeHistoryLife('SQLite', () => ({
  options: (laterMs = 0) => ({ store: laterStore(store, laterMs), rootKey: new Uint8Array(32).fill(3) }),
  raw: rawObjects(store),
}));
