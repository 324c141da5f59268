import { beforeAll, describe, expect, it } from 'vitest';
import {
  eachRecord,
  type Inspection,
  inspectRecord,
  listFileRecords,
  listRecords,
} from '../../../src/admin/scan.ts';
import { MemoryError } from '../../../src/errors.ts';
import { createNames, type NameMode } from '../../../src/format/names.ts';
import { createLayout, type ObjectKey, parseTenantId } from '../../../src/format/object-keys.ts';
import { contentLength, sealedSize } from '../../../src/format/sizes.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { createTombstone } from '../../../src/format/tombstone.ts';
import { MEMORY_ROOT } from '../../../src/language/path.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { listDirectory } from '../../../src/tree/list-directory.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { added, input } from '../../format/format-vectors.ts';
import { createOperator, putRecord } from '../../stage/key-operator.ts';
import { atFirst, countCalls } from '../../stage/store-wrappers.ts';
import {
  bytes,
  createSite,
  describeOnBothKinds,
  openSite,
  type TestClient,
  type TestSite,
  withTenant,
} from '../../stage/test-tree.ts';

async function list(client: TestClient): Promise<Awaited<ReturnType<typeof listRecords>>> {
  return listRecords(await client.open());
}

async function put(site: TestSite, key: string, body: Uint8Array = new Uint8Array(300)): Promise<void> {
  await site.base.put(key as ObjectKey, body, { mode: 'create' });
}

const namesOf = ({ records }: Awaited<ReturnType<typeof listRecords>>): readonly string[] =>
  records.map(({ name }) => name).sort();

describe('the verdict of a listing', () => {
  const layout = createLayout({ prefix: 'p/q', tenant: parseTenantId('acme') });
  beforeAll(loadSodium);

  /** Work whose listings show just that entry, new as it is. */
  function workOn({ mode, key, size }: (typeof added.listings)[number]): Work {
    const names = createNames({ mode: mode === 0 ? 'plain' : 'encrypted', nameKey: input('NK') });
    const object = { key: key as ObjectKey, size, etag: 'e', lastModified: 0 };
    const store = {
      async *list({ prefix }: { readonly prefix: string }) {
        yield { objects: key.startsWith(prefix) ? [object] : [], servedAt: 0 };
      },
    };
    const logger = { warn() {} };
    return { tenant: { layout, store, logger }, keyring: { names }, call: {} } as unknown as Work;
  }

  it.each(added.listings)('on $key of $size bytes in mode $mode is $verdict', async (entry) => {
    const { key, size, verdict, name } = entry;
    const { records, foreign, orphan } = await listRecords(workOn(entry));
    expect(records.map((record) => record.name)).toEqual(name === undefined ? [] : [name]);
    expect(foreign + orphan).toBe(verdict === 'foreign' ? 1 : 0);
    if (name !== undefined) expect(contentLength(size) === undefined).toBe(verdict === 'damaged');
    const { files } = await listDirectory(workOn(entry), MEMORY_ROOT);
    expect(files.map((file) => [file.key, file.path])).toEqual(verdict === 'file' ? [[key, name]] : []);
  });
});

