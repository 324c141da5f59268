import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { startS3Proxy } from './s3-proxy.ts';

describe('a proxy before an S3 server', () => {
  it('is settled only when it has read what clients sent before they died', async () => {
    await using proxy = await startS3Proxy('http://127.0.0.1:9');
    proxy.react(() => 'lose_request');
    for (let sent = 1; sent <= 20; sent++) {
      const client = connect(Number(new URL(proxy.endpoint).port), '127.0.0.1');
      client.on('error', () => {});
      await once(client, 'connect');
      client.end('PUT /bucket/key HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\ntext');
      await proxy.settled();
      expect(proxy.requests).toHaveLength(sent);
    }
  });
});
