import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { migrateObjects } from '../../../../src/admin/keys/migrate.ts';
import { openMemory, openTenant } from '../../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { describeMigration } from '../../../contracts/migration-load.ts';
import { describeStaleKey } from '../../../contracts/stale-key.ts';
import { QUICK } from '../../../runner/thorough.ts';
import { editorOf, rotate } from '../../../stage/key-operator.ts';
import { laterStore } from '../../../stage/store-wrappers.ts';
import { TEST_ROOT_KEY } from '../../../stage/test-tree.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-migrate-'));
const stores: ObjectStore[] = [];
afterAll(async () => {
  for (const store of stores) await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

async function startFile(): Promise<ObjectStore> {
  const store = openSqliteObjectStore({ path: join(folder, `${stores.length}.sqlite`) });
  stores.push(store);
  return store;
}

async function startInMemory(): Promise<ObjectStore> {
  const store = openSqliteObjectStore({ path: ':memory:' });
  stores.push(store);
  return store;
}

for (const [store, start] of [
  ['a store in memory', startInMemory] as const,
  ...(QUICK ? [] : [['an SQLite file', startFile] as const]),
]) {
  describeStaleKey(store, start);
  describeMigration(store, start);
}

describe('a migration of a store that answers at once', () => {
  it('leaves room for timers, and stops when one of them aborts it', async () => {
    const store = await startInMemory();
    await using tenant = await openMemory({ store, tenant: 'acme', rootKey: TEST_ROOT_KEY });
    for (let file = 0; file < 1_000; file++) {
      await tenant.execute({ command: 'create', path: `/memories/${file}`, file_text: '' });
    }
    const later = laterStore(store, 120_000);
    const { parts, close } = await openTenant({ store: later, tenant: 'acme', rootKey: TEST_ROOT_KEY });
    const { context } = parts;
    const editor = editorOf(context);
    await rotate(editor, context);
    let done = 0;
    const onProgress = (progress: { readonly done: number }): void => {
      done = progress.done;
    };
    const migrated = migrateObjects(context, { editor, signal: AbortSignal.timeout(10), onProgress });
    await expect(migrated).rejects.toMatchObject({ code: 'aborted' });
    expect(done).toBeLessThan(1_000);
    await close();
  });
});