describeOnBothKinds('the listing of all records', (newSite) => {
  it.each<NameMode>(['plain', 'encrypted'])('names every object of every class, %s names', async (names) => {
    const site = await newSite();
    const client = await site.client({ names });
    for (const path of ['/memories/a', '/memories/b/日本.md', '/memories/b/c/d'])
      await client.create(path, 'x');
    const work = await client.open();
    const classes = ['journal', 'access', 'receipts', 'answers'] as const;
    for (const cls of classes) await putRecord(work, cls, `${cls}-1_A`, bytes('x'));
    const listing = await list(client);
    expect(namesOf(listing)).toEqual([
      '/access/access-1_A',
      '/answers/answers-1_A',
      '/journal/journal-1_A',
      '/memories/a',
      '/memories/b/c/d',
      '/memories/b/日本.md',
      '/receipts/receipts-1_A',
    ]);
    expect(listing).toMatchObject({ foreign: 0, orphan: 0 });
    for (const record of listing.records) {
      const isFile = record.name.startsWith('/memories/');
      expect(record.cls).toBe(isFile ? 'data' : record.name.split('/')[1]);
      if (record.cls === 'data') expect(record.path).toBe(record.name);
    }
  });

  it('keeps what has an impossible size: it is a file, cut short', async () => {
    const site = await newSite();
    const client = await site.client({ names: 'plain' });
    await client.create('/memories/a', 'x');
    const [key = ''] = (await list(client)).records.map(({ object }) => object.key);
    await site.base.put(key as ObjectKey, new Uint8Array(7), { mode: 'overwrite' });
    expect(namesOf(await list(client))).toEqual(['/memories/a']);
  });

  it('tells foreign objects from orphan', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', 'x');
    const { tenantPrefix } = client.layout;
    const foreign = ['data/plain-name', 'data/a//b', 'data/'];
    const orphan = [
      ...['odd', 'journal', 'journal/', 'journal/a/b', 'answers/a.b', `access/${'x'.repeat(65)}`],
      ...['other/id', 'Journal/id', 'database/a', 'probe/a', 'probes'],
    ];
    for (const key of [...foreign, ...orphan]) await put(site, tenantPrefix + key);
    expect(await list(client)).toMatchObject({ foreign: foreign.length, orphan: orphan.length });
    expect(namesOf(await list(client))).toEqual(['/memories/a']);
  });

  it('passes over the probe and the scratch objects of doctor', async () => {
    const site = await newSite();
    const client = await site.client();
    await client.create('/memories/a', 'x');
    for (const tail of ['', '-0a1b-create', '-0a1b-both/below']) await put(site, client.layout.probe + tail);
    expect(await list(client)).toMatchObject({ foreign: 0, orphan: 0, records: [{ name: '/memories/a' }] });
  });

  it('sees neither another tenant nor the keyring', async () => {
    const site = await newSite();
    const [client, other] = [await site.client(), await site.client({ tenant: 'acme-2' })];
    await client.create('/memories/a', 'x');
    await other.create('/memories/b', 'x');
    expect(namesOf(await list(client))).toEqual(['/memories/a']);
  });

  it('asks once for each thousand objects', async () => {
    const site = await newSite();
    const client = await site.client({ names: 'plain' });
    await client.create('/memories/a', 'x');
    for (let i = 0; i < 1_200; i++) await put(site, `${client.layout.data}f${i}.sealed`);
    client.calls.length = 0;
    expect((await list(client)).records).toHaveLength(1_201);
    expect(countCalls(client.calls)).toEqual({ list: 2 });
  });
});

describe('the listing of all records where deletes were declared atomic later', () => {
  it('counts a tombstone as an orphan once it is older than an hour', async () => {
    const site = await createSite('guarded');
    const client = await site.client();
    await client.create('/memories/a', 'x');
    const work = await client.open();
    const body = createTombstone(site.time.randomBytes);
    const name = work.keyring.names.encodeFile(['b']);
    await put(site, client.layout.data + name, body);
    await put(site, `${client.layout.tenantPrefix}answers/one`, body);
    await site.time.pause(3_600_000);
    expect(await list(client)).toMatchObject({ orphan: 0, records: [{ name: '/memories/a' }] });
    await site.time.pause(1);
    expect(await list(client)).toMatchObject({ orphan: 2, records: [{ name: '/memories/a' }] });
    await site.base[Symbol.asyncDispose]();
  });
});

it('a record is not begun once the caller has cancelled, whatever becomes of the one under way', async () => {
  const site = await createSite();
  const client = await site.client();
  for (const name of ['a', 'b', 'c']) await client.create(`/memories/${name}`, name);
  const controller = new AbortController();
  const work = await client.open(controller.signal);
  const { records } = await listRecords(work);
  const begun: string[] = [];
  const visiting = eachRecord(withTenant(work, { concurrency: 1 }), records, async ({ name }) => {
    begun.push(name);
    controller.abort();
  });
  await expect(visiting).rejects.toMatchObject({ code: 'aborted' });
  expect(begun).toHaveLength(1);
  await site.base[Symbol.asyncDispose]();
});

