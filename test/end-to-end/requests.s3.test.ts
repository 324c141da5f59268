import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { createLayout, parseTenantId } from '../../src/format/object-keys.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { checkConditions } from '../../src/store/conditions.ts';
import { guardDeletes } from '../../src/store/guarded-delete.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openS3ObjectStore } from '../../src/store/s3/s3-store.ts';
import { describeRequestBill } from '../contracts/request-bill.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../stage/s3.ts';
import { countOperations } from './count-operations.ts';

describeOnS3('requests', ['minio'], (server) => {
  let bucket: TestBucket;
  const stores: ObjectStore[] = [];
  beforeAll(async () => {
    bucket = await createTestBucket(server());
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store[Symbol.asyncDispose]()));
    await bucket?.remove();
  });

  describeRequestBill('a server that ignores conditions on deletes, counted as HTTP requests', async () => {
    const tenant = `t-${randomBytes(4).toString('hex')}`;
    const rootKey = randomBytes(32);
    const { probe } = createLayout({ prefix: '', tenant: parseTenantId(tenant) });
    return {
      guarded: false,
      probes: true,
      many: 60,
      async open() {
        const { onRequest, bill } = countOperations();
        const plain = openS3ObjectStore({ ...bucket.storeOptions, onRequest });
        stores.push(plain);
        return {
          memory: await openMemory({ store: guardDeletes(checkConditions(plain, probe)), tenant, rootKey }),
          bill,
        };
      },
    };
  });
});
