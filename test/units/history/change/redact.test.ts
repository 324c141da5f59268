import { describe, expect, it } from 'vitest';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { MemoryError } from '../../../../src/errors.ts';
import { classKey, type ObjectKey } from '../../../../src/format/object-keys.ts';
import { createHistory, type History } from '../../../../src/history/history.ts';
import type { WrittenEntry } from '../../../../src/history/past/entries.ts';
import { VERSION_SAVER } from '../../../../src/history/save/version-saver.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { noVersions, type ObjectStore, type ObjectVersions } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import { silentLogger } from '../../../stage/silent-logger.ts';
import { countCalls } from '../../../stage/store-wrappers.ts';
import {
  at,
  bytes,
  openSite,
  type StoreKind,
  TEST_ROOT_KEY,
  type TestClient,
  type TestSite,
  TRIED_KINDS,
} from '../../../stage/test-tree.ts';
import { whereTextIs } from '../../../stage/traces.ts';
import { type VersionedStore, versionedStore } from '../../../stage/versioned-store.ts';

const [PATH, NEXT] = ['/memories/d/a', '/memories/e/b'];
const SECRET = 'the card is 4929 1838';

interface Place {
  readonly site: TestSite;
  readonly kept: VersionedStore;
  readonly client: TestClient;
  readonly history: History;
  /**
   * Answers the places where the secret is to be found, in all versions of all objects, with all keyrings there ever
   * were.
   */
  search(): Promise<readonly string[]>;
}

