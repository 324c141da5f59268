import { expect, it } from 'vitest';
import { countCalls } from '../../stage/store-wrappers.ts';
import { at, bytes, describeOnBothKinds } from '../../stage/test-tree.ts';

describeOnBothKinds('a work', (newSite) => {
  it('finds nothing, and writes nothing, for a tenant without a keyring', async () => {
    const site = await newSite();
    const client = await site.client();
    expect(await client.text('/memories/a')).toBeUndefined();
    expect(await client.paths()).toEqual([]);
    for (const verb of [
      client.append('/memories/a', ''),
      client.remove('/memories/a'),
      client.rename('/memories/a', '/memories/b'),
    ]) {
      await expect(verb).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await site.base.head(client.layout.keyring)).toBeUndefined();
    expect(client.calls.map(({ verb }) => verb)).not.toContain('put');
  });

  it('makes the keyring with the first write and reads it and the register once afterwards', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', '');
    expect(await site.base.head(client.layout.keyring)).toBeDefined();
    const other = await site.client();
    await other.text('/memories/a');
    expect(countCalls(other.calls)).toEqual({ get: 3 });
    await other.text('/memories/a');
    expect(countCalls(other.calls)).toEqual({ get: 4 });
  });

  it('keeps content byte for byte', async () => {
    const site = await newSite();
    const client = await site.client();
    for (const length of [0, 1, 65_535, 65_536, 65_537, 200_000]) {
      const content = site.time.randomBytes(length);
      await client.tree.create(at(`/memories/${length}`), content);
      const read = await (await site.client()).tree.read(at(`/memories/${length}`));
      expect(Buffer.from(read ?? []).equals(content)).toBe(true);
    }
  });

  it('treats the root as a directory that always is there and is never a file', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', '');
    const root = at('/memories');
    expect(await client.tree.read(root)).toBeUndefined();
    const refused = { code: 'invalid_command', details: { reason: 'root' } };
    await expect(client.tree.create(root, bytes(''))).rejects.toMatchObject(refused);
    await expect(client.tree.overwrite(root, bytes(''))).rejects.toMatchObject(refused);
    await expect(client.tree.remove(root)).rejects.toMatchObject(refused);
    await expect(client.append('/memories', '')).rejects.toMatchObject({ code: 'not_found' });
    expect(await client.paths()).toEqual(['/memories/a']);
  });

  it('is the same tree in plain and in encrypted names', async () => {
    const site = await newSite();
    const clients = [
      await site.client({ tenant: 'plain', names: 'plain' }),
      await site.client({ tenant: 'encrypted', names: 'encrypted' }),
    ];
    for (const client of clients) {
      await client.create('/memories/a/b c?.md', '1');
      await client.create('/memories/a/%41', '2');
      await client.rename('/memories/a', '/memories/\u00e9/d');
      await client.append('/memories/\u00e9/d/%41', '3');
      await client.remove('/memories/\u00e9/d/b c?.md');
      expect(await client.paths()).toEqual(['/memories/\u00e9/d/%41']);
      expect(await client.text('/memories/\u00e9/d/%41')).toBe('23');
    }
  });

  it('ends at once for a caller that has cancelled', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a', 'text');
    const signal = AbortSignal.abort();
    const aborted = { code: 'aborted' };
    const { tree } = client;
    await expect(tree.read(at('/memories/a'), { signal })).rejects.toMatchObject(aborted);
    await expect(tree.list(at('/memories'), { signal })).rejects.toMatchObject(aborted);
    await expect(tree.create(at('/memories/b'), bytes(''), { signal })).rejects.toMatchObject(aborted);
    await expect(tree.remove(at('/memories/a'), { signal })).rejects.toMatchObject(aborted);
    await expect(client.append('/memories/a', '+', signal)).rejects.toMatchObject(aborted);
    await expect(client.rename('/memories/a', '/memories/b', signal)).rejects.toMatchObject(aborted);
    expect(await client.paths()).toEqual(['/memories/a']);
    expect(await client.text('/memories/a')).toBe('text');
  });
});
