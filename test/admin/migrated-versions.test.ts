import { expect, it } from 'vitest';
import {
  createMigrationNotes,
  readMigratedVersions,
  saysThatFilesExpire,
} from '../../src/admin/migrated-versions.ts';
import { classLogicalName } from '../../src/format/object-keys.ts';
import type { ETag } from '../../src/store/port.ts';
import type { OpenVault } from '../../src/tree/session.ts';
import { atFirst, countCalls } from '../doubles/intercepted-store.ts';
import { putRecord } from '../support/key-operator.ts';
import { bytes, describeOnBothKinds, type TestClient, type TestSite } from '../support/test-vault.ts';

const DAY = 86_400_000;
const NONE: ReadonlySet<ETag> = new Set();
const etag = (text: string | number): ETag => `"${text}"` as ETag;
const version = (text: string | number, lastModified: number) => ({ etag: etag(text), lastModified });

async function opened(site: TestSite): Promise<{ client: TestClient; vault: OpenVault }> {
  const client = await site.client();
  const vault = await client.open();
  client.calls.length = 0;
  return { client, vault };
}

describeOnBothKinds('the notes of a migration', (newSite) => {
  it('lead from what it made to what somebody wrote, over any number of migrations', async () => {
    const { vault, client } = await opened(await newSite());
    for (const [made, replaced] of [
      ['b', version('a', 1)],
      ['c', version('b', 2)],
      ['d', version('c', 3)],
    ] as const) {
      const notes = createMigrationNotes(vault, NONE);
      await notes.note(etag(made), replaced);
      await notes.finish();
    }
    expect(countCalls(client.calls)).toEqual({ get: 3, put: 3 });
    const migrated = await readMigratedVersions(vault);
    expect(migrated.writtenVersion(version('d', 4))).toMatchObject(version('a', 1));
    // What was replaced is nowhere any more, and so forgotten.
    expect(migrated.writtenVersion(version('c', 3))).toEqual(version('c', 3));
    expect(migrated.writtenVersion(version('e', 5))).toEqual(version('e', 5));
  });

  it('cost nothing where nothing was made, and one write for every thousand', async () => {
    const { vault, client } = await opened(await newSite());
    const notes = createMigrationNotes(vault, NONE);
    await notes.finish();
    expect(client.calls).toEqual([]);
    for (let index = 0; index < 2_500; index++) await notes.note(etag(index), version(-index, index));
    await notes.finish();
    expect(countCalls(client.calls)).toEqual({ get: 3, put: 3 });
    const migrated = await readMigratedVersions(vault);
    expect(migrated.writtenVersion(version(0, 9))).toMatchObject(version(-0, 0));
    expect(migrated.writtenVersion(version(2_499, 9))).toMatchObject(version(-2_499, 2_499));
  });

  it('of two migrations at once are both kept', async () => {
    const site = await newSite();
    const [{ vault, client }, { vault: other }] = [await opened(site), await opened(site)];
    const theirs = createMigrationNotes(other, NONE);
    await theirs.note(etag('y'), version('x', 1));
    client.intercept(
      atFirst('put', async (proceed) => {
        await theirs.finish();
        return proceed();
      }),
    );
    const ours = createMigrationNotes(vault, NONE);
    await ours.note(etag('b'), version('a', 2));
    await ours.finish();
    const migrated = await readMigratedVersions(vault);
    expect(migrated.writtenVersion(version('b', 9))).toMatchObject(version('a', 2));
    expect(migrated.writtenVersion(version('y', 9))).toMatchObject(version('x', 1));
  });

  it('forget after a day what a later pass does not list any more', async () => {
    const site = await newSite();
    const { vault } = await opened(site);
    const first = createMigrationNotes(vault, NONE);
    for (const name of ['gone', 'there']) await first.note(etag(name), version(`old ${name}`, 1));
    await first.finish();
    for (const known of [true, false]) {
      const notes = createMigrationNotes(vault, new Set([etag('there')]));
      await notes.note(etag(`new ${known}`), version(`newer ${known}`, 2));
      await notes.finish();
      const migrated = await readMigratedVersions(vault);
      expect(migrated.writtenVersion(version('there', 9))).toMatchObject(version('old there', 1));
      expect(migrated.writtenVersion(version('gone', 9)).etag).toBe(etag(known ? 'old gone' : 'gone'));
      await site.time.pause(DAY);
    }
  });

  it('are as if they were not there when they cannot be read, and never stop a migration', async () => {
    const { vault, client } = await opened(await newSite());
    await putRecord(vault, 'journal', 'swept', bytes('of a later version'));
    const migrated = await readMigratedVersions(vault);
    expect(migrated.writtenVersion(version('b', 9))).toEqual(version('b', 9));
    const notes = createMigrationNotes(vault, NONE);
    await notes.note(etag('b'), version('a', 1));
    await notes.finish();
    expect(client.logged.map(({ fields }) => fields)).toEqual(Array(2).fill({ code: 'unsupported_format' }));
  });

  it('are taken where the marks of expiry lie', () => {
    expect(saysThatFilesExpire(classLogicalName('journal', 'expiry'))).toBe(true);
    expect(saysThatFilesExpire(classLogicalName('journal', 'register'))).toBe(false);
  });
});
