import { ListObjectVersionsCommand, PutBucketVersioningCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SHRED_MARKER } from '../../../../src/format/keyring-bytes.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { envRootKey } from '../../../../src/keys/env-root-key.ts';
import { openKeyring } from '../../../../src/keys/keyring.ts';
import { openAdmin } from '../../../../src/open/open-admin.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../../src/open/options/options.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import type { Memory } from '../../../../src/tool/memory-tool.ts';
import { createTestBucket, describeOnS3, S3_SERVERS, type TestBucket } from '../../../stage/s3.ts';

const ROOT_KEY = new Uint8Array(32).fill(6);
const PATHS = ['/memories/a', '/memories/b/c'];
const refusal = (code: string) => expect.objectContaining({ name: 'MemoryError', code });

describeOnS3('shredding a tenant', ['minio'], (server) => {
  let plain: TestBucket;
  let versioned: TestBucket;

  beforeAll(async () => {
    plain = await createTestBucket(server());
    versioned = await createTestBucket(server());
    await versioned.client.send(
      new PutBucketVersioningCommand({
        Bucket: versioned.bucket,
        VersioningConfiguration: { Status: 'Enabled' },
      }),
    );
  });
  afterAll(async () => {
    await plain?.remove();
    // A bucket that keeps versions is emptied of those as well.
    await removeVersions(versioned);
    await versioned?.remove();
  });

  const optionsFor = (bucket: TestBucket, tenant: string): MemoryOptions => {
    const { bucket: name, credentials, ...s3 } = bucket.storeOptions;
    return { store: `s3://${name}/p`, s3, credentials, tenant, rootKey: ROOT_KEY };
  };

  async function stock(options: MemoryOptions): Promise<Memory> {
    const memory = await openMemory(options);
    for (const path of PATHS) {
      const create = { command: 'create', path, file_text: `secret of ${path}` };
      expect(await memory.execute(create)).toMatchObject({ isError: false });
    }
    return memory;
  }

  async function keyringVersions(bucket: TestBucket, tenant: string): Promise<readonly Uint8Array[]> {
    const versions = openS3ObjectStore(bucket.storeOptions).versions;
    await using store = openS3ObjectStore(bucket.storeOptions);
    const key = `p/keyrings/${tenant}` as ObjectKey;
    const bodies: Uint8Array[] = [];
    for await (const page of versions.list(key)) {
      for (const { isCurrent } of page) {
        const found = isCurrent ? await store.get(key) : undefined;
        bodies.push(typeof found === 'object' ? found.body : new Uint8Array(0));
      }
    }
    return bodies;
  }

  it('makes every object unreadable, within a time to live, to a memory that had the keys in its cache', async () => {
    const options = optionsFor(plain, 'cached');
    const ttlMs = 3_000;
    await using memory = await stock({ ...options, keyring: { ttlMs } });
    await using admin = await openAdmin(options);
    const report = await admin.shred({ ttlMs });
    expect(report).toMatchObject({ marked: true, versionsRemoved: 0, objects: PATHS.length });
    for (const path of PATHS) {
      expect(await memory.execute({ command: 'view', path })).toMatchObject({
        isError: true,
        error: { code: 'key_unavailable' },
      });
    }
    expect(await memory.execute({ command: 'create', path: '/memories/new', file_text: 'x' })).toMatchObject({
      error: { code: 'key_unavailable' },
    });
    expect(await admin.keyStatus()).toEqual({ state: 'shredded' });
    await expect(admin.rotate()).rejects.toEqual(refusal('key_unavailable'));
  });

  it('removes every older version of the keyring from a bucket that keeps them, and nothing else', async () => {
    const options = optionsFor(versioned, 'acme');
    await using memory = await stock(options);
    await using neighbour = await stock(optionsFor(versioned, 'acme-2'));
    await using admin = await openAdmin(options);
    for (let time = 0; time < 3; time++) await admin.rotate({ force: true });
    expect(await keyringVersions(versioned, 'acme')).toHaveLength(4);

    expect(await admin.shred({ ttlMs: 0 })).toMatchObject({ marked: true, versionsRemoved: 4 });
    expect(await keyringVersions(versioned, 'acme')).toEqual([SHRED_MARKER]);
    expect(await admin.shred({ ttlMs: 0 })).toMatchObject({ marked: false, versionsRemoved: 0 });

    await expect(openMemory(options)).rejects.toMatchObject({ code: 'key_unavailable' });
    expect(await neighbour.execute({ command: 'view', path: PATHS[0] })).toMatchObject({ isError: false });
    expect(await keyringVersions(versioned, 'acme-2')).toHaveLength(1);
    await memory.close();
  });

  it('marks a tenant of which only older versions of the keyring are left', async () => {
    const options = optionsFor(versioned, 'deleted');
    await using admin = await openAdmin(options);
    await (await stock(options)).close();
    await using store = openS3ObjectStore(versioned.storeOptions);
    const keys: ObjectKey[] = [];
    for await (const { objects } of store.list({ prefix: 'p/tenants/deleted/' })) {
      keys.push(...objects.map(({ key }) => key));
    }
    for (const key of [...keys, 'p/keyrings/deleted' as ObjectKey]) await store.delete([{ key }]);

    // The keyring and the mark of its deletion.
    expect(await admin.shred({ ttlMs: 0 })).toMatchObject({ marked: true, versionsRemoved: 2, objects: 0 });
    expect(await keyringVersions(versioned, 'deleted')).toEqual([SHRED_MARKER]);
  });

  it('takes versions page by page', async () => {
    const options = optionsFor(versioned, 'paged');
    await (await stock(options)).close();
    await using admin = await openAdmin(options);
    for (let time = 0; time < 4; time++) await admin.rotate({ force: true });
    const versions = openS3ObjectStore({ ...versioned.storeOptions, versionsPerPage: 2 }).versions;
    const key = 'p/keyrings/paged' as ObjectKey;
    const pages: number[] = [];
    const seen = new Set<string>();
    for await (const page of versions.list(key)) {
      pages.push(page.length);
      for (const { versionId } of page) seen.add(versionId);
    }
    expect(pages.reduce((sum, length) => sum + length, 0)).toBe(5);
    expect(seen.size).toBe(5);
    expect(pages.length).toBeGreaterThan(2);
    const [first] = seen;
    for (let time = 0; time < 2; time++) await versions.remove(key, first ?? '');
    expect(await keyringVersions(versioned, 'paged')).toHaveLength(4);
  });

  it('leaves an older version that was kept elsewhere able to open its own copies', async () => {
    const options = optionsFor(plain, 'backup');
    await (await stock(options)).close();
    await using store = openS3ObjectStore(plain.storeOptions);
    const kept = await store.get('p/keyrings/backup' as ObjectKey);
    if (typeof kept !== 'object') throw new Error('no keyring is stored');
    await using admin = await openAdmin(options);
    await admin.shred({ ttlMs: 0 });
    const rootKeys = [envRootKey(ROOT_KEY)];
    expect((await openKeyring({ bytes: kept.body, tenant: 'backup', rootKeys })).epoch).toBe(1);
  });
});

describeOnS3('shredding a tenant in a bucket without versions', S3_SERVERS, (server) => {
  it('leaves the marker alone', async () => {
    await using bucket = await createTestBucket(server());
    const { bucket: name, credentials, ...s3 } = bucket.storeOptions;
    const options = { store: `s3://${name}`, s3, credentials, tenant: 'acme', rootKey: ROOT_KEY };
    await using memory = await openMemory(options);
    await memory.execute({ command: 'create', path: PATHS[0], file_text: 'secret' });
    await using admin = await openAdmin(options);
    expect(await admin.shred({ ttlMs: 0 })).toMatchObject({ marked: true, versionsRemoved: 0, objects: 1 });
    expect(await admin.keyStatus()).toEqual({ state: 'shredded' });
  });
});

async function removeVersions(bucket: TestBucket | undefined): Promise<void> {
  if (bucket === undefined) return;
  const versions = openS3ObjectStore(bucket.storeOptions).versions;
  const listed = await bucket.client.send(new ListObjectVersionsCommand({ Bucket: bucket.bucket }));
  for (const { Key, VersionId } of [...(listed.Versions ?? []), ...(listed.DeleteMarkers ?? [])]) {
    await versions.remove(Key as ObjectKey, VersionId ?? 'null');
  }
}
