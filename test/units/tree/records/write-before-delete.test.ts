import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { classKey, fileKey, type ObjectKey } from '../../../../src/format/object-keys.ts';
import type { Changes, ETag, ListedObject, ObjectStore } from '../../../../src/store/port.ts';
import { readRecord, writeRecord } from '../../../../src/tree/records/sealed-record.ts';
import { changeWithRecords, writeBeforeDelete } from '../../../../src/tree/records/write-before-delete.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { at, bytes, createSite, withTenant } from '../../../stage/test-tree.ts';

type ChangeAll = NonNullable<ObjectStore['changeAll']>;

const NAME = { cls: 'journal', id: 'note' } as const;
const READ = { ...NAME, maxBytes: 1_024 };
const PATHS = [at('/memories/a'), at('/memories/b')];

/** A process with two files, on a store that makes several changes as one, and what it was asked to change. */
async function start() {
  const site = await createSite();
  const client = await site.client();
  for (const path of PATHS) await client.create(path, 'x');
  const work = await client.open();
  const leaving: ListedObject[] = [];
  for (const path of PATHS) {
    const key = fileKey(client.layout, work.keyring.names, path);
    const meta = await site.base.head(key);
    if (meta === undefined) throw new Error('there is no file');
    leaving.push({ ...meta, key });
  }
  const changes: Changes[] = [];
  /** The work on that store, before whose first changes `meet` stands. */
  const joined = (meet: (nth: number) => ReturnType<ChangeAll> | undefined = () => undefined): Work => {
    const changeAll: ChangeAll = async (change, options) => {
      changes.push(change);
      const { changeAll: below } = site.base;
      const met = await meet(changes.length);
      if (met !== undefined) return met;
      if (below === undefined) throw new Error('the store makes one change at a time');
      return below(change, options);
    };
    return withTenant(work, { store: { ...work.tenant.store, changeAll } });
  };
  client.calls.length = 0;
  const deletesOf = () => changes.map(({ deletes }) => deletes);
  return { ...site, client, work, joined, changes, leaving, deletesOf };
}

function diskFull(): MemoryError {
  return new MemoryError('unavailable', 'full', { details: { reason: 'disk_full' } });
}

async function textOf(work: Work): Promise<string | undefined> {
  const record = await readRecord(work, READ);
  return record && new TextDecoder().decode(record.content);
}

