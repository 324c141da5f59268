import { describe, expect, it } from 'vitest';
import { fileKey, type ObjectKey } from '../../../src/format/object-keys.ts';
import { sealedSize } from '../../../src/format/sizes.ts';
import { createTombstone } from '../../../src/format/tombstone.ts';
import { listDirectory, listPath } from '../../../src/tree/list-directory.ts';
import { countCalls } from '../../stage/store-wrappers.ts';
import { at, createSite, describeOnBothKinds, type TestClient } from '../../stage/test-tree.ts';

describeOnBothKinds('listing a directory', (newSite) => {
  it('names every file below it at any depth with its plaintext size, by one LIST', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b/c', '12345');
    await client.create('/memories/a/.hidden', '');
    await client.create('/memories/ab', 'outside');
    await client.create('/memories/a/l\u00f6\u00dflich \u{1f600}.md', 'x'.repeat(70_000));
    const work = await client.open();
    client.calls.length = 0;
    const { files, foreign, truncated } = await listDirectory(work, at('/memories/a'));
    expect(countCalls(client.calls)).toEqual({ list: 1 });
    expect({ foreign, truncated }).toEqual({ foreign: 0, truncated: false });
    expect(new Map(files.map(({ path, size }) => [path as string, size]))).toEqual(
      new Map([
        ['/memories/a/b/c', 5],
        ['/memories/a/.hidden', 0],
        ['/memories/a/l\u00f6\u00dflich \u{1f600}.md', 70_000],
      ]),
    );
  });

  it('takes no object for the file at a path whose key merely begins like the file’s', async () => {
    const site = await newSite();
    for (const names of ['encrypted', 'plain'] as const) {
      const client = await site.client({ names, tenant: names });
      const work = await client.open();
      const key = fileKey(work.tenant.layout, work.keyring.names, at('/memories/a'));
      await site.base.put(`${key}.bak` as ObjectKey, new Uint8Array(300), { mode: 'create' });
      expect(await listPath(work, at('/memories/a'))).toMatchObject({
        kind: 'directory',
        listing: { files: [], foreign: 0 },
      });
      await expect(client.remove('/memories/a')).rejects.toMatchObject({ code: 'not_found' });
    }
  });

  it('is empty for a missing directory, for a file and for a tenant without a keyring', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', 'text');
    expect(await client.paths('/memories/missing')).toEqual([]);
    expect(await client.paths('/memories/a')).toEqual([]);
    expect(await (await site.client({ tenant: 'nobody' })).paths()).toEqual([]);
  });

  it('passes foreign objects over, counts them and tells the operator how many', async () => {
    const site = await newSite();
    for (const names of ['encrypted', 'plain'] as const) {
      const client = await site.client({ names, tenant: names });
      await client.create('/memories/a', 'text');
      const foreign = [
        'not-a-name?.sealed',
        'no-suffix',
        '...sealed',
        `${'x'.repeat(300)}.sealed`,
        `${'A'.repeat(43)}.sealed`,
        'below/...sealed',
        names === 'plain' ? 'control\u0007.sealed' : 'a/b.sealed',
        'file.sealed/below.sealed',
      ];
      for (const name of foreign) await put(client, name, sealedSize(3));
      await put(client, 'wrong-size.sealed', sealedSize(3) - 5);
      const listing = await client.tree.list(at('/memories'));
      const asNames =
        names === 'plain'
          ? [`/memories/${'A'.repeat(43)}`, '/memories/a', '/memories/not-a-name?']
          : ['/memories/a'];
      expect(listing.files.map(({ path }) => path as string).sort()).toEqual(asNames);
      expect(listing.foreign).toBe(foreign.length + 2 - asNames.length);
      expect(client.logged.at(-1)?.fields).toEqual({ foreign: listing.foreign });
    }

    async function put(client: TestClient, name: string, size: number): Promise<void> {
      const key = `${client.layout.data}${name}` as ObjectKey;
      await site.base.put(key, new Uint8Array(size), { mode: 'create' });
    }
  });

  it('stops at the limit of files and says so', async () => {
    const client = await (await newSite()).client();
    for (const name of ['a', 'b', 'c']) await client.create(`/memories/${name}`, '');
    const list = (maxFiles: number) => client.tree.list(at('/memories'), { maxFiles });
    expect(await list(2)).toMatchObject({ files: { length: 2 }, truncated: true });
    expect(await list(3)).toMatchObject({ files: { length: 3 }, truncated: false });
  });

  it('shows one tenant nothing of another', async () => {
    const site = await newSite();
    const [one, two] = [await site.client({ tenant: 'a' }), await site.client({ tenant: 'ab' })];
    await one.create('/memories/one', '');
    await two.create('/memories/two', '');
    expect(await one.paths()).toEqual(['/memories/one']);
    expect(await two.paths()).toEqual(['/memories/two']);
  });
});

describeOnBothKinds('what a path is', (newSite) => {
  it('is told by one LIST: a file, or the files below a directory', async () => {
    const site = await newSite();
    for (const names of ['encrypted', 'plain'] as const) {
      const client = await site.client({ names, tenant: names });
      await client.create('/memories/note', 'file');
      await client.create('/memories/note-2/b', 'below');
      await client.create('/memories/notebook', 'longer');
      await client.create('/memories/dir/x/y', 'deep');
      const work = await client.open();
      client.calls.length = 0;
      const file = await listPath(work, at('/memories/note'));
      expect(file).toMatchObject({ kind: 'file', file: { path: '/memories/note', size: 4 } });
      expect(await listPath(work, at('/memories/dir'))).toMatchObject({
        kind: 'directory',
        listing: { files: [{ path: '/memories/dir/x/y', size: 4 }], foreign: 0 },
      });
      expect(countCalls(client.calls)).toEqual({ list: 2 });
      for (const missing of ['/memories/not', '/memories/di', '/memories/note-']) {
        expect(await listPath(work, at(missing))).toMatchObject({
          kind: 'directory',
          listing: { files: [] },
        });
      }
    }
  });
});

describe('a tombstone on an unguarded store', () => {
  it('is neither a file nor foreign', async () => {
    const site = await createSite('unguarded');
    const client = await site.client();
    await client.create('/memories/a', 'text');
    const [listed] = (await client.tree.list(at('/memories'))).files;
    if (listed === undefined) throw new Error('nothing was listed');
    await site.base.put(listed.key, createTombstone(site.time.randomBytes), { mode: 'overwrite' });
    expect(await client.tree.list(at('/memories'))).toMatchObject({ files: [], foreign: 0 });
    expect(await client.text('/memories/a')).toBeUndefined();
  });
});