it('records are visited as many at once as fit into memory together', async () => {
  const site = await createSite();
  const client = await site.client();
  for (const name of ['a', 'b', 'c']) await client.create(`/memories/${name}`, name);
  const work = await client.open();
  const { records } = await listRecords(work);
  for (const [concurrentBytes, atOnce] of [
    [1, 1],
    [1_048_576, 3],
  ] as const) {
    let [visiting, most] = [0, 0];
    await eachRecord(withTenant(work, { concurrentBytes }), records, async () => {
      most = Math.max(most, ++visiting);
      await site.time.pause(10);
      visiting--;
    });
    expect(most).toBe(atOnce);
  }
  await site.base[Symbol.asyncDispose]();
});

it.each([
  ['unavailable', 'unavailable'],
  ['timeout', 'timeout'],
  ['access_denied', 'access_denied'],
  ['aborted', 'aborted'],
  ['limit_exceeded', 'too_large'],
] as const)('a record that the store answers with %s is %s, and never damaged', async (code, verdict) => {
  const site = await createSite();
  const client = await site.client();
  await client.create('/memories/a', 'x');
  const work = await client.open();
  const [record] = (await listRecords(work)).records;
  if (record === undefined) throw new Error('there is no record');
  client.intercept(atFirst('get', () => Promise.reject(new MemoryError(code, 'no'))));
  const told = await inspectRecord(work, record).then(
    (inspection) => inspection?.state,
    (error: unknown) => (error as MemoryError).code,
  );
  expect(told).toBe(verdict);
  await site.base[Symbol.asyncDispose]();
});

