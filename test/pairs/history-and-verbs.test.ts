import { describe, expect, it } from 'vitest';
import { writeCheckpoint } from '../../src/admin/checkpoints/checkpoint.ts';
import { shredTenant } from '../../src/admin/keys/shred.ts';
import { verifyTree } from '../../src/admin/verify/verify.ts';
import { MemoryError } from '../../src/errors.ts';
import { type MemoryOptions, openAdmin, openMemory } from '../../src/index.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import type { Policy } from '../../src/tree/admission/policy.ts';
import { historyOf, keepingClient, textsOf } from '../stage/history-site.ts';
import { createOperator } from '../stage/key-operator.ts';
import { at, bytes, openSite, STORE_KINDS, type TestClient } from '../stage/test-tree.ts';

const MINUTE = 60_000;
const PATH = '/memories/a';

const write = (client: TestClient, text: string, path = PATH): Promise<unknown> =>
  client.tree.overwrite(at(path), bytes(text), { actor: 'ann' });

async function textsKept(client: TestClient): Promise<readonly string[]> {
  const history = historyOf(client);
  const written = (await history.list()).filter(({ kind }) => kind === 'written');
  return Promise.all(written.map(async (entry) => (await history.read(entry)).text()));
}

describe('history', () => {
  it('is kept, and opens, where a process with an old keyring saved it while keys were rotated', async () => {
    const site = await openSite();
    const client = await keepingClient(site);
    await write(client, 'one');
    const operator = await createOperator(site);
    await operator.rotate();
    // Within its time to live: the version is saved, and its actor named, under the key that is to go.
    await write(client, 'two');
    await client.tree.overwrite(at(PATH), bytes('three'), { actor: 'of the old key' });
    const { retired } = await operator.migrate({ wait: true, ttlMs: 5 * MINUTE });
    expect(retired).toEqual([1]);
    const reader = await site.client();
    expect(await textsKept(reader)).toEqual(['three', 'two', 'one']);
    expect((await historyOf(reader).list()).map(({ writer }) => writer)).toEqual([
      'of the old key',
      'ann',
      'ann',
    ]);
    expect((await verifyTree(reader.tenant)).findings).toEqual([]);
  });

  it('goes with the objects of a tenant that are copied to another store', async () => {
    const site = await openSite();
    const client = await keepingClient(site);
    for (const text of ['one', 'two', 'three']) await write(client, text);
    await client.rename(PATH, '/memories/b');
    const replaced = (await historyOf(client).list()).find(
      (entry) => 'end' in entry && entry.end === 'replaced',
    );
    await historyOf(client).redact(replaced ?? expect.unreachable('a version is kept'), { actor: 'cyd' });
    const { line } = await writeCheckpoint(client.tenant);
    const other = await openSite();
    await other.time.pause(site.time.clock());
    for await (const { objects } of site.base.list({ prefix: '' })) {
      for (const { key } of objects) {
        const stored = await site.base.get(key);
        if (typeof stored === 'object') await other.base.put(key, stored.body, { mode: 'create' });
      }
    }
    const reader = await other.client();
    expect(await historyOf(reader).list()).toEqual(await historyOf(client).list());
    expect((await verifyTree(reader.tenant, { since: line })).findings).toEqual([]);
  });

  it('is unreadable, actors and checkpoints with it, when its tenant is shredded at any request of an edit', async () => {
    let isShredded = true;
    for (let before = 0; isShredded; before++) {
      isShredded = false;
      const site = await openSite();
      const client = await keepingClient(site);
      await write(client, 'one');
      await write(client, 'two');
      await writeCheckpoint(client.tenant);
      const { tenant } = await site.client();
      const { store, layout, pause, clock } = tenant;
      let sent = 0;
      client.intercept(async (_, proceed) => {
        if (sent++ === before) {
          isShredded = true;
          await shredTenant({ store, layout, pause, clock }, { ttlMs: 15 * MINUTE });
        }
        return proceed();
      });
      const edit = client.append(PATH, ' three').then(
        () => 'done',
        () => 'refused',
      );
      if ((await edit) === 'done' && !isShredded) expect(before).toBeGreaterThan(1);
      if (!isShredded) break;
      for (const one of [client, await site.client()]) {
        await expect(historyOf(one).list()).rejects.toMatchObject({ code: 'key_unavailable' });
        await expect(textsOf(one)).rejects.toMatchObject({ code: 'key_unavailable' });
      }
    }
  });

  it.each(STORE_KINDS)(
    'gives no alarm since a checkpoint where a cut-off rename was repaired, on a %s store',
    async (kind) => {
      const site = await openSite(kind);
      const client = await keepingClient(site);
      await write(client, 'one');
      await site.time.pause(60 * MINUTE);
      const { line } = await writeCheckpoint(client.tenant);
      const renamer = await keepingClient(site);
      renamer.intercept(async (call, proceed) => {
        // On its way to remove the source.
        const isRemoval = call.verb === 'delete' || (call.verb === 'put' && call.body.length === 40);
        if (isRemoval) throw new MemoryError('aborted', 'the process is dead');
        return proceed();
      });
      await expect(renamer.rename(PATH, '/memories/b')).rejects.toThrow();
      await site.time.pause(60 * MINUTE);
      const { findings } = await verifyTree(client.tenant, { repair: true });
      expect(findings).toMatchObject([
        { kind: 'duplicate', state: 'removed', older: PATH, newer: '/memories/b' },
      ]);
      expect((await verifyTree((await site.client()).tenant, { since: line })).findings).toEqual([]);
      const kinds = (await historyOf(client).list(PATH)).map(({ kind: each, path }) => `${each} ${path}`);
      expect(kinds).toEqual([`renamed ${PATH}`, 'written /memories/b']);
    },
  );
});

