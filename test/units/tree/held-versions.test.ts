import { describe, expect, it } from 'vitest';
import { fileKey } from '../../../src/format/object-keys.ts';
import type { ETag, GetOptions, ObjectStore } from '../../../src/store/port.ts';
import { laterOf, readFile, recallFile, reviewFile, STAYS_AFTER_MS } from '../../../src/tree/read-file.ts';
import { identityOf } from '../../../src/tree/sightings.ts';
import { at, bytes, createSite, withTenant } from '../../stage/test-tree.ts';

const PATH = at('/memories/a');
const OTHER = at('/memories/b');

/** A process that has neither read nor written the file that another one created. */
async function start() {
  const site = await createSite();
  const writer = await site.client();
  await writer.create(PATH, 'text');
  const client = await site.client();
  const opened = await client.open();
  const asked: (GetOptions | undefined)[] = [];
  const store: ObjectStore = {
    ...opened.tenant.store,
    get(key, options) {
      asked.push(options);
      return opened.tenant.store.get(key, options);
    },
  };
  const work = withTenant(opened, { store });
  const key = fileKey(client.layout, work.keyring.names, PATH);
  client.calls.length = 0;
  return { ...site, writer, client, work, key, asked };
}

describe('a file that a process holds', () => {
  it('is recalled without a request once it was reviewed', async () => {
    const { work, client } = await start();
    expect(recallFile(work, PATH)).toBeUndefined();
    const read = await reviewFile(work, PATH);
    client.calls.length = 0;
    expect(recallFile(work, PATH)).toMatchObject({ content: bytes('text'), etag: read?.etag });
    expect(client.calls).toEqual([]);
  });

  it('is not transferred again while it is the stored one', async () => {
    const { work, asked, writer, key, time } = await start();
    const first = await reviewFile(work, PATH);
    const confirmed = work.tenant.cache.confirmedAt(key);
    expect(confirmed).toEqual({ wall: time.clock(), steady: time.clock() });
    await time.pause(5);
    expect(await reviewFile(work, PATH)).toMatchObject({ content: bytes('text'), etag: first?.etag });
    expect(work.tenant.cache.confirmedAt(key)).toEqual({ wall: time.clock(), steady: time.clock() });
    await writer.append(PATH, '+');
    const third = await reviewFile(work, PATH);
    expect(third?.content).toEqual(bytes('text+'));
    expect(recallFile(work, PATH)?.etag).toBe(third?.etag);
    expect(asked.map((options) => options?.ifNoneMatch)).toEqual([undefined, first?.etag, first?.etag]);
  });

  it('is let go once nothing is there, or something else was met there', async () => {
    const { work, writer, key } = await start();
    await reviewFile(work, PATH);
    await writer.append(PATH, '+');
    await readFile(work, PATH);
    expect(recallFile(work, PATH)).toBeUndefined();
    expect(work.tenant.cache.find(key)).toBeUndefined();
    const { etag } = (await reviewFile(work, PATH)) ?? {};
    await writer.remove(PATH);
    expect(await reviewFile(work, PATH)).toBeUndefined();
    expect(work.tenant.cache.find(key)).toBeUndefined();
    expect(work.tenant.sightings.knowsOther({ key, etag: etag as ETag })).toBe(true);
  });

  it('is not recalled where its bytes do not open under its path', async () => {
    const { work, key } = await start();
    await reviewFile(work, PATH);
    const held = work.tenant.cache.find(key);
    if (held === undefined) throw new Error('nothing is held');
    work.tenant.cache.hold(fileKey(work.tenant.layout, work.keyring.names, OTHER), held);
    expect(recallFile(work, OTHER)).toBeUndefined();
  });
});

describe('a version that was read', () => {
  it.each([
    [STAYS_AFTER_MS, false],
    [STAYS_AFTER_MS + 1, true],
  ])('certainly stays when it is older than a minute: %i ms, %s', async (ms, stays) => {
    const { work, key, time } = await start();
    await time.pause(ms);
    const found = await readFile(work, PATH);
    if (found === undefined) throw new Error('there is no file');
    expect(work.tenant.sightings.stays({ key, etag: found.stored.etag })).toBe(stays);
    expect(work.tenant.sightings.isSuperseded({ key, version: identityOf(found.stored.body) })).toBe(false);
  });

  it('certainly stays when an edit wrote it, however young it is', async () => {
    const { work, key, writer } = await start();
    await writer.append(PATH, '+');
    const found = await readFile(work, PATH);
    expect(work.tenant.sightings.stays({ key, etag: found?.stored.etag as ETag })).toBe(true);
  });

  it('tells nothing of its age where it was not transferred', async () => {
    const { work, key, time } = await start();
    const found = await reviewFile(work, PATH);
    await time.pause(STAYS_AFTER_MS + 1);
    await reviewFile(work, PATH);
    expect(work.tenant.sightings.stays({ key, etag: found?.etag as ETag })).toBe(false);
  });
});

