import { expect, it } from 'vitest';
import { verifyTree } from '../../../src/admin/verify/verify.ts';
import { OFFSET } from '../../../src/format/header.ts';
import { open, seal } from '../../../src/format/object.ts';
import { fileKey, logicalName } from '../../../src/format/object-keys.ts';
import { sealedSize } from '../../../src/format/sizes.ts';
import { newVersion } from '../../../src/format/version.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { openKeyring, rotateKeyring, sealKeyring } from '../../../src/keys/keyring.ts';
import { bindVersion, readFile } from '../../../src/tree/read-file.ts';
import { countCalls } from '../../stage/store-wrappers.ts';
import {
  at,
  bytes,
  describeOnBothKinds,
  TEST_ROOT_KEY,
  type TestClient,
  type TestSite,
  withTenant,
} from '../../stage/test-tree.ts';

describeOnBothKinds('reading a file', (newSite) => {
  it('gives its content and version by one GET', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b.md', 'text');
    const work = await client.open();
    client.calls.length = 0;
    const version = await readFile(work, at('/memories/a/b.md'));
    expect(version).toMatchObject({ content: bytes('text'), stored: { size: sealedSize(4) } });
    expect(countCalls(client.calls)).toEqual({ get: 1 });
  });

  it('is undefined for a missing file and for a directory', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b.md', 'text');
    expect(await readFile(await client.open(), at('/memories/a'))).toBeUndefined();
    expect(await readFile(await client.open(), at('/memories/b'))).toBeUndefined();
  });

  it('refuses a file above the limit before its body is read, and takes one of exactly the limit', async () => {
    const site = await newSite();
    const writer = await site.client();
    await writer.create('/memories/exact', 'x'.repeat(100));
    await writer.create('/memories/large', 'x'.repeat(101));
    const reader = await site.client({ maxFileBytes: 100 });
    expect(await reader.text('/memories/exact')).toHaveLength(100);
    await expect(reader.text('/memories/large')).rejects.toMatchObject({ code: 'limit_exceeded' });
  });

  it('reads the keyring again for a file under a tenant key that another process has made', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/old', 'old');
    await rotate(site, client);
    const other = await site.client();
    await other.create('/memories/new', 'new');
    expect(await client.text('/memories/new')).toBe('new');
    expect(await client.text('/memories/old')).toBe('old');
  });

  it('gives the keys that opened the file, also where they had to be looked for', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/old', 'old');
    const work = await client.open();
    const old = await readFile(work, at('/memories/old'));
    expect(old?.keys).toBe(work.keyring.keys);
    await rotate(site, client);
    const other = await site.client();
    await other.create('/memories/new', 'new');
    const { keyring } = await other.open();
    const keyrings = { ...work.tenant.keyrings, lookFor: async () => keyring };
    const version = await readFile(withTenant(work, { keyrings }), at('/memories/new'));
    expect(version?.keys).toBe(keyring.keys);
  });

  it('does not read the keyring again for a file that is damaged', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', 'text');
    const {
      tenant: { layout },
      keyring,
    } = await client.open();
    const key = fileKey(layout, keyring.names, at('/memories/a'));
    const stored = await site.base.get(key);
    if (typeof stored !== 'object') throw new Error('there is no such file');
    stored.body.set([(stored.body.at(-1) ?? 0) ^ 1], stored.body.length - 1);
    await site.base.put(key, stored.body, { mode: 'overwrite' });
    client.calls.length = 0;
    await expect(client.text('/memories/a')).rejects.toMatchObject({ code: 'integrity' });
    expect(countCalls(client.calls)).toEqual({ get: 1 });
  });

  it('looks for a key under the signal of its caller, and calls the file damaged where there is none', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', 'text');
    await underMadeUpKey(site, client, '/memories/a', 1);
    const { signal } = new AbortController();
    const work = await client.open(signal);
    const signals: unknown[] = [];
    const lookFor: typeof work.tenant.keyrings.lookFor = async (_, options) => {
      signals.push(options?.signal);
      return 'no_keyring';
    };
    const reading = readFile(
      withTenant(work, { keyrings: { ...work.tenant.keyrings, lookFor } }),
      at('/memories/a'),
    );
    await expect(reading).rejects.toMatchObject({ code: 'integrity', details: { reason: 'unknown_key' } });
    expect(signals).toEqual([signal]);
  });

  it('reads whole files under the keys of many rotations in a row, however soon they follow', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/0', 'text');
    for (let rotation = 1; rotation <= 4; rotation++) {
      await rotate(site, client);
      const other = await site.client();
      await other.create(`/memories/${rotation}`, 'text');
      expect(await client.text(`/memories/${rotation}`)).toBe('text');
    }
  });

  it('reads whole files right after junk under a made-up key, and looks at the keyring once for that', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/junk', 'text');
    await client.create('/memories/whole', 'text');
    await underMadeUpKey(site, client, '/memories/junk', 1);
    client.calls.length = 0;
    for (let read = 0; read < 3; read++) {
      await expect(client.text('/memories/junk')).rejects.toMatchObject({ code: 'integrity' });
    }
    expect(client.calls.filter((call) => 'key' in call && call.key === client.layout.keyring)).toHaveLength(
      1,
    );
    await rotate(site, client);
    await (await site.client()).append('/memories/whole', '!');
    expect(await client.text('/memories/whole')).toBe('text!');
  });

  /** A process that junk has made look for keys as often as it looks for free, and a file under a newer key. */
  async function flooded(): Promise<{ readonly site: TestSite; readonly client: TestClient }> {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/junk', 'text');
    await client.create('/memories/whole', 'text');
    for (let key = 1; key <= 256; key++) {
      await underMadeUpKey(site, client, '/memories/junk', key);
      await expect(client.text('/memories/junk')).rejects.toMatchObject({ code: 'integrity' });
    }
    await rotate(site, client);
    await (await site.client()).append('/memories/whole', '!');
    return { site, client };
  }

  it('calls a whole file unavailable, not damaged, while a flood of made-up keys withholds the look', async () => {
    const { site, client } = await flooded();
    const unavailable = { code: 'unavailable', retry: 'later' };
    await expect(client.text('/memories/whole')).rejects.toMatchObject(unavailable);
    await expect(client.append('/memories/whole', '?')).rejects.toMatchObject(unavailable);
    await site.time.pause(30_000);
    expect(await client.text('/memories/whole')).toBe('text!');
  });

  it('lets a verification look all the same, so that it names nothing that is whole', async () => {
    const { client } = await flooded();
    const { findings } = await verifyTree((await client.open()).tenant);
    expect(findings).toEqual([{ kind: 'unknown_key', name: '/memories/junk' }]);
  });

  it('renames and edits a file under a tenant key that another process has made', async () => {
    const site = await newSite();
    for (const verb of ['move', 'move directory', 'append'] as const) {
      const path = `/memories/${verb}/new`;
      const client = await site.client();
      await client.create('/memories/old', 'old').catch(() => {});
      await rotate(site, client);
      const other = await site.client();
      await other.create(path, 'new');
      if (verb === 'move') await client.rename(path, `${path}er`);
      else if (verb === 'move directory') await client.rename(`/memories/${verb}`, '/memories/moved');
      else await client.append(path, 'er');
    }
    expect(await (await site.client()).paths()).toEqual([
      '/memories/append/new',
      '/memories/move/newer',
      '/memories/moved/new',
      '/memories/old',
    ]);
  });

  it('binds a version behind its own bound and behind that of what it replaces, also sealed again', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', 'te');
    await client.append('/memories/a', 'xt');
    const work = await client.open();
    const version = await readFile(work, at('/memories/a'));
    if (version === undefined) throw new Error('there is no file');
    const { id, mtime, previous, writer, origin } = version;
    expect(previous.some((byte) => byte !== 0)).toBe(true);
    const slow = withTenant(work, { clock: () => 0 });
    const { keys } = version;
    const retired = {
      ...version,
      writer: new Uint8Array(writer.length).fill(7),
      keys: { ...keys, active: keys.active, find: () => undefined },
    };
    const name = logicalName(at('/memories/a'));
    for (const read of [version, retired]) {
      for (const distance of [-5n, 5n]) {
        const after = version.bound + distance;
        const object = bindVersion(slow, read, { from: name, to: name, clock: 0, after });
        const bound = open({ keys, name, object });
        expect(bound).toMatchObject({
          id,
          content: bytes('text'),
          mtime,
          previous,
          writer: read.writer,
          origin,
        });
        expect(bound.bound).toBeGreaterThan(version.bound);
        expect(bound.bound).toBeGreaterThan(after);
      }
    }
  });

  it('refuses an object that was sealed for another path', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', 'mine');
    const work = await client.open();
    const object = seal({
      keys: work.keyring.keys,
      name: logicalName(at('/memories/b')),
      content: bytes('theirs'),
      version: newVersion({ mtime: 0, random: work.tenant.random }),
      random: work.tenant.random,
    });
    const key = fileKey(work.tenant.layout, work.keyring.names, at('/memories/a'));
    await site.base.put(key, object, { mode: 'overwrite' });
    await expect(client.text('/memories/a')).rejects.toMatchObject({ code: 'integrity' });
  });
});

