import { expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { copyAgain, copyFiles } from '../../../../src/tree/rename/copy-files.ts';
import type { DirectoryRename } from '../../../../src/tree/rename/register.ts';
import { takeBack } from '../../../../src/tree/staying/take-back.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import { type MIGRATIONS, migrateFile } from '../../../stage/rare-writes.ts';
import { countCalls, noAnswer } from '../../../stage/store-wrappers.ts';
import {
  at,
  describeOnBothKinds,
  leased,
  type TestClient,
  type TestSite,
  withTenant,
} from '../../../stage/test-tree.ts';

const RENAME: DirectoryRename = {
  from: at('/memories/from'),
  to: at('/memories/to'),
  id: new Uint8Array(16).fill(9),
};

describeOnBothKinds('copying the files of a directory', (newSite) => {
  async function start(count: number): Promise<{ site: TestSite; client: TestClient; other: TestClient }> {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client()];
    for (let i = 0; i < count; i++) await client.create(`/memories/from/${i}`, `text ${i}`);
    await client.open();
    return { site, client, other };
  }

  const all = (count: number) => ({ files: files(count), phase: 'copying' as const });
  const files = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ path: at(`/memories/from/${i}`), size: 6 }));

  it('marks each copy with the id of the rename and keeps its source', async () => {
    const { client } = await start(2);
    const work = await client.open();
    const { copied } = await copyFiles(leased(work), RENAME, all(2));
    expect(copied.map(({ from }) => from as string).sort()).toEqual(['/memories/from/0', '/memories/from/1']);
    expect(await readFile(work, at('/memories/to/1'))).toMatchObject({ origin: RENAME.id });
    expect(await readFile(work, at('/memories/from/1'))).toMatchObject({ origin: new Uint8Array(16) });
    expect(await client.text('/memories/to/1')).toBe('text 1');
  });

  it('works on 32 files side by side, never more', async () => {
    const { client } = await start(80);
    let [running, most] = [0, 0];
    client.intercept(async (_, proceed) => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      return proceed().finally(() => running--);
    });
    expect((await copyFiles(leased(await client.open()), RENAME, all(80))).copied).toHaveLength(80);
    expect(most).toBe(32);
  });

  it('leaves out a file that is gone', async () => {
    const { client } = await start(2);
    const outcome = await copyFiles(leased(await client.open()), RENAME, all(3));
    expect(outcome).toMatchObject({ copied: { length: 2 }, taken: [], left: [], failure: undefined });
  });

  it('stops at a target that is taken, or goes on with the others', async () => {
    const { client, other } = await start(3);
    await other.create('/memories/to/0', 'theirs');
    const work = await client.open();
    const stopped = await copyFiles(leased(withTenant(work, { concurrency: 1 })), RENAME, all(3));
    expect(stopped).toMatchObject({ copied: [], taken: ['/memories/from/0'], failure: undefined });
    const rest = await copyFiles(leased(work), RENAME, { files: files(3), phase: 'moving' });
    expect(rest).toMatchObject({ taken: ['/memories/from/0'], failure: undefined });
    expect(rest.copied).toHaveLength(2);
    expect(await other.text('/memories/to/0')).toBe('theirs');
  });

  it('finds the copies that it has made before, and brings older ones up to date', async () => {
    const { client, other } = await start(2);
    const work = await client.open();
    const first = await copyFiles(leased(work), RENAME, all(2));
    await other.append('/memories/from/1', '+');
    const second = await copyFiles(leased(work), RENAME, all(2));
    expect(second).toMatchObject({ taken: [], failure: undefined });
    expect(second.copied).toHaveLength(2);
    const unchanged = first.copied.find(({ from }) => from === '/memories/from/0');
    expect(unchanged?.isNew).toBe(true);
    expect(second.copied).toContainEqual({ ...unchanged, isNew: false });
    expect(await other.text('/memories/to/1')).toBe('text 1+');
  });

  it.each<readonly [string, (site: TestSite) => Promise<void>, number]>([
    ['as it was', async () => {}, 1],
    [
      'behind an edit of its source',
      async (site) => (await site.client()).append('/memories/from/0', '+'),
      2,
    ],
    ['behind a source that was bound again', migrated('/memories/from/0', 'bound'), 2],
    ['sealed again under the same key', migrated('/memories/to/0', 'sealed'), 2],
    [
      'sealed again under a later key',
      async (site) => {
        await (await createOperator(site)).rotate();
        await migrated('/memories/to/0', 'sealed')(site);
      },
      1,
    ],
  ])(
    'finds its earlier copy, and renews it once where it is no longer of the source: %s',
    async (_, meddle, puts) => {
      const { site, client, other } = await start(1);
      const work = await client.open();
      await copyFiles(leased(work), RENAME, all(1));
      await meddle(site);
      client.calls.length = 0;
      const { copied, failure } = await copyFiles(leased(work), RENAME, all(1));
      expect([copied.map(({ isNew }) => isNew), failure]).toEqual([[false], undefined]);
      expect(countCalls(client.calls)['put']).toBe(puts);
      expect(await other.text('/memories/to/0')).toBe(await other.text('/memories/from/0'));
    },
  );

  it('renews no copy that another process has changed since it looked', async () => {
    const { client, other } = await start(1);
    const work = await client.open();
    await copyFiles(leased(work), RENAME, all(1));
    await other.append('/memories/from/0', '+');
    let puts = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && ++puts === 2) await other.append('/memories/to/0', '!');
      return proceed();
    });
    expect(await copyFiles(leased(work), RENAME, all(1))).toMatchObject({ taken: ['/memories/from/0'] });
    expect(await other.text('/memories/to/0')).toBe('text 0!');
  });

  it('tells that an outcome is unknown before any other failure', async () => {
    const { client } = await start(3);
    let puts = 0;
    client.intercept((call, proceed) => {
      if (call.verb !== 'put') return proceed();
      return Promise.reject(puts++ === 0 ? new MemoryError('unavailable', 'down') : noAnswer());
    });
    const { failure } = await copyFiles(leased(await client.open()), RENAME, all(3));
    expect(failure).toMatchObject({ code: 'outcome_unknown' });
  });

  it('removes as many copies as it can when one cannot be taken back', async () => {
    const { client, other } = await start(3);
    const work = await client.open();
    const { copied } = await copyFiles(leased(work), RENAME, all(3));
    let deletes = 0;
    client.intercept((call, proceed) =>
      call.verb === 'delete' && deletes++ === 0 ? Promise.reject(noAnswer()) : proceed(),
    );
    const copies = copied.map(({ target }) => target);
    await expect(takeBack(work, copies)).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await other.paths('/memories/to')).toHaveLength(1);
  });

  it('copies a newer source over its own older copy, and over that of no other process', async () => {
    const { client, other } = await start(1);
    const work = await client.open();
    const [first] = (await copyFiles(leased(work), RENAME, all(1))).copied;
    if (first === undefined) throw new Error('nothing was copied');
    await other.append('/memories/from/0', '+');
    const again = await copyAgain(leased(work), RENAME, first);
    if (typeof again !== 'object') throw new Error('it was not copied again');
    const second = again.copied;
    expect(await other.text('/memories/to/0')).toBe('text 0+');
    await other.append('/memories/to/0', '!');
    await other.append('/memories/from/0', '-');
    for (const older of [first, second]) {
      expect(await copyAgain(leased(work), RENAME, older)).toBe('taken');
    }
    expect(await other.text('/memories/to/0')).toBe('text 0+!');
    await other.remove('/memories/from/0');
    expect(await copyAgain(leased(work), RENAME, second)).toBe('source_gone');
  });
});

/** Has a migration of keys write a file again. */
function migrated(path: string, how: (typeof MIGRATIONS)[number]): (site: TestSite) => Promise<void> {
  return async (site) => migrateFile(await site.client(), path, how);
}
