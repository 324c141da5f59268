import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSessionStore } from '../../../src/hosts/claude-agent-sdk.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import { guardDeletes } from '../../../src/store/guarded-delete.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openS3ObjectStore } from '../../../src/store/s3/s3-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { describeSessionStore } from '../../contracts/session-store.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../../stage/s3.ts';

const rootKey = randomBytes(32).toString('base64');

describeOnS3('the sessions of the Agent SDK', ['minio'], (server) => {
  const memories: Memory[] = [];
  let bucket: TestBucket;
  let plain: ObjectStore;
  let requests: string[] = [];
  beforeAll(async () => {
    bucket = await createTestBucket(server());
    plain = openS3ObjectStore({
      ...bucket.storeOptions,
      onRequest: ({ operation }) => requests.push(operation),
    });
  });
  afterAll(async () => {
    await Promise.all(memories.map((memory) => memory.close()));
    await plain?.[Symbol.asyncDispose]();
    await bucket?.remove();
  });

  async function open(tenant: string) {
    const memory = await openMemory({ store: guardDeletes(plain), tenant, rootKey });
    memories.push(memory);
    return createSessionStore(memory);
  }

  describeSessionStore('a store in a bucket', open);

  it('cost one PUT for an append to a session that the process knows', async () => {
    const store = await open('bill');
    const key = { projectKey: 'p', sessionId: 's' };
    await store.append(key, [{ type: 'x', uuid: 'a' }]);
    requests = [];
    for (const uuid of ['b', 'c', 'd']) await store.append(key, [{ type: 'x', uuid }]);
    expect(requests).toEqual(['PutObject', 'PutObject', 'PutObject']);
    const reader = await open('bill');
    requests = [];
    expect(await reader.load(key)).toHaveLength(4);
    expect(requests).toEqual(['ListObjectsV2', 'GetObject']);
  });
});
