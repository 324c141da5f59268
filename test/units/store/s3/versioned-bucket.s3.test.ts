import { PutBucketVersioningCommand } from '@aws-sdk/client-s3';
import { afterAll, expect, it } from 'vitest';
import { probeConditions } from '../../../../src/cli/keys/condition-probe.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { checkConditions } from '../../../../src/store/conditions.ts';
import { guardDeletes } from '../../../../src/store/guarded-delete.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { describeObjectStore } from '../../../contracts/object-store.ts';
import { THOROUGH } from '../../../runner/thorough.ts';
import { describeOnS3, type TestBucket } from '../../../stage/s3.ts';
import { describeEachClient } from '../../../stage/s3-clients.ts';
import { createVersionedBucket } from '../../../stage/versioned-bucket.ts';

const BODY = new TextEncoder().encode('sealed bytes');
const ROOT_KEY = new Uint8Array(32).fill(8);

describeEachClient('the contract, with versioning,', ['minio', 'versitygw'], ({ server, name, client }) => {
  let bucket: TestBucket;
  afterAll(() => bucket?.remove());

  describeObjectStore(
    `S3 with guarded deletes in a bucket that keeps versions (${name})`,
    async () => {
      bucket = await createVersionedBucket(server());
      return guardDeletes(openS3ObjectStore({ ...bucket.storeOptions, client }));
    },
    {
      lacks: [
        ...(name === 'versitygw' ? (['absence of what was deleted'] as const) : []),
        // A page of a listing and a delete of a thousand do not depend on the client where versions are kept. A usual
        // run has its thousand objects in a bucket without versions.
        ...(client === 'sdk' || !THOROUGH ? (['speed'] as const) : []),
      ],
    },
  );
});

describeOnS3('a bucket with versioning, before the first write,', ['minio', 'versitygw'], (server, name) => {
  /** VersityGW takes the mark of a delete for an object. */
  const isAtFault = name === 'versitygw';
  const write = (store: ObjectStore): Promise<unknown> =>
    checkConditions(store, 'p/probe' as ObjectKey).put('p/file' as ObjectKey, BODY, { mode: 'create' });
  const fault = {
    name: 'MemoryError',
    code: 'misconfigured',
    message: expect.stringMatching(
      /refuses to create an object where one was deleted.*versioning.*Use a bucket/,
    ),
  };

  it('is refused where it creates nothing behind a delete, also once versioning is suspended', async () => {
    await using bucket = await createVersionedBucket(server());
    const open = () => openS3ObjectStore(bucket.storeOptions);
    for (const Status of ['Enabled', 'Suspended'] as const) {
      const VersioningConfiguration = { Status };
      const { client, bucket: Bucket } = bucket;
      await client.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }));
      await using store = open();
      const writing = write(store);
      if (isAtFault) await expect(writing).rejects.toMatchObject(fault);
      else expect(await writing).toHaveProperty(Status === 'Enabled' ? 'etag' : 'conflict');
    }
  });

  it('is told by doctor, and to whoever writes to a memory', async () => {
    await using bucket = await createVersionedBucket(server());
    await using store = openS3ObjectStore({ ...bucket.storeOptions, guarded: true });
    const findings = [];
    const probe = { store, scratch: 'p/tenants/acme/probe-x', isTrustedGuarded: false };
    for await (const finding of probeConditions(probe)) findings.push(finding);
    expect(findings.filter(({ ok }) => !ok)).toEqual(
      isAtFault ? [expect.objectContaining({ what: expect.stringContaining('can be created again') })] : [],
    );

    const { bucket: at, credentials, ...s3 } = bucket.storeOptions;
    const options = { store: `s3://${at}/p`, s3, credentials, tenant: 'acme', rootKey: ROOT_KEY };
    await using memory = await openMemory(options);
    const written = await memory.execute({ command: 'create', path: '/memories/a', file_text: 'text' });
    expect(written).toMatchObject(isAtFault ? { isError: true, error: fault } : { isError: false });
  });
});
