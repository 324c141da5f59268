import { afterEach, expect, it } from 'vitest';
import { type ObjectKey, parseTenantId } from '../../../src/format/object-keys.ts';
import { parseMemoryPath } from '../../../src/language/path.ts';
import { readSettings } from '../../../src/open/options/settings.ts';
import { wireTenant } from '../../../src/open/wire-tenant.ts';
import { type BaseStore, openBaseStore } from '../../../src/store/open-store.ts';

const rootKey = new Uint8Array(32).fill(1);
let base: BaseStore;
afterEach(() => base[Symbol.asyncDispose]());

it('a dry run of the expiry leaves the tombstones where they are', async () => {
  const settings = readSettings({ store: 'memory:', rootKey });
  const opened = await openBaseStore(settings);
  const prefixes: string[] = [];
  base = {
    ...opened,
    buryTombstones: async (prefix) => prefixes.push(prefix) + 1,
  };
  const { expire, context } = await wireTenant({ settings, base, tenant: parseTenantId('acme') });
  expect(await expire({ afterDays: 30, dryRun: true })).toMatchObject({ tombstones: 0 });
  expect(prefixes).toEqual([]);
  expect(await expire({ afterDays: 30 })).toMatchObject({ tombstones: 2 });
  expect(prefixes).toEqual([context.layout.tenantPrefix]);
});

it('a tenant that is wiped holds neither files nor keys any more, and its memory closes what it was opened with', async () => {
  const settings = readSettings({ store: 'memory:', rootKey });
  base = await openBaseStore(settings);
  const parts = await wireTenant({ settings, base, tenant: parseTenantId('acme') });
  let closed = 0;
  const memory = parts.openMemory(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    closed += 1;
  });
  await memory.files.write('/memories/a', 'text');
  const keys: ObjectKey[] = [];
  for await (const { objects } of base.plain.list({ prefix: parts.context.layout.data }))
    keys.push(...objects.map(({ key }) => key));
  const held = (): readonly boolean[] => keys.map((key) => parts.context.cache.find(key) !== undefined);
  expect(held()).toEqual([true]);
  await memory.close();
  expect(closed).toBe(1);
  parts.wipe();
  expect(held()).toEqual([false]);
  await expect(parts.tree.read(parseMemoryPath('/memories/a'))).rejects.toMatchObject({ code: 'aborted' });
});
