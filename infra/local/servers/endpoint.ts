import { createHash, createHmac } from 'node:crypto';
import type { Environment } from '../programs/find-program.ts';
import type { Attempt, S3Server } from './s3-server.ts';

/** Uses a server of another operator, with the standard AWS variables for its credentials. */
export async function useEndpoint(env: Environment, endpoint: string): Promise<Attempt> {
  const accessKeyId = env['AWS_ACCESS_KEY_ID'];
  const secretAccessKey = env['AWS_SECRET_ACCESS_KEY'];
  if (!accessKeyId || !secretAccessKey) {
    return { reason: 'an endpoint needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY' };
  }
  const region = env['AWS_REGION'] || env['AWS_DEFAULT_REGION'] || 'us-east-1';
  const product = await answeringProduct(endpoint);
  if (product === undefined) return { reason: `nothing answers at ${endpoint}` };
  const access = { endpoint, region, accessKeyId, secretAccessKey };
  const server: S3Server = {
    name: /versity/i.test(product) ? 'versitygw' : 'minio',
    ...access,
    version:
      (await minioVersion(access)) ?? (product ? `(it calls itself ${product})` : '(version not told)'),
    how: `endpoint ${endpoint}`,
  };
  return { running: { server, stop: async () => {} } };
}

/** Reads the `Server` header of the server at an endpoint; undefined when no server answers. */
async function answeringProduct(endpoint: string): Promise<string | undefined> {
  try {
    const response = await fetch(endpoint, { redirect: 'manual', signal: AbortSignal.timeout(10_000) });
    await response.body?.cancel();
    return response.headers.get('server') ?? '';
  } catch {
    return undefined;
  }
}

type Access = Pick<S3Server, 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey'>;

/** Asks MinIO's administration interface for the version, if it is MinIO and these credentials may ask. */
async function minioVersion(access: Access): Promise<string | undefined> {
  try {
    const url = new URL('/minio/admin/v3/info', access.endpoint);
    const response = await fetch(url, {
      headers: signedHeaders(url, access),
      signal: AbortSignal.timeout(10_000),
    });
    const info = (await response.json()) as { servers?: readonly { version?: string }[] };
    return info.servers?.[0]?.version;
  } catch {
    return undefined;
  }
}

/** Signs a GET without a query by AWS Signature Version 4. */
function signedHeaders(url: URL, access: Access): Record<string, string> {
  const time = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '');
  const noBody = sha256('');
  const names = 'host;x-amz-content-sha256;x-amz-date';
  const lines = [`host:${url.host}`, `x-amz-content-sha256:${noBody}`, `x-amz-date:${time}`, ''];
  const request = ['GET', url.pathname, '', ...lines, names, noBody].join('\n');
  const parts = [time.slice(0, 8), access.region, 's3', 'aws4_request'];
  const scope = parts.join('/');
  const key = parts.reduce<string | Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    `AWS4${access.secretAccessKey}`,
  );
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n');
  const signature = createHmac('sha256', key).update(text).digest('hex');
  return {
    'x-amz-date': time,
    'x-amz-content-sha256': noBody,
    authorization: `AWS4-HMAC-SHA256 Credential=${access.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`,
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
