// Who asks: your web application signs a session, and the function, which holds the public key alone, believes it.
import { type KeyObject, sign, verify } from 'node:crypto';
import type { Unread } from './stream-turn.ts';

/** Signs that whoever bears this token may use the tenant's memory until `expires` (milliseconds since the epoch). */
export function signSession(privateKey: KeyObject, session: { tenant: string; expires: number }): string {
  const claims = Buffer.from(JSON.stringify([session.tenant, session.expires]));
  return `${claims.toString('base64url')}.${sign(null, claims, privateKey).toString('base64url')}`;
}

/** Makes an `authorize` that reads the token from `Authorization: Bearer`. */
export function createAuthorize(publicKey: KeyObject): (request: Unread) => string | undefined {
  return ({ headers }) => {
    const [, claims = '', signature = ''] =
      /^Bearer ([\w-]+)\.([\w-]+)$/.exec(headers['authorization'] ?? '') ?? [];
    const signed = Buffer.from(claims, 'base64url');
    if (!verify(null, signed, publicKey, Buffer.from(signature, 'base64url'))) return undefined;
    const [tenant, expires]: [string, number] = JSON.parse(signed.toString());
    return expires > Date.now() ? tenant : undefined;
  };
}
