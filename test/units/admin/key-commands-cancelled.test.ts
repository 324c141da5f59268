import { expect, it } from 'vitest';
import { createMigrationNotes, readMigratedVersions } from '../../../src/admin/keys/migrated-versions.ts';
import { rewrapRoot, rotateKey } from '../../../src/admin/keys/rotate.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import type { ETag } from '../../../src/store/port.ts';
import { createOperator } from '../../stage/key-operator.ts';
import { createSite, TEST_ROOT_KEY } from '../../stage/test-tree.ts';

const HOUR = 3_600_000;
const aborted = { signal: AbortSignal.abort() };
const etag = (text: string): ETag => `"${text}"` as ETag;

it('a rotation and a change of the root key end with their caller', async () => {
  const site = await createSite();
  const { editor, versions } = await createOperator(site);
  const { clock, randomBytes: random } = site.time;
  const rotating = rotateKey({ editor, clock, random }, aborted);
  await expect(rotating).rejects.toMatchObject({ code: 'aborted' });
  const rootKeys = [envRootKey(TEST_ROOT_KEY)];
  const wrapping = rewrapRoot({ editor, rootKeys }, { ...aborted, force: true });
  await expect(wrapping).rejects.toMatchObject({ code: 'aborted' });
  expect(await versions()).toEqual([1]);
});

it('notes of a migration are written though its caller cancels, and stay for a day though no listing has them', async () => {
  const site = await createSite();
  const client = await site.client();
  const work = await client.open();
  const note = async (made: string, replaced: string): Promise<void> => {
    const notes = createMigrationNotes({ ...work, call: aborted }, new Set());
    await notes.note(etag(made), { etag: etag(replaced), lastModified: 1 });
    await notes.finish();
  };
  const isKnown = async (made: string): Promise<boolean> => {
    const object = { etag: etag(made), lastModified: 2 };
    return (await readMigratedVersions(work)).writtenVersion(object) !== object;
  };
  await note('b', 'a');
  await site.time.pause(24 * HOUR - 1);
  await note('y', 'x');
  expect(await isKnown('b')).toBe(true);
  await site.time.pause(1);
  await note('z', 'w');
  expect([await isKnown('b'), await isKnown('y'), await isKnown('z')]).toEqual([false, true, true]);
});

it('notes that are damaged are as if they were not there, and a store that fails is no such thing', async () => {
  const site = await createSite();
  const client = await site.client();
  const work = await client.open();
  const key = 'tenants/acme/journal/swept' as ObjectKey;
  await site.base.put(key, new Uint8Array(400), { mode: 'overwrite' });
  const object = { etag: etag('a'), lastModified: 1 };
  expect((await readMigratedVersions(work)).writtenVersion(object)).toBe(object);
  await expect(readMigratedVersions({ ...work, call: aborted })).rejects.toMatchObject({ code: 'aborted' });
});
