import { NodeHttpHandler } from '@smithy/node-http-handler';
import { afterEach, expect, it, vi } from 'vitest';
import { openS3Connections } from '../../../../src/store/s3/connection.ts';
import { openS3ObjectStore } from '../../../../src/store/s3/s3-store.ts';
import { S3_CLIENTS } from '../../../stage/s3-clients.ts';

const destroyed = vi.spyOn(NodeHttpHandler.prototype, 'destroy');
afterEach(() => destroyed.mockClear());

it.each(S3_CLIENTS)('closes the connections that it opened, and no others: %s', async (client) => {
  const place = { client, bucket: 'b', region: 'eu-central-1' };
  await openS3ObjectStore(place)[Symbol.asyncDispose]();
  expect(destroyed).toHaveBeenCalledTimes(1);
  const connections = openS3Connections();
  await openS3ObjectStore({ ...place, connections })[Symbol.asyncDispose]();
  expect(destroyed).toHaveBeenCalledTimes(1);
});
