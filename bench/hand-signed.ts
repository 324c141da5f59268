import { createHash, createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { S3Server } from '../infra/local/servers/s3-server.ts';

type SignedServer = Pick<S3Server, 'endpoint' | 'region' | 'accessKeyId' | 'secretAccessKey'>;

/** The shortest road to a bucket from Node: each request signed by hand and sent over connections that stay open. */
export interface HandSigned extends Disposable {
  get(key: string): Promise<Uint8Array>;
  put(key: string, body: Uint8Array): Promise<void>;
  /** Up to 1,000 keys. */
  remove(keys: readonly string[]): Promise<void>;
}

const UNSIGNED = 'UNSIGNED-PAYLOAD';

/** Keys must consist of letters, digits and `-_./`: nothing is escaped. */
export function handSigned(server: SignedServer, bucket: string): HandSigned {
  const { hostname, port, host } = new URL(server.endpoint);
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const sign = signer(server, host);
  const send = (call: {
    readonly method: string;
    readonly path: string;
    readonly query?: string;
    readonly body?: Uint8Array;
  }): Promise<Uint8Array> => {
    const { method, path, query = '', body } = call;
    const headers: Record<string, string | number> = sign(method, path, query);
    if (body !== undefined) headers['content-length'] = body.length;
    if (query !== '')
      headers['content-md5'] = createHash('md5')
        .update(body ?? '')
        .digest('base64');
    const url = query === '' ? path : `${path}?${query.replace(/=$/, '')}`;
    return new Promise((resolve, reject) => {
      const sent = request({ agent, hostname, port, method, path: url, headers }, (answer) => {
        const chunks: Uint8Array[] = [];
        answer.on('data', (chunk: Uint8Array) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(Buffer.concat(chunks));
          else reject(new Error(`${method} was answered with ${answer.statusCode}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  };
  return {
    get: (key) => send({ method: 'GET', path: `/${bucket}/${key}` }),
    async put(key, body) {
      await send({ method: 'PUT', path: `/${bucket}/${key}`, body });
    },
    async remove(keys) {
      const objects = keys.map((key) => `<Object><Key>${key}</Key></Object>`).join('');
      const body = new TextEncoder().encode(`<Delete><Quiet>true</Quiet>${objects}</Delete>`);
      await send({ method: 'POST', path: `/${bucket}`, query: 'delete=', body });
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

type Sign = (method: string, path: string, query: string) => Record<string, string>;

/** Signature version 4 with the key of the day kept. */
function signer({ region, accessKeyId, secretAccessKey }: SignedServer, host: string): Sign {
  let [day, key]: [string, Buffer | undefined] = ['', undefined];
  return (method, path, query) => {
    const now = new Date().toISOString().replace(/[:-]|\.\d+/g, '');
    if (key === undefined || !now.startsWith(day)) {
      day = now.slice(0, 8);
      key = [day, region, 's3', 'aws4_request'].reduce<Buffer>(hmac, Buffer.from(`AWS4${secretAccessKey}`));
    }
    const scope = `${day}/${region}/s3/aws4_request`;
    const signed = 'host;x-amz-content-sha256;x-amz-date';
    const canonical = `${method}\n${path}\n${query}\nhost:${host}\nx-amz-content-sha256:${UNSIGNED}\nx-amz-date:${now}\n\n${signed}\n${UNSIGNED}`;
    const hash = createHash('sha256').update(canonical).digest('hex');
    const signature = hmac(key, `AWS4-HMAC-SHA256\n${now}\n${scope}\n${hash}`).toString('hex');
    return {
      host,
      'x-amz-content-sha256': UNSIGNED,
      'x-amz-date': now,
      authorization: `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${signed}, Signature=${signature}`,
    };
  };
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
