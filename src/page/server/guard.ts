import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { foreignSiteOf } from './loopback.ts';

/** The reason for which a request is not served. */
export interface RequestRefusal {
  readonly status: number;
  readonly message: string;
}

/** Keeps everyone away from a server on loopback but the browser that was given its address. */
export interface Guard {
  /** The part of the address after `#`, which no browser sends. Good for one exchange. */
  readonly token: string;
  /** Refuses pages of other sites. */
  refusalOf(request: {
    readonly method?: string | undefined;
    readonly headers: IncomingHttpHeaders;
  }): RequestRefusal | undefined;
  /** Returns the cookie for the token, once; undefined for any other text, and when it was exchanged before. */
  exchange(token: unknown): string | undefined;
  /** Tells whether the cookie of an exchange comes with the request. */
  isKnown(headers: IncomingHttpHeaders): boolean;
}

const SECRET_BYTES = 32;

export function createGuard(port: number): Guard {
  // Cookies know no ports: each server has a name of its own.
  const cookieName = `sealed_memory_${port}`;
  const token = newSecret();
  const cookie = newSecret();
  let isExchanged = false;
  return {
    token,
    refusalOf({ method, headers }) {
      const foreign = foreignSiteOf(headers, port);
      if (foreign !== undefined) return forbidden(foreign);
      // Browsers name the origin of every POST.
      if (method === 'POST' && headers.origin === undefined) return forbidden('A POST must name its Origin.');
      const site = headers['sec-fetch-site'];
      if (method === 'POST' && site !== undefined && site !== 'same-origin') {
        return forbidden('Other sites are not served.');
      }
      return undefined;
    },
    exchange(given) {
      if (isExchanged || typeof given !== 'string' || !isSame(given, token)) return undefined;
      isExchanged = true;
      return `${cookieName}=${cookie}; Path=/; HttpOnly; SameSite=Strict`;
    },
    isKnown: ({ cookie: sent = '' }) =>
      sent.split('; ').some((part) => isSame(part, `${cookieName}=${cookie}`)),
  };
}

function forbidden(message: string): RequestRefusal {
  return { status: 403, message };
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(digestOf(one), digestOf(other));
}

function digestOf(text: string): Uint8Array {
  return createHash('sha256').update(text).digest();
}
