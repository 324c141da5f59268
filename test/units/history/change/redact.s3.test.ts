import { expect, it } from 'vitest';
import { createLayout, parseTenantId } from '../../../../src/format/object-keys.ts';
import { openAdmin } from '../../../../src/open/open-admin.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { pause } from '../../../../src/time.ts';
import { drawsOf } from '../../../runner/draws.ts';
import { amount } from '../../../runner/thorough.ts';
import { createTestBucket, describeOnS3, S3_SERVERS, type TestBucket } from '../../../stage/s3.ts';
import { whereTextIs } from '../../../stage/traces.ts';
import { createVersionedBucket } from '../../../stage/versioned-bucket.ts';

const ROOT_KEY = new Uint8Array(32).fill(8);
const SECRET = 'the card is 4929 1838';

function optionsOn({ storeOptions }: TestBucket) {
  const { bucket, credentials, ...s3 } = storeOptions;
  return { store: `s3://${bucket}/p`, s3, credentials, tenant: 'acme', rootKey: ROOT_KEY, actor: 'ann' };
}

/** All versions that the bucket keeps, in pages of a few. */
async function everything({ storeOptions }: TestBucket) {
  const versions = openS3ObjectStore({ ...storeOptions, versionsPerPage: 4 }).versions;
  const found = [];
  for await (const page of versions.below('p/')) {
    for (const { key, versionId, size } of page) {
      const body = size === undefined ? undefined : await versions.get(key, versionId);
      if (body !== undefined) found.push({ key, body });
      expect(body?.length).toBe(size);
    }
  }
  return found;
}

describeOnS3('redact, in a bucket that keeps versions', ['minio'], (server) => {
  it('leaves no byte of the text in any version, with any keyring', async () => {
    await using bucket = await createVersionedBucket(server());
    const options = optionsOn(bucket);
    await using memory = await openMemory({ ...options, history: { days: 30 } });
    await using admin = await openAdmin(options);
    const { files } = memory;
    const search = async () =>
      whereTextIs(
        await everything(bucket),
        { layout: createLayout({ prefix: 'p', tenant: parseTenantId('acme') }), rootKey: ROOT_KEY },
        SECRET,
      );
    await files.write('/memories/a/b', SECRET);
    await admin.rotate();
    await files.rename('/memories/a', '/memories/c');
    await files.write('/memories/c/b', 'clean');
    expect((await search()).length).toBeGreaterThan(2);

    const entries = await admin.history.list('/memories/c/b');
    const version = entries.find((entry) => entry.kind === 'written' && entry.size === SECRET.length);
    if (version === undefined) throw new Error('there is no version');
    // The versions of the record, and of the file at its old and at its new place.
    expect(await admin.history.redact(version)).toMatchObject({ records: 1, versionsRemoved: 3 });
    expect(await search()).toEqual([]);
    expect(await admin.history.redact(version)).toMatchObject({ records: 0, versionsRemoved: 0 });
    expect((await admin.verify()).findings).toEqual([]);
    expect((await memory.files.read('/memories/c/b'))?.text()).toBe('clean');
  });
});

describeOnS3('redact, in a bucket without versions', S3_SERVERS, (server) => {
  it('takes the text out of the record', async () => {
    await using bucket = await createTestBucket(server());
    const options = optionsOn(bucket);
    await using memory = await openMemory({ ...options, history: { days: 30 } });
    await using admin = await openAdmin(options);
    await memory.files.write('/memories/a', SECRET);
    await memory.files.write('/memories/a', 'clean');
    const version = (await admin.history.list('/memories/a')).at(-1);
    if (version === undefined) throw new Error('there is no version');
    expect(await admin.history.redact(version)).toMatchObject({ records: 1 });
    await expect(admin.history.read(version)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describeOnS3('redact, beside writers', ['minio'], (server) => {
  it.each(['overwrite', 'restore', 'undo'])(
    'leaves no byte, or names what stays, beside %s',
    async (writer) => {
      await using bucket = await createVersionedBucket(server());
      const options = optionsOn(bucket);
      await using memory = await openMemory({ ...options, history: { days: 30 } });
      await using other = await openMemory(options);
      await using admin = await openAdmin(options);
      const layout = createLayout({ prefix: 'p', tenant: parseTenantId('acme') });
      const draw = drawsOf(`redact beside ${writer}`);
      for (let round = 0; round < amount({ usual: 4, thorough: 12 }); round++) {
        const path = `/memories/${round}/a`;
        await memory.files.write(path, SECRET);
        await memory.files.write(path, 'clean', { actor: `bob ${round}` });
        if (writer === 'overwrite') await memory.files.write(path, SECRET);
        const version = (await admin.history.list(path)).at(-1) ?? expect.unreachable('it is kept');
        await other.files.read(path);
        const write = async (): Promise<unknown> => {
          await pause(draw() * 150);
          if (writer === 'overwrite') return other.files.write(path, 'clean again');
          if (writer === 'restore') return other.history.restore(version);
          return other.history.undo({ writer: `bob ${round}` });
        };
        const [redacted] = await Promise.allSettled([admin.history.redact(version), write()]);
        if (redacted.status === 'rejected') {
          const { reason, paths, versions } = redacted.reason.details;
          expect([reason, paths]).toEqual(['current', [path]]);
          await memory.files.write(path, 'clean, as was said');
          for (const named of [version.version, ...versions])
            await admin.history.redact({ path, version: named });
        }
        expect(await whereTextIs(await everything(bucket), { layout, rootKey: ROOT_KEY }, SECRET)).toEqual(
          [],
        );
      }
    },
    600_000,
  );
});