/** Gives the tenant one more key, as another process would. */
async function rotate({ base, time }: TestSite, { layout }: TestClient): Promise<void> {
  const stored = await base.get(layout.keyring);
  if (typeof stored !== 'object') throw new Error('there is no keyring');
  const rootKey = envRootKey(TEST_ROOT_KEY);
  const { tenant } = layout;
  const keyring = await openKeyring({ bytes: stored.body, tenant, rootKeys: [rootKey] });
  const rotated = rotateKeyring(keyring, { random: time.randomBytes, created: time.clock() });
  const object = await sealKeyring({ keyring: rotated, tenant, rootKey, random: time.randomBytes });
  await base.put(layout.keyring, object, { mode: { ifMatch: stored.etag } });
}

/** The file as it lies in the store, but for the id of its key. */
async function underMadeUpKey(site: TestSite, client: TestClient, path: string, id: number): Promise<void> {
  const {
    tenant: { layout },
    keyring,
  } = await client.open();
  const key = fileKey(layout, keyring.names, at(path));
  const stored = await site.base.get(key);
  if (typeof stored !== 'object') throw new Error('there is no such file');
  stored.body.set(new Uint8Array(OFFSET.nonce - OFFSET.keyId).fill(id).with(0, id >> 8), OFFSET.keyId);
  await site.base.put(key, stored.body, { mode: 'overwrite' });
}
