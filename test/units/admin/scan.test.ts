import { beforeAll, describe, expect, it } from 'vitest';
import { eachRecord, inspectRecord, listRecords } from '../../../src/admin/scan.ts';
import { MemoryError } from '../../../src/errors.ts';
import { createNames, type NameMode } from '../../../src/format/names.ts';
import { createLayout, type ObjectKey, parseTenantId } from '../../../src/format/object-keys.ts';
import { contentLength } from '../../../src/format/sizes.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { createTombstone } from '../../../src/format/tombstone.ts';
import { MEMORY_ROOT } from '../../../src/language/path.ts';
import { listDirectory } from '../../../src/tree/list-directory.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { added, input } from '../../format/format-vectors.ts';
import { putRecord } from '../../stage/key-operator.ts';
import { atFirst, countCalls } from '../../stage/store-wrappers.ts';
import {
  bytes,
  createSite,
  describeOnBothKinds,
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
