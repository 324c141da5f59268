import { afterEach, expect, it } from 'vitest';
import { parseTenantId } from '../../src/format/object-keys.ts';
import { readSettings } from '../../src/open/settings.ts';
import { type BaseStore, openBaseStore } from '../../src/open/store.ts';
import { wireTenant } from '../../src/open/wire-tenant.ts';

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
