import { expect, it } from 'vitest';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { openKeyring, rotateKeyring, sealKeyring } from '../../src/keys/keyring.ts';
import { logicalName } from '../../src/sealing/logical-name.ts';
import { fileKey } from '../../src/sealing/object-keys.ts';
import { seal } from '../../src/sealing/sealed-object.ts';
import { sealedSize } from '../../src/sealing/size.ts';
import { readFile } from '../../src/vault/read-file.ts';
import { countCalls } from '../support/intercepted-store.ts';
import {
  at,
  bytes,
  describeOnBothKinds,
  TEST_ROOT_KEY,
  type TestClient,
  type TestSite,
} from '../support/test-vault.ts';

describeOnBothKinds('reading a file', (newSite) => {
  it('gives its content and version by one GET', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b.md', 'text');
    const vault = await client.open();
    client.calls.length = 0;
    const version = await readFile(vault, at('/memories/a/b.md'));
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

  it('reads the keyring anew for a file under a tenant key that another process has made', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/old', 'old');
    await rotate(site, client);
    const other = await site.client();
    await other.create('/memories/new', 'new');
    expect(await client.text('/memories/new')).toBe('new');
    expect(await client.text('/memories/old')).toBe('old');
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
      if (verb === 'move') await client.move(path, `${path}er`);
      else if (verb === 'move directory') await client.move(`/memories/${verb}`, '/memories/moved');
      else await client.append(path, 'er');
    }
    expect(await (await site.client()).paths()).toEqual([
      '/memories/append/new',
      '/memories/move/newer',
      '/memories/moved/new',
      '/memories/old',
    ]);
  });

  it('refuses an object that was sealed for another path', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', 'mine');
    const vault = await client.open();
    const object = seal({
      keys: vault.keyring.keys,
      name: logicalName(at('/memories/b')),
      content: bytes('theirs'),
      mtime: 0,
      random: vault.random,
    });
    const key = fileKey(vault.layout, vault.keyring.names, at('/memories/a'));
    await site.base.put(key, object, { mode: 'overwrite' });
    await expect(client.text('/memories/a')).rejects.toMatchObject({ code: 'integrity' });
  });
});

/** Gives the tenant one more key, as another process would. */
async function rotate({ base, time }: TestSite, { layout }: TestClient): Promise<void> {
  const stored = await base.get(layout.keyring);
  if (stored === undefined || stored === 'not_modified') throw new Error('there is no keyring');
  const rootKey = envRootKey(TEST_ROOT_KEY);
  const { tenant } = layout;
  const keyring = await openKeyring({ bytes: stored.body, tenant, rootKeys: [rootKey] });
  const rotated = rotateKeyring(keyring, { random: time.randomBytes, created: time.clock() });
  const object = await sealKeyring({ keyring: rotated, tenant, rootKey, random: time.randomBytes });
  await base.put(layout.keyring, object, { mode: { ifMatch: stored.etag } });
}
