import { expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { fileKey } from '../../../src/format/object-keys.ts';
import { MIGRATIONS, migrateFile, putUnchecked } from '../../stage/rare-writes.ts';
import { atFirst, countCalls, type StoreCall } from '../../stage/store-wrappers.ts';
import { at, bytes, describeOnBothKinds, type TestClient, type TestSite } from '../../stage/test-tree.ts';

const UPPER = '/memories/q';
const LOWER = '/memories/q/x/below';
const READ = { get: 1, put: 1 };
const HELD = { put: 1 };

/** The deeds that build on a file: after them its text is another one, or it lies elsewhere. */
const WRITERS = {
  edit: (client: TestClient, path: string) => client.append(path, '+'),
  overwrite: (client: TestClient, path: string) => client.tree.overwrite(at(path), bytes('over')),
  'replace a version': async (client: TestClient, path: string) => {
    const { store, layout } = (await client.open()).tenant;
    const version = (await store.head(fileKey(layout, (await client.open()).keyring.names, at(path))))?.etag;
    if (version === undefined) throw new MemoryError('not_found', 'there is none');
    await client.tree.replace(at(path), { content: bytes('over'), version });
  },
  rename: (client: TestClient, path: string) => client.rename(path, '/memories/elsewhere'),
} as const;

describeOnBothKinds('the first change of a file that another process has created', (newSite) => {
  async function start(): Promise<{ site: TestSite; client: TestClient; other: TestClient }> {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    await client.create('/memories/first', '');
    await other.paths();
    client.calls.length = 0;
    return { site, client, other };
  }
  const costOf = async (client: TestClient, change: Promise<unknown>): Promise<unknown> => {
    client.calls.length = 0;
    await change;
    return countCalls(client.calls);
  };

  it('looks above and below once, while the file is young', async () => {
    const { site, client, other } = await start();
    await other.create(LOWER, '');
    // That it was read before tells nothing.
    await client.text(LOWER);
    expect(await costOf(client, client.append(LOWER, '1'))).toEqual({ ...READ, list: 1, head: 2 });
    expect(await costOf(client, client.append(LOWER, '2'))).toEqual(HELD);
    const third = await site.client();
    await third.paths();
    expect(await costOf(third, third.append(LOWER, '3'))).toEqual(READ);
    await other.create('/memories/a', '');
    await site.time.pause(60_000);
    expect(await costOf(client, client.append('/memories/a', '1'))).toEqual({ ...READ, list: 1 });
    await other.create('/memories/b', '');
    await site.time.pause(61_000);
    expect(await costOf(client, client.append('/memories/b', '1'))).toEqual(READ);
    // Read while it was young: of what is held nothing tells how old it is.
    await other.create('/memories/c', '');
    await client.text('/memories/c');
    await site.time.pause(61_000);
    expect(await costOf(client, client.append('/memories/c', '1'))).toEqual(READ);
    await other.create('/memories/d', '');
    await site.time.pause(61_000);
    await client.text('/memories/d');
    expect(await costOf(client, client.append('/memories/d', '1'))).toEqual(HELD);
  });

  it('looks for nothing where this process knows that the file stays', async () => {
    const { client } = await start();
    const path = '/memories/a/b';
    await client.create(path, '');
    expect(await costOf(client, client.append(path, '1'))).toEqual(HELD);
    await client.create('/memories/a/c', '');
    await client.rename('/memories/a/c', '/memories/d/c');
    expect(await costOf(client, client.append('/memories/d/c', '1'))).toEqual(HELD);
    const overwrite = (): Promise<unknown> => client.tree.overwrite(at('/memories/e/f'), bytes('text'));
    await overwrite();
    expect(await costOf(client, overwrite())).toEqual(HELD);
    expect(await costOf(client, overwrite())).toEqual(HELD);
    expect(await costOf(client, client.append('/memories/e/f', '1'))).toEqual(HELD);
  });

  it('looks again at a file that a rename has put there, whatever it was before', async () => {
    const { client, other } = await start();
    await other.create('/memories/a', '');
    await other.append('/memories/a', 'edited');
    await other.rename('/memories/a', '/memories/b');
    expect(await costOf(client, client.append('/memories/b', '1'))).toEqual({ ...READ, list: 1 });
  });

  it('looks again at a file that a migration of keys has written again', async () => {
    for (const how of MIGRATIONS) {
      const { client, other } = await start();
      await client.create('/memories/a', '');
      await migrateFile(other, '/memories/a', how);
      // A text that is held is refused first.
      expect(await costOf(client, client.append('/memories/a', '1'))).toEqual({ get: 1, put: 2, list: 1 });
    }
  });

  for (const [what, change] of Object.entries(WRITERS)) {
    it(`waits until a file that clashes is taken back: ${what}`, async () => {
      for (const [older, younger, code] of [
        [UPPER, LOWER, 'already_exists'],
        [LOWER, UPPER, 'is_directory'],
      ] as const) {
        // Once the file is taken back its path is a directory, and that can be renamed.
        if (what === 'rename' && younger === UPPER) continue;
        const { site, client, other } = await start();
        await other.create(older, 'there');
        await site.time.pause(61_000);
        let changing: Promise<unknown> = Promise.resolve();
        other.intercept(
          atFirst('delete', async (proceed) => {
            changing = change(client, younger).catch((error: { code: string }) => error.code);
            await site.time.pause(5_000);
            return proceed();
          }),
        );
        await expect(other.create(younger, 'new')).rejects.toMatchObject({ code });
        const told = { overwrite: code, 'replace a version': 'version_conflict' }[what] ?? 'not_found';
        expect(await changing).toBe(told);
        expect(await other.paths()).toEqual(['/memories/first', older]);
        expect(await other.text(older)).toBe('there');
      }
    });
  }

  it('goes on when what clashes is taken back', async () => {
    for (const [path, gone] of [
      [UPPER, LOWER],
      [LOWER, UPPER],
    ] as const) {
      const { site, client, other } = await start();
      await putUnchecked(other, path);
      await putUnchecked(other, gone);
      const appending = client.append(path, '+');
      await site.time.pause(5_000);
      await other.remove(gone);
      const since = site.time.clock();
      await appending;
      // However long it has waited, it looks once a second.
      expect(site.time.clock() - since).toBeLessThanOrEqual(1_000);
      expect(await other.text(path)).toBe('text+');
    }
  });

  it('is refused for ten seconds, and possible once the file is older than a minute', async () => {
    for (const [what, change] of Object.entries(WRITERS)) {
      const { site, client, other } = await start();
      await putUnchecked(other, UPPER);
      await putUnchecked(other, LOWER);
      const begun = site.time.clock();
      await expect(change(client, LOWER)).rejects.toMatchObject({ code: 'unavailable' });
      expect(site.time.clock() - begun).toBeGreaterThanOrEqual(10_000);
      await site.time.pause(61_000);
      if (what !== 'rename') await change(client, LOWER);
      expect(await other.text(UPPER)).toBe('text');
    }
  });

  it('keeps neither of two files that clash from being deleted', async () => {
    const { client, other } = await start();
    await putUnchecked(other, UPPER);
    await putUnchecked(other, LOWER);
    expect(await costOf(client, client.remove(UPPER))).toEqual({ list: 1, delete: 1 });
  });

  it('ends with its caller while it waits', async () => {
    const { site, client, other } = await start();
    await putUnchecked(other, UPPER);
    await putUnchecked(other, LOWER);
    const controller = new AbortController();
    const told = expect(client.append(LOWER, '+', controller.signal)).rejects.toMatchObject({
      code: 'aborted',
    });
    await site.time.pause(2_000);
    controller.abort();
    await told;
    const isPut = ({ verb }: StoreCall): boolean => verb === 'put';
    expect(client.calls.some(isPut)).toBe(false);
  });
});
