import { expect, it } from 'vitest';
import { createLayout, type ObjectKey, parseTenantId } from '../../../src/format/object-keys.ts';
import { listTenants } from '../../../src/keys/list-tenants.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';

it('the tenants of a store are those with a keyring under its prefix, whatever else lies there', async () => {
  await using store = openSqliteObjectStore({ path: ':memory:' });
  const put = (key: string) => store.put(key as ObjectKey, Uint8Array.of(1), { mode: 'create' });
  for (const prefix of ['', 'a/b']) {
    for (const tenant of ['acme', `globex-${prefix.length}`]) {
      await put(createLayout({ prefix, tenant: parseTenantId(tenant) }).keyring);
    }
  }
  for (const name of ['Not a tenant', 'acme.bak', 'acme/old']) await put(`keyrings/${name}`);
  const asked: unknown[] = [];
  const watched: ObjectStore = {
    ...store,
    list(options) {
      asked.push(options);
      return store.list(options);
    },
  };
  expect(await listTenants(watched, '')).toEqual(['acme', 'globex-0']);
  expect(await listTenants(watched, 'a/b')).toEqual(['acme', 'globex-3']);
  expect(await listTenants(watched, 'a')).toEqual([]);
  expect(asked).toEqual([{ prefix: 'keyrings/' }, { prefix: 'a/b/keyrings/' }, { prefix: 'a/keyrings/' }]);
});
