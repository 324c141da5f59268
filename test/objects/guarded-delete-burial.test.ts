import { afterEach, describe, expect, it } from 'vitest';
import { buryOldTombstones } from '../../src/objects/guarded-delete-burial.ts';
import type { ObjectKey } from '../../src/objects/object-store.ts';
import { createTombstone } from '../../src/sealing/tombstone.ts';
import { createSite, type TestSite } from '../support/test-vault.ts';

const HOUR = 3_600_000;
const KEY = 'tenants/acme/data/left' as ObjectKey;

describe('the burial of old tombstones', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  const bury = (): Promise<number> =>
    buryOldTombstones({
      store: site.base,
      prefix: 'tenants/acme/',
      olderThanMs: HOUR,
      random: site.time.randomBytes,
    });
  const leave = async (key: ObjectKey): Promise<void> => {
    await site.base.put(key, createTombstone(site.time.randomBytes), { mode: 'create' });
  };

  it('removes those that a crash left behind, and nothing else', async () => {
    site = await createSite('unguarded');
    const client = await site.client();
    await client.create('/memories/kept.md', 'kept');
    await leave(KEY);
    await site.time.pause(HOUR + 1_000);
    await leave('tenants/acme/data/young' as ObjectKey);
    await leave('tenants/other/data/left' as ObjectKey);
    expect(await bury()).toBe(1);
    expect(await site.base.head(KEY)).toBeUndefined();
    expect(await site.base.head('tenants/acme/data/young' as ObjectKey)).toBeDefined();
    expect(await site.base.head('tenants/other/data/left' as ObjectKey)).toBeDefined();
    expect(await client.text('/memories/kept.md')).toBe('kept');
  });

  it('leaves alone what somebody has put in the place of a tombstone meanwhile', async () => {
    site = await createSite('unguarded');
    await leave(KEY);
    await site.time.pause(HOUR + 1_000);
    const { base } = site;
    const store = {
      ...base,
      async *list(options: Parameters<typeof base.list>[0]) {
        for await (const page of base.list(options)) {
          await base.put(KEY, new Uint8Array(200), { mode: 'overwrite' });
          yield page;
        }
      },
    };
    const request = { store, prefix: 'tenants/acme/', olderThanMs: HOUR, random: site.time.randomBytes };
    expect(await buryOldTombstones(request)).toBe(0);
    expect((await base.head(KEY))?.size).toBe(200);
  });
});
