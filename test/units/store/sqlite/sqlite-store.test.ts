import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { describeObjectStore } from '../../../contracts/object-store.ts';

const directory = mkdtempSync(join(tmpdir(), 'sqlite-object-store-'));
afterAll(() => rmSync(directory, { recursive: true }));

const options = { changesAll: true } as const;
describeObjectStore('SQLite in memory', () => openSqliteObjectStore({ path: ':memory:' }), options);
describeObjectStore(
  'SQLite in a file',
  () => openSqliteObjectStore({ path: join(directory, 'contract.db') }),
  options,
);
