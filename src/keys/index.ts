import { answeredInTime } from '../store/s3/callers-credentials.ts';
import { type KmsRootKeyOptions, kmsRootKey as keyInKms } from './kms/kms-root-key.ts';
import type { RootKey } from './root-key.ts';
import { vaultRootKey as keyInVault, type VaultRootKeyOptions } from './vault/vault-root-key.ts';

export type {
  AwsCredentialIdentity,
  AwsCredentialIdentityProvider,
  AwsCredentials,
} from '../store/s3/callers-credentials.ts';
export type { KmsRootKeyOptions } from './kms/kms-root-key.ts';
export type { GeneratedKey, KeyringContext, RootKey } from './root-key.ts';
export type { VaultRootKeyOptions } from './vault/vault-root-key.ts';
export type { VaultTokenOptions } from './vault/vault-token.ts';

/**
 * Makes a root key in AWS KMS for `rootKey`, reached by an endpoint or credentials of its own; `aws-kms:` and the ARN do
 * with those of the process. At most 16 requests for the key are on their way at once, none for longer than 50 s, and a
 * KMS in trouble is asked once a second. Needs the optional peer `@aws-sdk/client-kms`, which the first use loads.
 *
 * @throws MemoryError `misconfigured` when `keyArn` is no key ARN; aliases are refused.
 */
export function kmsRootKey(options: KmsRootKeyOptions): RootKey {
  const { keyArn, region, endpoint, credentials } = options;
  return keyInKms({ keyArn, region, endpoint, credentials: answeredInTime(credentials) });
}

/**
 * Makes a root key in the Transit engine of HashiCorp Vault or OpenBao for `rootKey`, reached by a token of its own;
 * `vault:` and the URL do with `VAULT_TOKEN` or `VAULT_TOKEN_FILE`. At most 16 requests for the key are on their way at
 * once, none for longer than 45 s, and a server in trouble is asked once a second.
 *
 * @throws MemoryError `misconfigured` for a URL or a namespace that cannot be one. Tokens are read at the first use.
 */
export function vaultRootKey(options: VaultRootKeyOptions): RootKey {
  const { keyUrl, namespace, token, tokenFile } = options;
  return keyInVault({ keyUrl, namespace, token, tokenFile });
}