describe('a record that is inspected', () => {
  /** The inspection of the only record. */
  async function inspect(work: Work): Promise<Inspection | undefined> {
    const [record] = (await listRecords(work)).records;
    if (record === undefined) throw new Error('there is no record');
    return inspectRecord(work, record);
  }

  async function withFile() {
    const site = await openSite();
    const client = await site.client();
    await client.create('/memories/a', 'x');
    const [key] = (await listRecords(await client.open())).records.map(({ object }) => object.key);
    if (key === undefined) throw new Error('there is no record');
    return { site, client, key };
  }

  it('is whole under the version of the key that it names', async () => {
    const { site, client } = await withFile();
    expect(await inspect(await client.open())).toMatchObject({ state: 'whole', keyVersion: 1 });
    await (await createOperator(site)).rotate();
    const other = await site.client();
    expect(await inspect(await other.open())).toMatchObject({ state: 'whole', keyVersion: 1 });
    await other.append('/memories/a', 'y');
    expect(await inspect(await other.open())).toMatchObject({ state: 'whole', keyVersion: 2 });
  });

  it('is nothing where it is gone, and fails as the program does', async () => {
    const { site, client, key } = await withFile();
    const work = await client.open();
    const { records } = await listRecords(work);
    const [record] = records;
    if (record === undefined) throw new Error('there is no record');
    const fault = new TypeError('no');
    client.intercept(atFirst('get', () => Promise.reject(fault)));
    await expect(inspectRecord(work, record)).rejects.toBe(fault);
    await site.base.delete([{ key }]);
    expect(await inspectRecord(work, record)).toBeUndefined();
  });

  it('is damaged where it is not what was sealed there, under the version that it names if it names one', async () => {
    const { site, client, key } = await withFile();
    await (await createOperator(site)).rotate();
    const found = await site.base.get(key);
    if (typeof found !== 'object') throw new Error('there is no object');
    const put = (body: Uint8Array) => site.base.put(key, body, { mode: 'overwrite' });
    const flipped = found.body.with(-1, (found.body.at(-1) ?? 0) ^ 1);
    await put(flipped);
    const work = await (await site.client()).open();
    expect(await inspect(work)).toEqual({ state: 'damaged', keyVersion: 1 });
    await put(flipped.subarray(0, 100));
    expect(await inspect(work)).toEqual({ state: 'damaged', keyVersion: undefined });
    await put(flipped);
    // It goes between the two GETs.
    client.intercept(
      atFirst('get', async (proceed) => {
        const answer = await proceed();
        await site.base.delete([{ key }]);
        return answer;
      }),
    );
    expect(await inspect(await client.open())).toEqual({ state: 'damaged', keyVersion: undefined });
  });

  it('is under an unknown key where another tenant sealed it', async () => {
    const { site, client, key } = await withFile();
    const other = await site.client({ tenant: 'other' });
    await other.create('/memories/a', 'x');
    const [record] = (await listRecords(await other.open())).records;
    const found = record && (await site.base.get(record.object.key));
    if (typeof found !== 'object') throw new Error('there is no object');
    await site.base.put(key, found.body, { mode: 'overwrite' });
    expect(await inspect(await client.open())).toEqual({ state: 'unknown_key' });
  });

  const withheld = new MemoryError('unavailable', 'no', { details: { reason: 'unknown_key' } });
  it.each([
    ['is under an unknown key where nobody has changed the keyring', false, 'unknown_key'],
    ['is opened with the newer keyring of another process', true, 'whole'],
  ] as const)('whose key was not looked for %s', async (_, isRotated, state) => {
    const { site, client } = await withFile();
    const work = await client.open();
    if (isRotated) await (await createOperator(site)).rotate();
    client.intercept(atFirst('get', () => Promise.reject(withheld)));
    const [record] = (await listRecords(work)).records;
    if (record === undefined) throw new Error('there is no record');
    expect(await inspectRecord(work, record)).toMatchObject({ state });
  });

  it.each([
    [100, sealedSize(100), sealedSize(16_777_216)],
    [20_000_000, sealedSize(20_000_000), sealedSize(20_065_536)],
  ])(
    'beside the tree may be larger than a file, where files have %i bytes at most',
    async (most, file, record) => {
      const site = await openSite();
      const client = await site.client({ maxFileBytes: most });
      await client.create('/memories/a', 'x');
      await putRecord(await client.open(), 'answers', 'one', bytes('x'));
      const asked: unknown[] = [];
      const { store } = client.tenant;
      const get: ObjectStore['get'] = (key, options) => {
        asked.push([key.includes('/data/') ? 'file' : 'record', options?.maxBytes]);
        return store.get(key, options);
      };
      const work = withTenant(await client.open(), { store: { ...store, get } });
      for (const each of (await listRecords(work)).records) await inspectRecord(work, each);
      expect(asked.toSorted()).toEqual([
        ['file', file],
        ['record', record],
      ]);
    },
  );
});

it('records are counted as they are done', async () => {
  const site = await openSite();
  const client = await site.client();
  for (const name of ['a', 'b', 'c']) await client.create(`/memories/${name}`, name);
  const told: unknown[] = [];
  const work: Work = { ...(await client.open()), call: { onProgress: (progress) => told.push(progress) } };
  const { records } = await listRecords(work);
  await eachRecord(work, records, async () => {});
  expect(told).toEqual([1, 2, 3].map((done) => ({ done, total: 3 })));
});

it('the files alone are listed with their paths, and what is foreign among them is counted', async () => {
  const site = await openSite();
  const client = await site.client();
  for (const path of ['/memories/a', '/memories/b/c']) await client.create(path, 'x');
  const work = await client.open();
  await putRecord(work, 'answers', 'one', bytes('x'));
  for (const name of ['odd', 'odder']) await put(site, client.layout.data + name);
  const { records, ...counts } = await listFileRecords(work);
  expect(counts).toEqual({ foreign: 2, orphan: 0 });
  const found = records.map(({ cls, path, name }) => [cls, path, name]);
  expect(found.toSorted()).toEqual([
    ['data', '/memories/a', '/memories/a'],
    ['data', '/memories/b/c', '/memories/b/c'],
  ]);
});
