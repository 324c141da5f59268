// Only compiled: it asks KMS, in AWS.

import type {
  AwsCredentialIdentity,
  AwsCredentialIdentityProvider,
  AwsCredentials,
} from 'sealed-memory/keys';
import { kmsRootKey } from 'sealed-memory/keys';

declare const login: () => Promise<AwsCredentialIdentity>;
const provider: AwsCredentialIdentityProvider = async () => ({ ...(await login()) });
const credentials: AwsCredentials = provider;

export const rootKey = kmsRootKey({
  keyArn: 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab',
  credentials,
});
