import { expect, it } from 'vitest';
import { countCalls } from '../../../stage/store-wrappers.ts';
import { describeOnBothKinds } from '../../../stage/test-tree.ts';

describeOnBothKinds('renaming a path', (newSite) => {
  it('reports a missing source before anything that is wrong with the target', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b', '');
    for (const to of ['/memories', '/memories/a', '/memories/a/b', '/memories/a/b/c', '/memories/missing']) {
      await expect(client.rename('/memories/missing', to)).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await client.paths()).toEqual(['/memories/a/b']);
  });

  it('refuses the root as source and as target, and a directory below itself', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b', '');
    for (const [from, to, reason = 'root'] of [
      ['/memories/a', '/memories'],
      ['/memories/a/b', '/memories'],
      ['/memories', '/memories/b'],
      ['/memories/a', '/memories/a/c', 'into_itself'],
    ] as const) {
      await expect(client.rename(from, to)).rejects.toMatchObject({
        code: 'invalid_command',
        details: { reason },
      });
    }
    expect(await client.paths()).toEqual(['/memories/a/b']);
  });

  it('refuses a target that exists, be it a file or a directory, before anything is copied', async () => {
    const client = await (await newSite()).client();
    for (const path of ['/memories/a/x', '/memories/b/y', '/memories/c']) await client.create(path, 'text');
    client.calls.length = 0;
    for (const [from, to] of [
      ['/memories/a', '/memories/b'],
      ['/memories/a', '/memories/c'],
    ] as const) {
      const failure = client.rename(from, to);
      await expect(failure).rejects.toMatchObject({ code: 'already_exists', details: {} });
      await expect(failure).rejects.not.toHaveProperty('details.reason');
    }
    expect(countCalls(client.calls)['put']).toBeUndefined();
  });

  it('names the path that no file can have, before anything is copied', async () => {
    const client = await (await newSite()).client();
    const deep = (segments: number): string => `/memories${`/${'x'.repeat(143)}`.repeat(segments)}`;
    const below = `/memories/a${deep(2).slice('/memories'.length)}`;
    await client.create(below, 'text');
    await client.create('/memories/file', 'text');
    client.calls.length = 0;
    for (const [from, to, role] of [
      [deep(8), '/memories/c', 'source'],
      ['/memories/file', deep(8), 'target'],
      // The directory could have that path, and the file below it not.
      ['/memories/a', deep(4), 'target'],
    ] as const) {
      await expect(client.rename(from, to)).rejects.toMatchObject({
        code: 'invalid_path',
        details: { role },
      });
    }
    expect(countCalls(client.calls)['put']).toBeUndefined();
    expect(await client.paths()).toEqual([below, '/memories/file']);
  });

  it('moves a file or a directory to where a name merely begins alike', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b', 'text');
    await client.rename('/memories/a', '/memories/ab');
    await client.rename('/memories/ab/b', '/memories/a');
    await client.rename('/memories/a', '/memories/ab/c');
    expect(await client.paths()).toEqual(['/memories/ab/c']);
    expect(await client.text('/memories/ab/c')).toBe('text');
  });
});
