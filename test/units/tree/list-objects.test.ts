import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import type { ListedObject, ObjectStore } from '../../../src/store/port.ts';
import { listDirectory } from '../../../src/tree/list-directory.ts';
import { listObjects } from '../../../src/tree/list-objects.ts';
import { roundsDuring } from '../../stage/measures.ts';
import { at, createSite, type TestClient, type TestSite, withTenant } from '../../stage/test-tree.ts';

const read = (object: ListedObject): ListedObject => object;

describe('listing many objects', { timeout: 60_000 }, () => {
  it('finds the same side by side as one after the other, however the names are spread', async () => {
    const site = await createSite();
    const client = await site.client();
    const work = await client.open();
    const spreads: Readonly<Record<string, (i: number) => string>> = {
      even: (i) => encryptedName(i),
      clustered: (i) => `zz${String(i).padStart(5, '0')}`,
      'one far away': (i) => (i === 0 ? 'a' : `zzz${String(i).padStart(5, '0')}`),
      'in directories': (i) => `${encryptedName(i % 3)}/${encryptedName(i)}`,
      'one of the other in front': (i) => '-'.repeat(1 + (i % 60)) + String(i),
    };
    function encryptedName(i: number): string {
      return work.keyring.names.encodeFile([`file ${i}`]);
    }
    for (const [title, nameOf] of Object.entries(spreads)) {
      const prefix = `${client.layout.tenantPrefix}${title}/`;
      await fill(site, prefix, { count: 3_600, nameOf });
      const sequential = await listObjects(work, { prefix, maxObjects: 1e6, read, concurrent: false });
      const parallel = await listObjects(work, { prefix, maxObjects: 1e6, read, concurrent: true });
      expect(sequential.objects).toHaveLength(3_600);
      expect({ title, keys: keysOf(parallel.objects) }).toEqual({ title, keys: keysOf(sequential.objects) });
      expect(parallel.truncated).toBe(false);
    }
    await site.base[Symbol.asyncDispose]();
  });

  it('finds the object whose key is the very one at which one part ends and the next begins', async () => {
    const { client, site } = await filled(3_600);
    const work = await client.open();
    const prefix = client.layout.data;
    const bounds: string[] = [];
    const { list } = work.tenant.store;
    const store: ObjectStore = {
      ...work.tenant.store,
      list(options) {
        if (options.startAfter !== undefined) bounds.push(options.startAfter);
        return list(options);
      },
    };
    const listAll = () =>
      listObjects(withTenant(work, { store }), { prefix, maxObjects: 1e6, read, concurrent: true });
    await listAll();
    const [, ...ends] = bounds;
    expect(ends.length).toBeGreaterThan(1);
    for (const key of ends) {
      await site.base.put(key as ObjectKey, new Uint8Array(1), { mode: 'create' });
    }
    const found = new Set<string>(keysOf((await listAll()).objects));
    expect(ends.filter((key) => !found.has(key))).toEqual([]);
    expect(found.size).toBe(3_600 + ends.length);
    await site.base[Symbol.asyncDispose]();
  });

  it('costs at most a few requests more side by side', async () => {
    const { client, site } = await filled(4_500);
    const work = await client.open();
    const prefix = client.layout.data;
    client.calls.length = 0;
    await listObjects(work, { prefix, maxObjects: 1e6, read, concurrent: false });
    expect(client.calls).toHaveLength(5);
    client.calls.length = 0;
    await listObjects(work, { prefix, maxObjects: 1e6, read, concurrent: true });
    expect(client.calls.length).toBeGreaterThanOrEqual(5);
    expect(client.calls.length).toBeLessThanOrEqual(9);
    await site.base[Symbol.asyncDispose]();
  });

  it('lets everything else run between pages, and while names are decoded, on a store that answers at once', async () => {
    const { client, site } = await filled(5_500);
    const work = await client.open();
    const prefix = client.layout.data;
    const pages = await roundsDuring(() =>
      listObjects(work, { prefix, maxObjects: 1e6, read, concurrent: false }),
    );
    expect(pages).toBeGreaterThanOrEqual(5);
    const decoded = await roundsDuring(() => client.tree.list(at('/memories')));
    expect(decoded).toBeGreaterThanOrEqual(6);
    await site.base[Symbol.asyncDispose]();
  });

  it('lets everything else run while names are decoded, however the pages came', async () => {
    const { client, site } = await filled(5_500);
    const work = await client.open();
    const { objects } = await listObjects(work, {
      prefix: client.layout.data,
      maxObjects: 1e6,
      read,
      concurrent: false,
    });
    const store: ObjectStore = {
      ...work.tenant.store,
      async *list() {
        yield { objects, servedAt: 0 };
      },
    };
    const listing = () => listDirectory(withTenant(work, { store }), at('/memories'));
    expect(await roundsDuring(listing)).toBeGreaterThanOrEqual(5);
    await site.base[Symbol.asyncDispose]();
  });

  it('reads at most 250 names between two turns of everything else, however many pages come together', async () => {
    const { client, site } = await filled(9_000);
    const work = await client.open();
    const perTurn: number[] = [];
    let [names, isListing] = [0, true];
    const turn = (): void => {
      perTurn.push(names);
      names = 0;
      if (isListing) setImmediate(turn);
    };
    setImmediate(turn);
    const { objects } = await listObjects(work, {
      prefix: client.layout.data,
      maxObjects: 1e6,
      concurrent: true,
      read: () => names++,
    });
    isListing = false;
    expect(objects).toHaveLength(9_000);
    expect(Math.max(...perTurn)).toBeGreaterThan(0);
    expect(Math.max(...perTurn)).toBeLessThanOrEqual(250);
    await site.base[Symbol.asyncDispose]();
  });

  it('begins no part of a listing that has reached its limit', async () => {
    const { client, site } = await filled(12_000);
    const work = await client.open();
    client.calls.length = 0;
    const { truncated } = await listObjects(work, {
      prefix: client.layout.data,
      maxObjects: 1_001,
      read,
      concurrent: true,
    });
    expect(truncated).toBe(true);
    // The first page, and the eight parts that begin together.
    expect(client.calls).toHaveLength(9);
    client.calls.length = 0;
    await listObjects(work, { prefix: client.layout.data, maxObjects: 1_001, read, concurrent: false });
    await listObjects(work, { prefix: client.layout.data, maxObjects: 999, read, concurrent: true });
    expect(client.calls).toHaveLength(3);
    await site.base[Symbol.asyncDispose]();
  });

  it('stops at its limit and says that there is more', async () => {
    const { client, site } = await filled(2_500);
    const work = await client.open();
    const prefix = client.layout.data;
    for (const concurrent of [false, true]) {
      const list = (maxObjects: number) => listObjects(work, { prefix, maxObjects, read, concurrent });
      expect(await list(2_499)).toMatchObject({ objects: { length: 2_499 }, truncated: true });
      expect(await list(2_500)).toMatchObject({ objects: { length: 2_500 }, truncated: false });
      expect(await list(1_000)).toMatchObject({ objects: { length: 1_000 }, truncated: true });
      expect(await list(1)).toMatchObject({ objects: { length: 1 }, truncated: true });
    }
    await site.base[Symbol.asyncDispose]();
  });
});

async function filled(count: number): Promise<{ readonly client: TestClient; readonly site: TestSite }> {
  const site = await createSite();
  const client = await site.client();
  const { names } = (await client.open()).keyring;
  const nameOf = (i: number): string => names.encodeFile([`file ${i}`]);
  await fill(site, client.layout.data, { count, nameOf });
  expect((await client.tree.list(at('/memories'))).files).toEqual([]);
  return { client, site };
}

async function fill(
  site: TestSite,
  prefix: string,
  { count, nameOf }: { readonly count: number; readonly nameOf: (i: number) => string },
): Promise<void> {
  for (let i = 0; i < count; i++) {
    await site.base.put(`${prefix}${nameOf(i)}` as ObjectKey, new Uint8Array(1), { mode: 'overwrite' });
  }
}

function keysOf(objects: readonly ListedObject[]): readonly string[] {
  return objects.map(({ key }) => key);
}
