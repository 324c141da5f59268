import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { createLayout, type ObjectKey, parseTenantId } from '../../../src/format/object-keys.ts';
import { openBaseStore } from '../../../src/store/open-store.ts';

it('a bucket elsewhere than at AWS is written to once it was seen to honour a condition', async () => {
  const asked: string[] = [];
  const server = createServer(({ method, url }, response) => {
    asked.push(`${method} ${url?.split('?')[0]}`);
    response.setHeader('etag', '"1"').end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const layout = createLayout({ prefix: '', tenant: parseTenantId('acme') });
  const key = `${layout.data}file` as ObjectKey;
  const base = await openBaseStore({
    store: { kind: 's3', bucket: 'b', prefix: '' },
    s3: { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, region: 'us-east-1' },
    credentials: { accessKeyId: 'id', secretAccessKey: 'secret' },
  });
  const written = base.forTenant(layout).put(key, new Uint8Array(1), { mode: 'create' });
  await expect(written).rejects.toMatchObject({
    code: 'misconfigured',
    message: expect.stringContaining('ignores If-None-Match'),
  });
  // A key that no other process tries decides, and goes again.
  const alone = asked[2]?.replace('PUT ', '') ?? '';
  expect(alone).toMatch(new RegExp(`^/b/${layout.probe}-[\\w-]{12}$`));
  const probe = `/b/${layout.probe}`;
  expect(asked).toEqual([`PUT ${probe}`, `PUT ${probe}`, `PUT ${alone}`, `PUT ${alone}`, `DELETE ${alone}`]);
  await base[Symbol.asyncDispose]();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});