async function newPlace(kind: StoreKind = 'guarded'): Promise<Place> {
  let kept: VersionedStore | undefined;
  const site = await openSite(kind, 1, (store) => {
    kept = versionedStore(store);
    return { ...kept.store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  });
  if (kept === undefined) throw new Error('there is no store');
  const { versions, all } = kept;
  const client = await site.client({ keepsHistory: true });
  client.intercept(async (_, proceed) => {
    await site.time.pause(2);
    return proceed();
  });
  const { layout } = client;
  const search = () => whereTextIs(all(), { layout, rootKey: TEST_ROOT_KEY }, SECRET);
  return { site, kept, client, history: createHistory(client.tenant, client.tree, { versions }), search };
}

/** Another process, which has opened the memory. */
async function newDying({ site, kept: { versions } }: Place) {
  const client = await site.client();
  await client.text(PATH);
  client.calls.length = 0;
  return { client, history: createHistory(client.tenant, client.tree, { versions }) };
}

const overwrite = (client: TestClient, path: string, text: string) =>
  client.tree.overwrite(at(path), bytes(text));

/** The version with that size whose text is there. */
async function versionOf(history: History, path: string, size = SECRET.length): Promise<WrittenEntry> {
  for (const entry of await history.list(path)) {
    if (entry.kind === 'written' && entry.size === size && entry.text === 'kept') return entry;
  }
  throw new Error('there is no such version');
}

async function expectWhole({ client, site }: Place): Promise<void> {
  const other = await site.client();
  expect((await verifyTree(other.tenant)).findings).toEqual([]);
  expect(await client.text(PATH)).not.toContain(SECRET);
}

describe.each(TRIED_KINDS)('redact, on a %s store that keeps versions', (kind) => {
  it('leaves no byte of the text, and the fact that there was one', async () => {
    const place = await newPlace(kind);
    const { client, history, search } = place;
    await client.tree.create(at(PATH), bytes(SECRET), { actor: 'ann' });
    await client.append(PATH, ' or so');
    await overwrite(client, PATH, 'nothing');
    const whole = await versionOf(history, PATH);
    await history.redact(await versionOf(history, PATH, SECRET.length + 6), { actor: 'bob' });
    expect(await search()).not.toEqual([]);
    expect(await history.redact(whole, { actor: 'bob' })).toEqual({
      path: PATH,
      version: whole.version,
      records: 1,
      // The versions of the record and of the file.
      versionsRemoved: 2,
    });
    expect(await search()).toEqual([]);
    expect((await history.list(PATH)).find((entry) => entry.version === whole.version)).toMatchObject({
      kind: 'written',
      path: PATH,
      writer: 'ann',
      size: SECRET.length,
      text: 'redacted',
      time: whole.time,
      end: 'replaced',
      redacted: { writer: 'bob', time: expect.any(Date) },
    });
    await expect(history.read(whole)).rejects.toMatchObject({
      code: 'not_found',
      details: { reason: 'redacted' },
    });
    await expect(history.restore(whole)).rejects.toMatchObject({ code: 'not_found' });
    await expectWhole(place);
  });

  it('reaches the text under every path, with every key, and in other versions of the file', async () => {
    const place = await newPlace(kind);
    const { site, client, history, search } = place;
    await client.create(PATH, SECRET);
    const operator = await createOperator(site);
    // A directory's rename that is taken back leaves copies in the bucket.
    await client.create('/memories/f/a', 'taken');
    await client.rename('/memories/d', '/memories/f').catch(() => {});
    await client.rename('/memories/d', '/memories/e');
    await client.rename('/memories/e/a', NEXT);
    for (const reencrypt of [false, true]) {
      await operator.rotate();
      await site.time.pause(1_200_000);
      await operator.migrate({ reencrypt });
    }
    await overwrite(client, NEXT, 'clean');
    await overwrite(client, NEXT, SECRET);
    await overwrite(client, NEXT, 'clean again');
    await client.rename(NEXT, PATH);
    expect((await search()).length).toBeGreaterThan(4);
    const { records } = await history.redact(await versionOf(history, PATH));
    expect(records).toBe(2);
    expect(await search()).toEqual([]);
    expect((await history.list(PATH)).filter((entry) => 'redacted' in entry)).toHaveLength(2);
    await expectWhole(place);
  });

  it('takes out what was deleted, and the versions of it that a bucket keeps', async () => {
    const place = await newPlace(kind);
    const { client, history, search } = place;
    await client.create(PATH, SECRET);
    await client.remove('/memories/d');
    await history.redact(await versionOf(history, PATH));
    expect(await search()).toEqual([]);
    await client.create(PATH, 'another');
    await expectWhole(place);
  });
});

describe('redact', () => {
  it('reads each version of the file once, the one that is named twice, and no file of another size', async () => {
    const { client } = await newPlace();
    const history = createHistory(client.tenant, client.tree);
    await client.create(PATH, SECRET);
    for (let number = 0; number < 20; number++) await overwrite(client, PATH, 'x'.repeat(number));
    await client.create(NEXT, 'of another size');
    await client.create('/memories/f', 'x'.repeat(SECRET.length));
    const version = await versionOf(history, PATH);
    client.calls.length = 0;
    await history.redact(version);
    // The file and its 20 versions for its past; then the named version and the file of its size. Two listings are the
    // past's own.
    expect(countCalls(client.calls)).toEqual({ list: 2 + 4 + 3, get: 21 + 2, put: 1 });
  });

  it('refuses what a file holds now, also where a rename was cut off, and says what to do', async () => {
    const { site, client, history } = await newPlace();
    await client.create(PATH, SECRET);
    const refusal = (path: string, { version }: WrittenEntry) =>
      expect.objectContaining({
        code: 'invalid_command',
        message: expect.stringContaining('edit or delete the file first'),
        details: { reason: 'current', paths: [path], versions: [version] },
      });
    const current = await versionOf(history, PATH);
    await expect(history.redact(current)).rejects.toEqual(refusal(PATH, current));
    await overwrite(client, PATH, 'clean');
    await overwrite(client, PATH, SECRET);
    const asked = site.time.clock();
    await expect(history.redact(current)).rejects.toEqual(refusal(PATH, await versionOf(history, PATH)));
    // Nobody else is about to take it back, so that there is nothing to wait for.
    expect(site.time.clock() - asked).toBeLessThan(500);

    const dying = await site.client();
    dying.intercept((call, proceed) =>
      call.verb === 'delete' ? Promise.reject(new MemoryError('aborted', 'dead')) : proceed(),
    );
    await dying.rename(PATH, NEXT).catch(() => {});
    const both = await versionOf(history, PATH);
    await overwrite(client, PATH, 'clean');
    await expect(history.redact(both)).rejects.toEqual(refusal(NEXT, both));
    await client.remove(NEXT);
    await history.redact(both);
  });

  it('names the version that was restored in its last moment, which is redacted then', async () => {
    const place = await newPlace();
    const { client, history, search } = place;
    for (const text of [SECRET, 'clean']) await overwrite(client, PATH, text);
    const version = await versionOf(history, PATH);
    const { client: redacting, history: other } = await newDying(place);
    let isRestored = false;
    redacting.intercept(async (call, proceed) => {
      if (call.verb === 'put' && !isRestored) {
        isRestored = true;
        await history.restore(version);
      }
      return proceed();
    });
    const failure: unknown = await other.redact(version).catch((error: unknown) => error);
    const restored = await versionOf(history, PATH);
    expect(failure).toMatchObject({
      message: expect.stringContaining('then the version of the file that is named'),
      details: { reason: 'current', paths: [PATH], versions: [restored.version] },
    });
    await overwrite(client, PATH, 'clean again');
    await history.redact(version);
    await history.redact(restored);
    expect(await search()).toEqual([]);
  });

  it('reaches, run again, what a bucket keeps of an expired record with the same text', async () => {
    const prepared = async () => {
      const place = await newPlace();
      const { client, history, site } = place;
      await client.create(PATH, SECRET);
      await overwrite(client, PATH, 'clean');
      for await (const { objects } of site.base.list({ prefix: 'tenants/acme/history/' }))
        await site.base.delete(objects.map(({ key }) => ({ key })));
      await overwrite(client, PATH, SECRET);
      await overwrite(client, PATH, 'clean again');
      return { place, version: await versionOf(history, PATH) };
    };
    // One removal of the bucket's own versions is refused, or all from it on; each of them once.
    for (const isAlone of [true, false]) {
      for (let allowed = 0, isRefused = true; isRefused; allowed++) {
        isRefused = false;
        const { place, version } = await prepared();
        const { client, kept, history, search } = place;
        let removed = 0;
        const remove: ObjectVersions['remove'] = async (...version) => {
          const isMeant = isAlone ? removed === allowed : removed >= allowed;
          removed++;
          isRefused ||= isMeant;
          if (isMeant) throw new MemoryError('access_denied', 'no');
          return kept.versions.remove(...version);
        };
        const refused = createHistory(client.tenant, client.tree, {
          versions: { ...kept.versions, remove },
        });
        const failing = refused.redact(version);
        if (allowed < 4)
          await expect(failing).rejects.toMatchObject({ details: { reason: 'versions_left' } });
        else await failing;
        expect(isRefused, `${allowed} removed`).toBe(allowed < 4);
        await history.redact(version);
        expect(await search(), `${allowed} removed`).toEqual([]);
      }
    }
  });

  it('goes on from the record to the versions of the bucket once those may be removed', async () => {
    const { client, kept, history, search } = await newPlace();
    await client.create(PATH, SECRET);
    await overwrite(client, PATH, 'clean');
    const version = await versionOf(history, PATH);
    const denied: ObjectVersions = {
      ...kept.versions,
      remove: () => Promise.reject(new MemoryError('access_denied', 'no')),
    };
    const refused = createHistory(client.tenant, client.tree, { versions: denied }).redact(version);
    await expect(refused).rejects.toMatchObject({
      code: 'access_denied',
      message: expect.stringContaining('s3:DeleteObjectVersion'),
      details: { reason: 'versions_left', paths: [PATH], counts: [2] },
    });
    expect(await search()).not.toEqual([]);
    expect(await history.redact(version)).toMatchObject({ records: 0, versionsRemoved: 2 });
    expect(await search()).toEqual([]);
    const unknown: ObjectVersions = {
      ...kept.versions,
      below: () => {
        throw noVersions(undefined);
      },
    };
    const without = createHistory(client.tenant, client.tree, { versions: unknown });
    expect(await without.redact(version)).toMatchObject({ versionsRemoved: undefined });
    expect(await createHistory(client.tenant, client.tree).redact(version)).toMatchObject({
      versionsRemoved: undefined,
    });
  });

  it('writes down who redacts before the text goes', async () => {
    const { client, history } = await newPlace();
    await client.create(PATH, SECRET);
    await overwrite(client, PATH, 'clean');
    const version = await versionOf(history, PATH);
    client.calls.length = 0;
    await history.redact(version, { actor: 'ann' });
    const written = client.calls.flatMap((call) => (call.verb === 'put' ? [call.key.split('/').at(-2)] : []));
    expect(written).toEqual(['actors', 'history']);
  });

  it('writes down who redacts in the room that a full store keeps for deletes', async () => {
    const below = openSqliteObjectStore({ path: ':memory:' });
    const full = new MemoryError('unavailable', 'full, says the test', { details: { reason: 'disk_full' } });
    const store: ObjectStore = {
      ...below,
      put: (key, ...rest) => (key.includes('/actors/') ? Promise.reject(full) : below.put(key, ...rest)),
    };
    const options = { tenant: 'acme', rootKey: TEST_ROOT_KEY, store, history: { days: 30 } };
    await using memory = await openMemory({ ...options, logger: silentLogger });
    for (const text of [SECRET, 'clean']) await memory.files.write(PATH, text);
    const { version } = await versionOf(memory.history, PATH);
    await memory.history.redact({ path: PATH, version }, { actor: 'ann' });
    expect(await memory.history.list(PATH)).toContainEqual(
      expect.objectContaining({ redacted: { writer: 'ann', time: expect.any(Date) } }),
    );
  });

  it('passes over versions of the bucket that are gone when they are read', async () => {
    const { client, kept, history } = await newPlace();
    await client.create(PATH, SECRET);
    await overwrite(client, PATH, 'clean');
    const gone: ObjectVersions = {
      ...kept.versions,
      get: async (key, versionId) => {
        await kept.versions.remove(key, versionId);
        return undefined;
      },
    };
    const others = createHistory(client.tenant, client.tree, { versions: gone });
    expect(await others.redact(await versionOf(history, PATH))).toMatchObject({ versionsRemoved: 1 });
  });

  it('is not detected, as documented, when a record is put back as it was, until its key is retired', async () => {
    const { site, client, history, search } = await newPlace();
    await client.create(PATH, SECRET);
    await overwrite(client, PATH, 'clean');
    const version = await versionOf(history, PATH);
    let key: ObjectKey | undefined;
    for await (const { objects } of site.base.list({ prefix: 'tenants/acme/history/' }))
      key ??= objects[0]?.key;
    const kept = key && (await site.base.get(key));
    if (typeof kept !== 'object') throw new Error('there is no record');
    await history.redact(version);
    await site.base.put(key as ObjectKey, kept.body, { mode: 'overwrite' });
    const other = await site.client();
    const elsewhere = createHistory(other.tenant, other.tree);
    expect((await elsewhere.read(version)).text()).toBe(SECRET);
    await elsewhere.redact(version);
    expect((await verifyTree(other.tenant)).findings).toEqual([]);

    const operator = await createOperator(site);
    await operator.rotate();
    await site.time.pause(1_200_000);
    await operator.migrate({ reencrypt: true });
    await site.base.put(key as ObjectKey, kept.body, { mode: 'overwrite' });
    await expect(elsewhere.read(version)).rejects.toMatchObject({ name: 'MemoryError' });
    expect((await verifyTree((await site.client()).tenant)).findings).not.toEqual([]);
    expect(await search()).not.toEqual([]);
  });

  it.each(['file', 'record'])('tells of an older %s that is put back while it runs', async (which) => {
    const { site, client, history } = await newPlace();
    await client.create(PATH, SECRET);
    const prefix = which === 'file' ? client.layout.data : 'tenants/acme/history/';
    const first = async () => {
      for await (const { objects } of site.base.list({ prefix }))
        for (const { key } of objects) {
          const stored = await site.base.get(key);
          if (typeof stored === 'object') return { key, body: stored.body };
        }
      return expect.unreachable('it is there');
    };
    const file = which === 'file' ? await first() : undefined;
    await overwrite(client, PATH, 'clean');
    const version = await versionOf(history, PATH);
    const { key, body } = file ?? (await first());
    let isDone = false;
    client.intercept(async (call, proceed) => {
      const answer = await proceed();
      if (!isDone && call.verb === 'put' && call.key.includes('/history/')) {
        isDone = true;
        await site.base.put(key, body, { mode: 'overwrite' });
      }
      return answer;
    });
    await expect(history.redact(version)).rejects.toMatchObject({
      code: 'integrity',
      details: { reason: 'put_back' },
    });
  });

  it('reaches a record that has expired and that no key opens any more', async () => {
    const { site, client, history, search } = await newPlace();
    await client.create(PATH, SECRET);
    const saved = await client.tree.readVersion(at(PATH));
    if (saved === undefined) throw new Error('there is no file');
    await VERSION_SAVER.saveReplaced(await client.open(), at('/memories/z'), saved);
    for await (const { objects } of site.base.list({ prefix: 'tenants/acme/history/' })) {
      await site.base.delete(objects.map(({ key }) => ({ key })));
    }
    await overwrite(client, PATH, 'clean');
    const operator = await createOperator(site);
    await operator.rotate();
    await site.time.pause(1_200_000);
    await operator.migrate({ reencrypt: true });
    expect((await search()).length).toBe(3);
    await history.redact(await versionOf(history, PATH));
    expect(await search()).toEqual([]);
  });

  it('reaches an expired record of another version of the file with the same text', async () => {
    const { site, client, history, search } = await newPlace();
    await client.create(PATH, SECRET);
    const saved = await client.tree.readVersion(at(PATH));
    if (saved === undefined) throw new Error('there is no file');
    await VERSION_SAVER.saveReplaced(await client.open(), at('/memories/z'), saved);
    for await (const { objects } of site.base.list({ prefix: 'tenants/acme/history/' }))
      await site.base.delete(objects.map(({ key }) => ({ key })));
    for (const text of ['clean', SECRET, 'clean again']) await overwrite(client, PATH, text);
    const operator = await createOperator(site);
    await operator.rotate();
    await site.time.pause(1_200_000);
    await operator.migrate({ reencrypt: true });
    await history.redact(await versionOf(history, PATH));
    expect(await search()).toEqual([]);
  });

  /** Redacts while another process does something once the past of the file was read; answers how often it waited. */
  async function redactBeside(place: Place, act: () => Promise<unknown>): Promise<number> {
    const version = await versionOf(place.history, PATH);
    const { client } = await newDying(place);
    let waits = 0;
    const pause: typeof client.tenant.pause = (...given) => {
      waits++;
      return client.tenant.pause(...given);
    };
    const history = createHistory({ ...client.tenant, pause }, client.tree, {
      versions: place.kept.versions,
    });
    let isDone = false;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'list' && call.prefix === client.layout.data && !isDone) {
        isDone = true;
        await act();
      }
      return proceed();
    });
    await history.redact(version);
    expect(isDone).toBe(true);
    return waits;
  }

  it('follows the file where it is renamed meanwhile, and takes the text out there, without a wait', async () => {
    const place = await newPlace();
    const { client, search } = place;
    for (const text of [SECRET, 'clean']) await overwrite(client, PATH, text);
    const waits = await redactBeside(place, async () => {
      await client.rename('/memories/d', '/memories/e');
      for (const text of ['other', SECRET, 'clean again']) await overwrite(client, '/memories/e/a', text);
    });
    expect([waits, await search()]).toEqual([0, []]);
  });

  it('leaves the text of another file that is renamed with its directory meanwhile', async () => {
    const place = await newPlace();
    const { client, history } = place;
    for (const text of [SECRET, 'clean']) await overwrite(client, PATH, text);
    await client.create('/memories/d/z', 'another');
    await redactBeside(place, async () => {
      await client.rename('/memories/d', '/memories/e');
      for (const text of [SECRET, 'fine']) await overwrite(client, '/memories/e/z', text);
    });
    const { version } = await versionOf(history, '/memories/e/z');
    expect(await history.read({ path: '/memories/e/z', version })).toBeDefined();
  });

  it('leaves the same text of a file that no record has joined to the redacted one within ten seconds', async () => {
    const place = await newPlace();
    const { client } = place;
    for (const text of [SECRET, 'clean']) await overwrite(client, PATH, text);
    for (const text of ['another', SECRET]) await overwrite(client, NEXT, text);
    expect(await redactBeside(place, async () => {})).toBe(20);
    expect(await client.text(NEXT)).toBe(SECRET);
  });

  it('is done where the server knows no versions', async () => {
    const { client, kept } = await newPlace();
    const unknown: ObjectVersions = {
      ...kept.versions,
      below: () => {
        throw noVersions(undefined);
      },
    };
    const history = createHistory(client.tenant, client.tree, { versions: unknown });
    for (const text of [SECRET, 'clean']) await overwrite(client, PATH, text);
    expect(await history.redact(await versionOf(history, PATH))).toMatchObject({
      records: 1,
      versionsRemoved: undefined,
    });
  });

  it('refuses where nothing may be written, and what there is no version of', async () => {
    const { client, history } = await newPlace();
    const reader = createHistory({ ...client.tenant, readOnly: true }, client.tree);
    await expect(reader.redact({ path: PATH, version: 'abcd' })).rejects.toMatchObject({ code: 'read_only' });
    await expect(history.redact({ path: PATH, version: 'abcd' })).rejects.toMatchObject({
      code: 'not_found',
    });
    await client.create(PATH, SECRET);
    await expect(history.redact({ path: PATH, version: 'abcd' })).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(history.redact({ path: PATH, version: 'a' })).rejects.toMatchObject({
      code: 'invalid_command',
    });
  });

  it('does not pass over a record that it cannot open', async () => {
    const { site, client, history } = await newPlace();
    await client.create(PATH, SECRET);
    await overwrite(client, PATH, 'clean');
    const version = await versionOf(history, PATH);
    const id = `${'x'.repeat(43)}_${'0'.repeat(11)}_${version.version.slice(0, 8)}`;
    await site.base.put(classKey(client.layout, 'history', id), bytes('x'.repeat(300)), { mode: 'create' });
    await expect(history.redact(version)).rejects.toMatchObject({ code: 'integrity' });
  });
});