describe('history of an open memory', () => {
  const open = (store: MemoryOptions['store'], more: Partial<MemoryOptions> = {}) =>
    openMemory({
      ...{
        store,
        tenant: 'acme',
        rootKey: Buffer.alloc(32, 7).toString('base64'),
        history: { days: 30 },
        actor: 'ann',
      },
      ...more,
    });

  it('is that of a mounted tenant where it is mounted, with the actor who asked', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    await using shared = await open(store, { tenant: 'shared', actor: 'owner' });
    await shared.files.write('/memories/policy.md', 'one');
    await using memory = await open(store, {
      mounts: [{ at: '/memories/shared', tenant: 'shared' }],
    });
    await memory.files.write('/memories/shared/policy.md', 'two');
    await memory.files.write('/memories/own.md', 'own');
    expect((await memory.history.list()).map(({ path }) => path)).toEqual(['/memories/own.md']);
    expect((await shared.history.list()).map(({ path, writer }) => [path, writer])).toEqual([
      ['/memories/policy.md', 'ann'],
      ['/memories/policy.md', 'owner'],
    ]);
  });

  it('gives no text back that a policy refuses now', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    {
      await using memory = await open(store);
      await memory.files.write(PATH, 'the forbidden word');
      await memory.files.write(PATH, 'clean');
    }
    const policy: Policy = ({ content }) =>
      new TextDecoder().decode(content).includes('forbidden')
        ? { refuse: [{ rule: 'words', line: 1 }] }
        : 'allow';
    await using memory = await open(store, { policy });
    const [, before] = await memory.history.list(PATH);
    await expect(
      memory.history.restore(before ?? expect.unreachable('there is a version')),
    ).rejects.toMatchObject({
      code: 'policy_refused',
    });
    expect((await memory.files.read(PATH))?.text()).toBe('clean');
  });

  it('counts for no limit of files and bytes', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    await using memory = await open(store, { limits: { files: 1, tenantBytes: 500 } });
    for (let round = 0; round < 5; round++) await memory.files.write(PATH, String(round).repeat(90));
    await using admin = await openAdmin({
      store,
      tenant: 'acme',
      rootKey: Buffer.alloc(32, 7).toString('base64'),
    });
    expect(await admin.history.list()).toHaveLength(5);
  });
});
