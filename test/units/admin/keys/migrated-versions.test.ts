import { expect, it } from 'vitest';
import {
  createMigrationNotes,
  readMigratedVersions,
  saysThatObjectsExpire,
} from '../../../../src/admin/keys/migrated-versions.ts';
import { classLogicalName } from '../../../../src/format/object-keys.ts';
import type { ETag } from '../../../../src/store/port.ts';
import { encodeFields } from '../../../../src/tree/records/sealed-record.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { putRecord } from '../../../stage/key-operator.ts';
import { atFirst, countCalls } from '../../../stage/store-wrappers.ts';
import { bytes, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const DAY = 86_400_000;
/** Entries that are not of this version. */
const entries = [
  [1, '"a"', 1, 1],
  ['"b"', 1, 1, 1],
  ['"b"', '"a"', '1', 1],
  ['"b"', '"a"', 1],
];
const NONE: ReadonlySet<ETag> = new Set();
const etag = (text: string | number): ETag => `"${text}"` as ETag;
const version = (text: string | number, lastModified: number) => ({ etag: etag(text), lastModified });

async function opened(site: TestSite): Promise<{ client: TestClient; work: Work }> {
  const client = await site.client();
  const work = await client.open();
  client.calls.length = 0;
  return { client, work };
}

describeOnBothKinds('the notes of a migration', (newSite) => {
  it('lead from what it made to what a writer wrote, over any number of migrations', async () => {
    const { work, client } = await opened(await newSite());
    for (const [made, replaced] of [
      ['b', version('a', 1)],
      ['c', version('b', 2)],
      ['d', version('c', 3)],
    ] as const) {
      const notes = createMigrationNotes(work, NONE);
      await notes.note(etag(made), replaced);
      await notes.finish();
    }
    expect(countCalls(client.calls)).toEqual({ get: 3, put: 3 });
    const migrated = await readMigratedVersions(work);
    expect(migrated.writtenVersion(version('d', 4))).toMatchObject(version('a', 1));
    // A version that was replaced is nowhere any more, and so forgotten.
    expect(migrated.writtenVersion(version('c', 3))).toEqual(version('c', 3));
    expect(migrated.writtenVersion(version('e', 5))).toEqual(version('e', 5));
  });

  it('cost nothing where nothing was made, and one write for every thousand', async () => {
    const { work, client } = await opened(await newSite());
    const notes = createMigrationNotes(work, NONE);
    await notes.finish();
    expect(client.calls).toEqual([]);
    for (let index = 0; index < 2_500; index++) await notes.note(etag(index), version(-index, index));
    await notes.finish();
    expect(countCalls(client.calls)).toEqual({ get: 3, put: 3 });
    const migrated = await readMigratedVersions(work);
    expect(migrated.writtenVersion(version(0, 9))).toMatchObject(version(-0, 0));
    expect(migrated.writtenVersion(version(2_499, 9))).toMatchObject(version(-2_499, 2_499));
  });

  it('of two migrations at once are both kept', async () => {
    const site = await newSite();
    const [{ work, client }, { work: other }] = [await opened(site), await opened(site)];
    const theirs = createMigrationNotes(other, NONE);
    await theirs.note(etag('y'), version('x', 1));
    client.intercept(
      atFirst('put', async (proceed) => {
        await theirs.finish();
        return proceed();
      }),
    );
    const ours = createMigrationNotes(work, NONE);
    await ours.note(etag('b'), version('a', 2));
    await ours.finish();
    const migrated = await readMigratedVersions(work);
    expect(migrated.writtenVersion(version('b', 9))).toMatchObject(version('a', 2));
    expect(migrated.writtenVersion(version('y', 9))).toMatchObject(version('x', 1));
  });

  it('forget after a day what a later pass does not list any more', async () => {
    const site = await newSite();
    const { work } = await opened(site);
    const first = createMigrationNotes(work, NONE);
    for (const name of ['gone', 'there']) await first.note(etag(name), version(`old ${name}`, 1));
    await first.finish();
    for (const known of [true, false]) {
      const notes = createMigrationNotes(work, new Set([etag('there')]));
      await notes.note(etag(`new ${known}`), version(`newer ${known}`, 2));
      await notes.finish();
      const migrated = await readMigratedVersions(work);
      expect(migrated.writtenVersion(version('there', 9))).toMatchObject(version('old there', 1));
      expect(migrated.writtenVersion(version('gone', 9)).etag).toBe(etag(known ? 'old gone' : 'gone'));
      await site.time.pause(DAY);
    }
  });

  it('are as if they were not there when they cannot be read, and never stop a migration', async () => {
    const { work, client } = await opened(await newSite());
    await putRecord(work, 'journal', 'swept', bytes('malformed'));
    const migrated = await readMigratedVersions(work);
    expect(migrated.writtenVersion(version('b', 9))).toEqual(version('b', 9));
    expect(client.logged).toEqual([
      expect.objectContaining({ message: expect.stringContaining('files will expire later') }),
    ]);
    const notes = createMigrationNotes(work, NONE);
    await notes.note(etag('b'), version('a', 1));
    await notes.finish();
    expect(client.logged.map(({ fields }) => fields)).toEqual(Array(2).fill({ code: 'integrity' }));
  });

  it('are as if they were not there when they are malformed', async () => {
    const { work, client } = await opened(await newSite());
    const shapes = [
      {},
      { versions: {} },
      { versions: ['"b"'] },
      { versions: [5] },
      ...entries.map((each) => ({ versions: [each] })),
    ];
    for (const shape of shapes) {
      await putRecord(work, 'journal', 'swept', encodeFields(shape));
      const migrated = await readMigratedVersions(work);
      expect(migrated.writtenVersion(version('b', 9))).toEqual(version('b', 9));
    }
    const codes = client.logged.map(({ fields }) => fields);
    expect(codes).toEqual(shapes.map(() => ({ code: 'integrity' })));
  });

  it('are written at the thousandth version, and one write after the other', async () => {
    const { work, client } = await opened(await newSite());
    const notes = createMigrationNotes(work, NONE);
    const noteFrom = (first: number): Promise<unknown> =>
      Promise.all(
        Array.from({ length: 1_000 }, (_, index) =>
          notes.note(etag(first + index), version(-first - index, first + index)),
        ),
      );
    const later = Promise.withResolvers<unknown>();
    client.intercept(
      atFirst('put', async (proceed) => {
        later.resolve(noteFrom(1_000));
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
        return proceed();
      }),
    );
    await noteFrom(0);
    expect(countCalls(client.calls)['put']).toBeGreaterThan(0);
    await later.promise;
    expect(countCalls(client.calls)).toEqual({ get: 2, put: 2 });
    const migrated = await readMigratedVersions(work);
    for (const index of [0, 999, 1_000, 1_999]) {
      expect(migrated.writtenVersion(version(index, 9_999)).lastModified).toBe(index);
    }
  });

  it('keep the 60,000 versions that were written longest ago', async () => {
    const { work } = await opened(await newSite());
    const since = work.tenant.clock();
    const versions = Array.from({ length: 59_999 }, (_, index) => [`"${index}"`, '"w"', 10 + index, since]);
    await putRecord(work, 'journal', 'swept', encodeFields({ versions }));
    const notes = createMigrationNotes(work, NONE);
    await notes.note(etag('newest'), version('w', 100_000));
    await notes.note(etag('oldest'), version('w', 1));
    await notes.finish();
    const migrated = await readMigratedVersions(work);
    const kept = ['oldest', 0, 59_998, 'newest'].filter((name) => {
      return migrated.writtenVersion(version(name, 200_000)).lastModified < 200_000;
    });
    expect(kept).toEqual(['oldest', 0, 59_998]);
  });

  it('are left after five attempts that others were faster at, and the log says so', async () => {
    const site = await newSite();
    const { work, client } = await opened(site);
    let puts = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put') {
        const content = encodeFields({ versions: [], puts: ++puts });
        await putRecord(
          { ...work, tenant: { ...work.tenant, store: site.base } },
          'journal',
          'swept',
          content,
        );
      }
      return proceed();
    });
    const notes = createMigrationNotes(work, NONE);
    await notes.note(etag('b'), version('a', 1));
    await notes.finish();
    expect(puts).toBe(5);
    expect(client.logged.map(({ fields }) => fields)).toEqual([{ code: 'unavailable' }]);
  });

  it('throw what is no failure of the store', async () => {
    const { work, client } = await opened(await newSite());
    client.intercept((call, proceed) =>
      call.verb === 'put' ? Promise.reject(new TypeError('a mistake')) : proceed(),
    );
    const notes = createMigrationNotes(work, NONE);
    await notes.note(etag('b'), version('a', 1));
    await expect(notes.finish()).rejects.toThrow('a mistake');
  });

  it('are taken where the marks of expiry lie', () => {
    expect(saysThatObjectsExpire(classLogicalName('journal', 'expiry'))).toBe(true);
    const id = `${'a'.repeat(43)}_${'0'.repeat(11)}_${'b'.repeat(8)}`;
    expect(saysThatObjectsExpire(classLogicalName('history', id))).toBe(true);
    expect(saysThatObjectsExpire(classLogicalName('journal', 'register'))).toBe(false);
  });
});