describe('a record that is written before a delete', () => {
  it('is one PUT where the store makes one change at a time', async () => {
    const { client, work, leaving } = await start();
    const record = { content: bytes('text'), base: undefined, leaving };
    expect(await writeBeforeDelete(work, NAME, record)).toBe(true);
    expect(client.calls.map(({ verb }) => verb)).toEqual(['put']);
    expect(await textOf(work)).toBe('text');
    expect(await writeBeforeDelete(work, NAME, record)).toBe(false);
  });

  it('is one change, which deletes nothing and may take the room for deletes', async () => {
    const { joined, changes, leaving, client } = await start();
    const work = joined();
    expect(await writeBeforeDelete(work, NAME, { content: bytes('text'), base: undefined, leaving })).toBe(
      true,
    );
    expect(changes).toMatchObject([{ deletes: [], forDeletes: true, puts: [{ mode: 'create' }] }]);
    expect(await textOf(work)).toBe('text');
    expect(await client.paths()).toEqual(PATHS);
  });

  it('replaces the version that its writer knows', async () => {
    const { joined, changes } = await start();
    const work = joined();
    const first = await writeRecord(work, NAME, { content: bytes('1'), base: undefined });
    if ('conflict' in first) throw new Error('the record is there');
    expect(await writeBeforeDelete(work, NAME, { content: bytes('2'), base: first.etag })).toBe(true);
    expect(changes[0]?.puts).toMatchObject([{ mode: { ifMatch: first.etag } }]);
    expect(await textOf(work)).toBe('2');
  });

  it('is left where another process was first', async () => {
    const { joined, leaving, deletesOf } = await start();
    const work = joined();
    await writeRecord(work, NAME, { content: bytes('theirs'), base: undefined });
    const record = { content: bytes('mine'), base: undefined, leaving };
    expect(await writeBeforeDelete(work, NAME, record)).toBe(false);
    expect(deletesOf()).toEqual([[]]);
    expect(await textOf(work)).toBe('theirs');
  });

  it.each([1, 2])(
    'takes the room of a file that goes on a full disk, of the first that gives enough: %i',
    async (full) => {
      const { joined, leaving, deletesOf, client } = await start();
      const work = joined((nth) => (nth <= full ? Promise.reject(diskFull()) : undefined));
      const record = { content: bytes('text'), base: undefined, leaving };
      expect(await writeBeforeDelete(work, NAME, record)).toBe(true);
      const alone = leaving.map(({ key, etag }) => [{ key, ifMatch: etag }]);
      expect(deletesOf()).toEqual([[], ...alone.slice(0, full)]);
      expect(await client.paths()).toEqual(PATHS.filter((_, index) => index !== full - 1));
      expect(await textOf(work)).toBe('text');
    },
  );

  it('passes over a file that another process changed', async () => {
    const { joined, leaving, deletesOf, client } = await start();
    const work = joined((nth) => (nth === 1 ? Promise.reject(diskFull()) : undefined));
    await client.append(PATHS[0] ?? '', 'more');
    expect(await writeBeforeDelete(work, NAME, { content: bytes('text'), base: undefined, leaving })).toBe(
      true,
    );
    expect(deletesOf()).toHaveLength(3);
    expect(await client.paths()).toEqual(PATHS.slice(0, 1));
  });

  it('is left where another process was first on a full disk', async () => {
    const { joined, leaving, deletesOf, client } = await start();
    const work = joined((nth) => (nth === 1 ? Promise.reject(diskFull()) : undefined));
    await writeRecord(work, NAME, { content: bytes('theirs'), base: undefined });
    await client.append(PATHS[0] ?? '', 'more');
    const record = { content: bytes('mine'), base: undefined, leaving };
    expect(await writeBeforeDelete(work, NAME, record)).toBe(false);
    expect(deletesOf()).toHaveLength(2);
  });

  it.each([0, 2])('fails on a disk that stays full, whatever goes: %i files', async (files) => {
    const { joined, leaving, changes } = await start();
    const full = diskFull();
    const work = joined(() => Promise.reject(full));
    const record = { content: bytes('text'), base: undefined, ...(files > 0 && { leaving }) };
    await expect(writeBeforeDelete(work, NAME, record)).rejects.toBe(full);
    expect(changes).toHaveLength(1 + files);
  });

  it('fails at once where something else went wrong', async () => {
    const { joined, leaving, changes } = await start();
    const work = joined(() => Promise.reject(new MemoryError('access_denied', 'no')));
    await expect(
      writeBeforeDelete(work, NAME, { content: bytes('text'), base: undefined, leaving }),
    ).rejects.toMatchObject({ code: 'access_denied' });
    expect(changes).toHaveLength(1);
  });
});

describe('files that are deleted together with records of them', () => {
  it('go in the change that creates or replaces the records', async () => {
    const { work, base, leaving, client, changes, joined } = await start();
    const store = joined().tenant.store.changeAll;
    if (store === undefined) throw new Error('the store makes one change at a time');
    const first = await writeRecord(work, NAME, { content: bytes('1'), base: undefined });
    if ('conflict' in first) throw new Error('the record is there');
    const records = [
      { ...NAME, content: bytes('2'), base: first.etag },
      { cls: 'journal', id: 'other', content: bytes('3') },
    ] as const;
    const deletes = leaving.slice(0, 1).map(({ key, etag }) => ({ key, ifMatch: etag }));
    expect(await changeWithRecords(work, store, { records, deletes, forDeletes: true })).toEqual([]);
    expect(changes).toMatchObject([
      { deletes, forDeletes: true, puts: [{ mode: { ifMatch: first.etag } }, { mode: 'create' }] },
    ]);
    expect(await textOf(work)).toBe('2');
    expect(await base.head(classKey(client.layout, 'journal', 'other'))).toBeDefined();
    expect(await client.paths()).toEqual(PATHS.slice(1));
  });

  it('stay where one of the records is another version by now', async () => {
    const { work, leaving, client, joined } = await start();
    const store = joined().tenant.store.changeAll;
    if (store === undefined) throw new Error('the store makes one change at a time');
    const records = [{ ...NAME, content: bytes('2'), base: 'gone' as ETag }];
    const deletes: { readonly key: ObjectKey }[] = leaving;
    const key = classKey(client.layout, NAME.cls, NAME.id);
    expect(await changeWithRecords(work, store, { records, deletes })).toEqual([
      { key, conflict: 'missing' },
    ]);
    expect(await client.paths()).toEqual(PATHS);
  });
});
