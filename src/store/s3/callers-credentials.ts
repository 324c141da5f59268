import { MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { inTime } from '../../time.ts';

/** Credentials of AWS; those without a session token are valid until AWS revokes them. */
export interface AwsCredentialIdentity {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

/** Gives valid credentials at every call, such as a provider of the AWS SDK; what the SDK passes goes to it unread. */
export type AwsCredentialIdentityProvider = (
  properties?: Record<string, unknown>,
) => Promise<AwsCredentialIdentity>;

/** Static credentials, or their provider. */
export type AwsCredentials = AwsCredentialIdentity | AwsCredentialIdentityProvider;

/** Makes a provider answer in time, as `answerOf` says; returns static credentials as they are. */
export function answeredInTime<T extends AwsCredentials | undefined>(credentials: T): T {
  if (typeof credentials !== 'function') return credentials;
  const provider: AwsCredentialIdentityProvider = (properties) => answerOf(() => credentials(properties));
  // The SDK marks providers that remember what they gave.
  return Object.assign(provider, credentials);
}

/**
 * Waits for credentials. @throws MemoryError `unavailable` where no answer came within 60 s, `access_denied` for one
 * without credentials.
 */
async function answerOf<T>(ask: () => Promise<T>): Promise<T> {
  const answer = await inTime(ask, { late: () => failed('unavailable', 'did not answer') });
  if (isIdentity(answer)) return answer;
  throw failed('access_denied', 'answered without any');
}

function failed(code: MemoryErrorCode, how: string): MemoryError {
  return new MemoryError(code, `The provider of the credentials ${how}: look at it.`);
}

function isIdentity(given: unknown): boolean {
  const { accessKeyId, secretAccessKey, expiration } = Object(given);
  const isDated = expiration === undefined || (expiration instanceof Date && !Number.isNaN(+expiration));
  return typeof accessKeyId === 'string' && typeof secretAccessKey === 'string' && isDated;
}

/** Credentials of one tenant that may be replaced while requests use them. */
export interface CredentialSource {
  /** Gives the credentials that were set last. */
  readonly provider: AwsCredentialIdentityProvider;
  /** Uses these credentials from now on, and returns true where they are others than before. */
  replace(credentials: AwsCredentials | undefined): boolean;
}

/** The time before their end at which credentials are asked for again, as by the AWS SDK. */
const RENEWAL_MS = 300_000;

/**
 * Shares what one run of `ask` gives among all callers until five minutes before its `expiration`, if it has one. After
 * a failure the next call asks again. `ask` must answer in time, as `answerOf` says.
 */
export function untilRenewal<T extends { readonly expiration?: Date }, A extends readonly unknown[]>(
  ask: (...args: A) => Promise<T>,
  clock: () => number = Date.now,
): (...args: A) => Promise<T> {
  let current: { readonly asked: Promise<T>; endsAt: number } | undefined;
  return (...args) => {
    if (current !== undefined && current.endsAt - clock() > RENEWAL_MS) return current.asked;
    const next = { asked: answerOf(() => ask(...args)), endsAt: Number.POSITIVE_INFINITY };
    current = next;
    next.asked.then(
      ({ expiration }) => {
        next.endsAt = expiration?.getTime() ?? Number.POSITIVE_INFINITY;
      },
      () => {
        if (current === next) current = undefined;
      },
    );
    return next.asked;
  };
}

/** The time to live that credentials are given, so that the SDK asks for them before each request. */
const UNTIL_NEXT_REQUEST_MS = 60_000;

export function createCredentialSource(first: AwsCredentials): CredentialSource {
  let given = first;
  const renewing = (credentials: AwsCredentials): AwsCredentialIdentityProvider =>
    untilRenewal(typeof credentials === 'function' ? credentials : async () => credentials);
  let current = renewing(first);
  return {
    async provider(properties) {
      const identity = await current(properties);
      return { ...identity, expiration: new Date(Date.now() + UNTIL_NEXT_REQUEST_MS) };
    },
    replace(credentials) {
      if (credentials === undefined || credentials === given) return false;
      given = credentials;
      current = renewing(credentials);
      return true;
    },
  };
}
