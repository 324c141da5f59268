import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { describeHistoryBill } from '../contracts/history-bill.ts';
import type { TestBucket } from '../stage/s3.ts';
import { describeEachClient } from '../stage/s3-clients.ts';
import { createVersionedBucket } from '../stage/versioned-bucket.ts';
import { countOperations } from './count-operations.ts';

describeEachClient('requests', ['minio'], ({ server, client }) => {
  let bucket: TestBucket;
  const open: AsyncDisposable[] = [];
  beforeAll(async () => {
    bucket = await createVersionedBucket(server());
  });
  afterAll(async () => {
    await Promise.all(open.map((each) => each[Symbol.asyncDispose]()));
    await bucket?.remove();
  });

  // As AWS is asked, whatever MinIO makes of it; once.
  for (const guarded of client === 'lean' ? [false, true] : [false]) {
    const name = guarded ? 'a server that honours conditions on deletes' : 'one that ignores them';
    describeHistoryBill(`${name}, counted as HTTP requests`, async () => {
      const { bucket: name, credentials, ...s3 } = bucket.storeOptions;
      const { bill, onRequest } = countOperations();
      const rootKey = randomBytes(32);
      return {
        guarded,
        probes: true,
        many: 30,
        versions: true,
        bill,
        async open(history, tenant = `history-${history}`) {
          const options = {
            store: `s3://${name}/${guarded}`,
            s3: { ...s3, client, guarded },
            credentials,
            onRequest,
            tenant,
            rootKey,
            ...(history === 'on' && { history: { days: 30 } }),
          };
          const [memory, admin] = [await openMemory(options), await openAdmin(options)];
          open.push(memory, admin);
          return { memory, admin };
        },
      };
    });
  }
});
