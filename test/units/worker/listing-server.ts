import { createServer } from 'node:http';

export interface ListingServer extends AsyncDisposable {
  readonly endpoint: string;
  /** The requests that it was sent, and by whom, in order. */
  readonly requests: readonly { readonly url: string; readonly accessKeyId: string | undefined }[];
}

/** An S3 server on the loopback that lists these keyrings to every caller, and denies all else. */
export async function listingServer(keys: readonly string[]): Promise<ListingServer> {
  const requests: ListingServer['requests'][number][] = [];
  const server = createServer(({ url = '', headers }, response) => {
    const accessKeyId = /Credential=([^/]+)/.exec(headers.authorization ?? '')?.[1];
    requests.push({ url, accessKeyId });
    const lists = url.includes('list-type=2') && url.includes('prefix=keyrings');
    response.writeHead(lists ? 200 : 403, { 'content-type': 'application/xml' });
    response.end(lists ? listing(keys) : '<Error><Code>AccessDenied</Code></Error>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listing(keys: readonly string[]): string {
  const entries = keys.map(
    (key) =>
      `<Contents><Key>${key}</Key><Size>400</Size><ETag>"e"</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>`,
  );
  return `<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated>${entries.join('')}</ListBucketResult>`;
}
