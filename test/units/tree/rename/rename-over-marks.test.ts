import { describe, expect, it } from 'vitest';
import { keepMarks } from '../../../stage/store-wrappers.ts';
import { openSite, TRIED_KINDS } from '../../../stage/test-tree.ts';

const MINUTE = 60_000;

describe.each(TRIED_KINDS)('renames on a %s store whose marks of deletes refuse a create', (kind) => {
  it('end within a minute, say why, and hold up no other rename', async () => {
    const site = await openSite(kind, 1, keepMarks);
    const client = await site.client();
    for (const path of ['/memories/d/a', '/memories/d/b/c', '/memories/x/a']) await client.create(path, path);
    await client.rename('/memories/d', '/memories/e');
    const begun = site.time.clock();
    // Without tombstones a create that is refused looks like one that others are always faster than.
    await expect(client.rename('/memories/e', '/memories/d')).rejects.toMatchObject(
      kind === 'unguarded'
        ? { code: 'misconfigured', message: expect.stringContaining('refuses to create an object') }
        : { code: 'version_conflict' },
    );
    expect(site.time.clock() - begun).toBeLessThan(MINUTE);
    expect(await client.paths()).toEqual(['/memories/e/a', '/memories/e/b/c', '/memories/x/a']);

    await (await site.client()).rename('/memories/x', '/memories/y');
    expect(site.time.clock() - begun).toBeLessThan(MINUTE);
    expect(await client.text('/memories/y/a')).toBe('/memories/x/a');
  });

  it('end for a file as well, and leave it where it was', async () => {
    const site = await openSite(kind, 1, keepMarks);
    const client = await site.client();
    await client.create('/memories/a', 'text');
    await client.rename('/memories/a', '/memories/b');
    const begun = site.time.clock();
    await expect(client.rename('/memories/b', '/memories/a')).rejects.toMatchObject({ name: 'MemoryError' });
    await expect(client.create('/memories/a', 'new')).rejects.toMatchObject({ name: 'MemoryError' });
    expect(site.time.clock() - begun).toBeLessThan(MINUTE);
    expect(await client.text('/memories/b')).toBe('text');
  });
});
