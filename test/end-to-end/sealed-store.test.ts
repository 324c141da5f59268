import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { describeSealedStore, type RawStore, type SealedSite } from '../contracts/sealed-store.ts';

const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true });
});

async function start(): Promise<SealedSite> {
  const directory = mkdtempSync(join(tmpdir(), 'sealed-store-'));
  directories.push(directory);
  const path = join(directory, 'store.db');
  const store = openSqliteObjectStore({ path });
  const raw: RawStore = {
    async keys() {
      const keys: string[] = [];
      for await (const page of store.list({ prefix: '' })) keys.push(...page.objects.map(({ key }) => key));
      return keys;
    },
    async read(key) {
      const stored = await store.get(key as ObjectKey);
      if (typeof stored !== 'object') throw new Error('there is no such object');
      return stored.body;
    },
    write: async (key, bytes) => {
      await store.put(key as ObjectKey, bytes, { mode: 'overwrite' });
    },
    remove: async (key) => {
      await store.delete([{ key: key as ObjectKey }]);
    },
  };
  return {
    raw,
    open: (tenant, rootKey) => openMemory({ store: `sqlite:${path}`, tenant, rootKey, lazy: true }),
    another: start,
    everything: async () => readdirSync(directory).map((name) => readFileSync(join(directory, name))),
  };
}

describeSealedStore('an SQLite file', { start, step: 1 });
