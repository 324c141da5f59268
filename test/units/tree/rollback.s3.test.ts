import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createLayout, parseTenantId } from '../../../src/format/object-keys.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import { openBaseStore } from '../../../src/store/open-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { createTestBucket, describeOnS3, S3_SERVERS, type TestBucket } from '../../stage/s3.ts';

const ROOT_KEY = new Uint8Array(32).fill(9);
const PUT_BACK = { error: { code: 'integrity', details: { reason: 'put_back' } } };

describeOnS3('an older version that is put back into the bucket', S3_SERVERS, (server) => {
  let bucket: TestBucket;
  let base: Awaited<ReturnType<typeof openBaseStore>>;

  beforeAll(async () => {
    bucket = await createTestBucket(server());
    const { endpoint, region, credentials } = bucket.storeOptions;
    base = await openBaseStore({
      store: { kind: 's3', bucket: bucket.bucket, prefix: '' },
      s3: { endpoint, region, forcePathStyle: true },
      credentials,
    });
  });
  afterAll(async () => {
    await base?.[Symbol.asyncDispose]();
    await bucket?.remove();
  });

  /** A memory with a history of its own, as a new process has it. */
  const start = (tenant: string): Promise<Memory> =>
    openMemory({
      store: base.forTenant(createLayout({ prefix: '', tenant: parseTenantId(tenant) })),
      tenant,
      rootKey: ROOT_KEY,
    });

  /** Keeps every file of the tenant as it is now; the answer puts them all back. */
  async function keep(tenant: string): Promise<() => Promise<void>> {
    const { client, bucket: Bucket } = bucket;
    const listed = await client.send(new ListObjectsV2Command({ Bucket, Prefix: `tenants/${tenant}/data/` }));
    const kept = await Promise.all(
      (listed.Contents ?? []).map(async ({ Key }) => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
        return { Key, Body: (await Body?.transformToByteArray()) ?? new Uint8Array() };
      }),
    );
    expect(kept.length).toBeGreaterThan(0);
    return async () => {
      for (const { Key, Body } of kept) await client.send(new PutObjectCommand({ Bucket, Key, Body }));
    };
  }

  const CASES = {
    'an edit': { command: 'insert', path: '/memories/d/f', insert_line: 0, insert_text: 'new' },
    'a delete': { command: 'delete', path: '/memories/d/f' },
    'the delete of its directory': { command: 'delete', path: '/memories/d' },
    'its rename': { command: 'rename', old_path: '/memories/d/f', new_path: '/memories/g' },
    'the rename of its directory': { command: 'rename', old_path: '/memories/d', new_path: '/memories/e' },
  };

  for (const [at, [title, command]] of Object.entries(CASES).entries()) {
    it(`is refused after ${title}, and a new process reads it`, async () => {
      const tenant = `tenant-${at}`;
      await using memory = await start(tenant);
      const view = { command: 'view', path: '/memories/d/f' };
      await memory.execute({ command: 'create', path: '/memories/d/f', file_text: 'old\n' });
      const putBack = await keep(tenant);
      expect(await memory.execute(command)).toMatchObject({ isError: false });
      await putBack();
      expect(await memory.execute(view)).toMatchObject({ isError: true, ...PUT_BACK });

      await using newProcess = await start(tenant);
      const answer = await newProcess.execute(view);
      expect(answer.isError).toBe(false);
      expect(answer.content).toContain('old');
    });
  }
});
