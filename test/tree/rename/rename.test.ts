import { expect, it } from 'vitest';
import { describeOnBothKinds } from '../../support/test-tree.ts';

describeOnBothKinds('renaming a path', (newSite) => {
  it('reports a missing source before anything that is wrong with the target', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b', '');
    for (const to of ['/memories', '/memories/a', '/memories/a/b', '/memories/a/b/c', '/memories/missing']) {
      await expect(client.move('/memories/missing', to)).rejects.toMatchObject({ code: 'not_found' });
    }
    expect(await client.paths()).toEqual(['/memories/a/b']);
  });

  it('refuses the root as source and as target', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b', '');
    for (const [from, to] of [
      ['/memories/a', '/memories'],
      ['/memories/a/b', '/memories'],
      ['/memories', '/memories/b'],
    ] as const) {
      await expect(client.move(from, to)).rejects.toMatchObject({
        code: 'invalid_command',
        details: { reason: 'root' },
      });
    }
    expect(await client.paths()).toEqual(['/memories/a/b']);
  });

  it('moves a file or a directory to where a name merely begins alike', async () => {
    const client = await (await newSite()).client();
    await client.create('/memories/a/b', 'text');
    await client.move('/memories/a', '/memories/ab');
    await client.move('/memories/ab/b', '/memories/a');
    await client.move('/memories/a', '/memories/ab/c');
    expect(await client.paths()).toEqual(['/memories/ab/c']);
    expect(await client.text('/memories/ab/c')).toBe('text');
  });
});
