import { createHash, createHmac } from 'node:crypto';

export interface RequestToSign {
  readonly method: string;
  /** Path and query, percent-encoded as they go over the wire. */
  readonly url: string;
  /** Host, and every `x-amz-` header but the date. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bodyHash: string;
  readonly service: 's3' | 'sts';
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** The headers of `request` with an AWS Signature Version 4 of our own. */
export function signedHeaders(request: RequestToSign): Readonly<Record<string, string>> {
  const time = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '');
  const headers: Record<string, string> = { ...request.headers, 'x-amz-date': time };
  if (request.service === 's3') headers['x-amz-content-sha256'] = request.bodyHash;
  const names = Object.keys(headers).sort();
  const [path = '', query = ''] = request.url.split('?');
  const parameters = query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => (part.includes('=') ? part : `${part}=`));
  const canonical = [
    request.method,
    path,
    parameters.sort().join('&'),
    ...names.map((name) => `${name}:${headers[name]?.trim()}`),
    '',
    names.join(';'),
    request.bodyHash,
  ].join('\n');
  const parts = [time.slice(0, 8), request.region, request.service, 'aws4_request'];
  const key = parts.reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${request.secretAccessKey}`,
  );
  const text = ['AWS4-HMAC-SHA256', time, parts.join('/'), sha256(canonical)].join('\n');
  const signature = createHmac('sha256', key).update(text).digest('hex');
  const credential = `${request.accessKeyId}/${parts.join('/')}`;
  return {
    ...headers,
    authorization: `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${names.join(';')}, Signature=${signature}`,
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
