import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface AccessKey {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([\w-]+)\/(\d{8}\/[\w-]+\/[\w-]+\/aws4_request), ?SignedHeaders=([\w;-]+), ?Signature=([0-9a-f]{64})$/;
const MOST_SKEW_MS = 15 * 60_000;

/** Tells whether the request was signed with the key (AWS Signature Version 4, no query), a few minutes ago at most. */
export function isSignedWith({ accessKeyId, secretAccessKey }: AccessKey, request: SignedRequest): boolean {
  const [, id, scope = '', names = '', signature = ''] =
    AUTHORIZATION.exec(request.headers.authorization ?? '') ?? [];
  const time = String(request.headers['x-amz-date'] ?? '');
  if (id !== accessKeyId || !names.split(';').includes('host') || !isNow(time)) return false;
  const headers = names.split(';').map((name) => `${name}:${String(request.headers[name] ?? '').trim()}\n`);
  const canonical = [request.method, request.path, '', headers.join(''), names, sha256(request.body)];
  const text = ['AWS4-HMAC-SHA256', time, scope, sha256(canonical.join('\n'))].join('\n');
  const key = scope
    .split('/')
    .reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${secretAccessKey}`);
  return timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex'));
}

function isNow(time: string): boolean {
  const iso = time.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5');
  return Math.abs(Date.parse(iso) - Date.now()) <= MOST_SKEW_MS;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
