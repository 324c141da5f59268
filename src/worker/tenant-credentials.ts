import type { STSClient } from '@aws-sdk/client-sts';
import { loadPeer, MemoryError } from '../errors.ts';
import type { TenantId } from '../format/object-keys.ts';
import { createRecent } from '../recent.ts';
import { redactedCause } from '../store/failures.ts';
import { untilRenewal } from '../store/s3/callers-credentials.ts';

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
 */
export function createTenantCredentials(
  options: CredentialsOptions,
): (tenant: TenantId) => TenantCredentialProvider {
  const providers = createRecent<TenantId, TenantCredentialProvider>({ most: MOST_PROVIDERS });
  return (tenant) => {
    const provider = providers.get(tenant) ?? untilRenewal(() => assumeRole(options, tenant), options.clock);
    providers.set(tenant, provider);
    return provider;
  };
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
  const { Credentials } = await sts
    .send(
      new AssumeRoleCommand({
        RoleArn: roleArn,
        RoleSessionName: `sealed-memory-${tenant}`.slice(0, 64),
        DurationSeconds: SESSION_SECONDS,
        Tags: [{ Key: 'tenant', Value: tenant }],
      }),
      { abortSignal: AbortSignal.timeout(WITHIN_MS) },
    )
    .catch((error: unknown) => {
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