it.each([
  [5n, undefined, 5n],
  [5n, 4n, 5n],
  [5n, 6n, 6n],
])('the later of the bounds %s and %s is %s', (bound, other, later) => {
  expect(laterOf(bound, other)).toBe(later);
});

describe('a version that is replaced or deleted', () => {
  const limits = [undefined, { files: 5, tenantBytes: 100 }];

  it.each(limits)('is exactly the one that the caller names (limits %j)', async (given) => {
    const { client: open, base } = await createSite();
    const client = await open(given && { limits: given });
    const first = await client.tree.create(PATH, bytes('1'));
    const second = await client.tree.replace(PATH, { content: bytes('2'), version: first });
    expect(await client.text(PATH)).toBe('2');
    expect((await base.head(fileKey(client.layout, (await client.open()).keyring.names, PATH)))?.etag).toBe(
      second,
    );
    client.calls.length = 0;
    const late = client.tree.replace(PATH, { content: bytes('3'), version: first });
    await expect(late).rejects.toMatchObject({ code: 'version_conflict', retry: 'never' });
    expect(await client.text(PATH)).toBe('2');
    await client.remove(PATH);
    const gone = client.tree.replace(PATH, { content: bytes('3'), version: second });
    await expect(gone).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await client.text(PATH)).toBeUndefined();
  });

  it.each([
    [undefined, ['put']],
    [limits[1], ['put']],
  ])('costs one PUT where it is held (limits %j)', async (given, verbs) => {
    const client = await (await createSite()).client(given && { limits: given });
    const version = await client.tree.create(PATH, bytes('1'));
    client.calls.length = 0;
    await client.tree.replace(PATH, { content: bytes('2'), version });
    expect(client.calls.map(({ verb }) => verb)).toEqual(verbs);
  });

  it('is let go where another process was first', async () => {
    const { client, work, writer, key } = await start();
    const version = (await reviewFile(work, PATH))?.etag as ETag;
    await writer.append(PATH, '+');
    const late = client.tree.replace(PATH, { content: bytes('3'), version });
    await expect(late).rejects.toMatchObject({ code: 'version_conflict' });
    expect(work.tenant.cache.find(key)).toBeUndefined();
  });

  it('is deleted as that version alone', async () => {
    const { client, writer } = await start();
    const version = (await client.tree.readVersion(PATH))?.etag;
    await writer.append(PATH, '+');
    const conflict = { code: 'version_conflict', retry: 'never' };
    await expect(client.tree.remove(PATH, { version })).rejects.toMatchObject(conflict);
    expect(await client.text(PATH)).toBe('text+');
    await client.create('/memories/d/e', 'x');
    await expect(client.tree.remove(at('/memories/d'), { version })).rejects.toMatchObject(conflict);
    await expect(client.tree.remove(at('/memories/none'), { version })).rejects.toMatchObject({
      code: 'not_found',
    });
    await client.tree.remove(PATH, { version: (await client.tree.readVersion(PATH))?.etag });
    expect(await client.paths()).toEqual(['/memories/d/e']);
  });

  it('tells of its progress, file by file where each takes a request, and at the end', async () => {
    const client = await (await createSite('unguarded')).client();
    for (const name of ['a', 'b', 'c']) await client.create(`/memories/d/${name}`, 'x');
    const heard: unknown[] = [];
    await client.tree.remove(at('/memories/d'), { onProgress: (progress) => heard.push(progress) });
    expect(heard).toEqual([1, 2, 3, 3].map((done) => ({ done, total: 3 })));
  });

  it('gives its room back at once', async () => {
    const client = await (await createSite()).client({ limits: { files: 3, tenantBytes: 30 } });
    for (const name of ['a', 'd/b', 'd/c']) await client.create(`/memories/${name}`, 'x'.repeat(10));
    await client.remove('/memories/d');
    await client.create('/memories/e', 'x'.repeat(20));
    await client.remove('/memories/a');
    await client.create('/memories/f', 'x'.repeat(10));
    await expect(client.create('/memories/g', 'x')).rejects.toMatchObject({ code: 'limit_exceeded' });
  });
});

it('a file that is overwritten may lie as deep as it lies, and is created no deeper than others', async () => {
  const client = await (await createSite()).client();
  const deep = at(`/memories/${Array.from({ length: 21 }, () => 'a').join('/')}`);
  await expect(client.tree.overwrite(deep, bytes('x'))).rejects.toMatchObject({
    code: 'invalid_path',
    details: { rule: 'too_many_segments' },
  });
  await client.tree.create(deep, bytes('x'), { wasThere: true });
  await client.tree.overwrite(deep, bytes('y'));
  expect(await client.text(deep)).toBe('y');
});
