import { expect, it } from 'vitest';
import { toBase64url } from '../../src/format/encoding.ts';
import { commitmentOf, readHeader } from '../../src/format/header.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { keepingClient } from '../stage/history-site.ts';
import { createOperator } from '../stage/key-operator.ts';
import { describeOnBothKinds, type TestSite } from '../stage/test-tree.ts';

/** Every object below that class of the tenant, by its key. */
async function objectsOf({ base }: TestSite, cls: string): Promise<ReadonlyMap<ObjectKey, Uint8Array>> {
  const found = new Map<ObjectKey, Uint8Array>();
  for await (const { objects } of base.list({ prefix: `tenants/acme/${cls}/` })) {
    for (const { key } of objects) {
      const object = await base.get(key);
      if (typeof object === 'object') found.set(key, object.body);
    }
  }
  return found;
}

const idOf = (object: Uint8Array): string => toBase64url(readHeader(object)?.id ?? new Uint8Array());

describeOnBothKinds('who reads the bucket of a tenant that keeps history', (newSite) => {
  it('sees, as documented, by its id which version is unchanged after a re-encryption and a rename, and which is kept', async () => {
    const site = await newSite();
    const client = await keepingClient(site);
    await client.create('/memories/stays', 'one');
    await client.create('/memories/edited', 'one');
    const before = await objectsOf(site, 'data');
    await client.rename('/memories/stays', '/memories/renamed');
    await client.append('/memories/edited', ' more');
    const operator = await createOperator(site);
    await operator.rotate();
    await site.time.pause(3_600_000);
    await operator.migrate({ reencrypt: true });
    const after = await objectsOf(site, 'data');

    const ids = [...before.values()].map(idOf);
    expect(new Set(ids).size).toBe(2);
    const shared = [...after].filter(([, object]) => ids.includes(idOf(object)));
    expect(shared).toHaveLength(1);
    const [[key, now] = ['', new Uint8Array()]] = shared;
    expect(before.has(key as ObjectKey)).toBe(false);
    const then = [...before.values()].find((object) => idOf(object) === idOf(now));
    if (then === undefined) throw new Error('it was not there before');
    expect(commitmentOf(now)).not.toEqual(commitmentOf(then));
    // The other one was replaced, and is kept: a record bears the beginning of its id in its name.
    const [replaced = ''] = ids.filter((id) => id !== idOf(now));
    const records = [...(await objectsOf(site, 'history')).keys()];
    expect(records.some((record) => record.endsWith(`_${replaced.slice(0, 8)}`))).toBe(true);
  });
});
