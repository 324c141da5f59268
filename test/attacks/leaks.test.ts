import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { describeLeaks, type LeakSite } from '../contracts/leaks.ts';

async function start(): Promise<LeakSite> {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-leaks-'));
  const path = join(folder, 'store.db');
  const store = openSqliteObjectStore({ path });
  return {
    options: { store: `sqlite:${path}` },
    env: { SEALED_MEMORY_STORE: `sqlite:${path}` },
    credentials: [],
    broken: { store: `sqlite:${join(folder, 'nowhere', 'store.db')}` },
    async keys() {
      const keys: string[] = [];
      for await (const page of store.list({ prefix: '' })) keys.push(...page.objects.map(({ key }) => key));
      return keys;
    },
    bytes: async () => readdirSync(folder).map((name) => readFileSync(join(folder, name))),
    async damage(key) {
      const stored = await store.get(key as ObjectKey);
      if (typeof stored !== 'object') throw new Error('there is no such object');
      await store.put(key as ObjectKey, stored.body.with(-1, (stored.body.at(-1) ?? 0) ^ 1), {
        mode: 'overwrite',
      });
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    },
  };
}

describeLeaks('an SQLite file', start);
