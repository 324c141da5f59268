import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { describeSealedStore, type SealedSite } from '../contracts/sealed-store.ts';
import { rawObjects } from '../stage/raw-stores.ts';

const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true });
});

async function start(): Promise<SealedSite> {
  const directory = mkdtempSync(join(tmpdir(), 'sealed-store-'));
  directories.push(directory);
  const path = join(directory, 'store.db');
  const raw = rawObjects(openSqliteObjectStore({ path }));
  return {
    raw,
    open: (tenant, rootKey) => openMemory({ store: `sqlite:${path}`, tenant, rootKey, lazy: true }),
    another: start,
    everything: async () => readdirSync(directory).map((name) => readFileSync(join(directory, name))),
  };
}

describeSealedStore('an SQLite file', { start, step: 1 });
