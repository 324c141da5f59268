import type { STSClient } from '@aws-sdk/client-sts';
import { loadPeer, MemoryError } from '../errors.ts';
import { parseTenantId, type TenantId } from '../format/object-keys.ts';
import { createRecent } from '../recent.ts';
import { redactedCause } from '../store/failures.ts';
import { answeredInTime, untilRenewal } from '../store/s3/callers-credentials.ts';
import { inTime, untilAborted } from '../time.ts';

/** Temporary credentials that reach one tenant's objects and keys, and no other tenant's. */
export interface TenantCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  readonly expiration: Date;
}

/** Gives valid credentials at every call; usable wherever the AWS SDK takes a provider. */
export type TenantCredentialProvider = () => Promise<TenantCredentials>;

export interface CredentialsOptions {
  readonly sts: Pick<STSClient, 'send'>;
  /** The role whose permissions are bound to the session tag `tenant`. */
  readonly roleArn: string;
  /** Milliseconds since the epoch. */
  readonly clock?: () => number;
}

const SESSION_SECONDS = 3_600;
/** The time for all attempts of one request, in milliseconds. */
const WITHIN_MS = 10_000;
const MOST_PROVIDERS = 10_000;
const REFUSALS: ReadonlySet<string> = new Set(['AccessDenied', 'AccessDeniedException']);

/**
 * Makes one provider for each tenant, the same one at every call; concurrent calls of a provider share one request.
 * Above 10,000 tenants the least recently used provider is evicted.
 *
 * The returned function throws MemoryError `misconfigured` for a malformed tenant id.
 */
export function createTenantCredentials(
  options: CredentialsOptions,
): (tenant: string) => TenantCredentialProvider {
  const providers = createRecent<TenantId, TenantCredentialProvider>({ most: MOST_PROVIDERS });
  return (name) => {
    const tenant = parseTenantId(name);
    const provider = providers.get(tenant) ?? untilRenewal(() => assumeRole(options, tenant), options.clock);
    providers.set(tenant, provider);
    return provider;
  };
}

/**
 * Finds the provider of a tenant's credentials and asks it, so that a refusal is known before anything else; undefined
 * where all tenants are reached with the credentials of the process.
 *
 * @throws MemoryError `access_denied` where the deployment has no provider for the tenant, or none that gives
 * credentials; `unavailable` where it does not answer within 60 s; `aborted`.
 */
export async function credentialsOf(
  given: ((tenant: TenantId) => TenantCredentialProvider) | undefined,
  tenant: TenantId,
  signal: AbortSignal,
): Promise<TenantCredentialProvider | undefined> {
  if (given === undefined) return undefined;
  const provider: unknown = given(tenant);
  // Without a provider the tenant would be reached with the credentials of the process, which reach others, too.
  if (typeof provider !== 'function') {
    if (provider instanceof Promise) provider.catch(() => {});
    throw new MemoryError('access_denied', 'there is no provider of credentials for the tenant');
  }
  const answered = provider as TenantCredentialProvider;
  await untilAborted(answeredInTime(answered)(), signal);
  return answered;
}

/**
 * Asks STS for credentials of the tenant.
 *
 * @throws MemoryError `access_denied` when the role may not be assumed for the tenant, else `unavailable`.
 */
async function assumeRole(
  { sts, roleArn }: CredentialsOptions,
  tenant: TenantId,
): Promise<TenantCredentials> {
  const { AssumeRoleCommand } = await loadPeer(() => import('./sts-sdk.ts'), {
    name: '@aws-sdk/client-sts',
    of: 'a role for each tenant',
  });
  const command = new AssumeRoleCommand({
    RoleArn: roleArn,
    RoleSessionName: `sealed-memory-${tenant}`.slice(0, 64),
    DurationSeconds: SESSION_SECONDS,
    Tags: [{ Key: 'tenant', Value: tenant }],
  });
  const { Credentials } = await inTime(
    () => sts.send(command, { abortSignal: AbortSignal.timeout(WITHIN_MS) }),
    { late: () => new Error(), ms: WITHIN_MS },
  ).catch((error: unknown) => {
    // The words of STS name the roles, the session and the account.
    const cause = redactedCause(error, 'STS');
    throw REFUSALS.has(cause.name)
      ? new MemoryError('access_denied', 'the tenant role may not be assumed', { cause })
      : new MemoryError('unavailable', 'no credentials for the tenant were given', { cause });
  });
  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = Credentials ?? {};
  if (!AccessKeyId || !SecretAccessKey || !SessionToken || !Expiration) {
    throw new MemoryError('unavailable', 'the token service gave incomplete credentials');
  }
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken,
    expiration: Expiration,
  };
}
