// Only compiled: it opens a bucket.

import type { AwsCredentialIdentity, AwsCredentialIdentityProvider, AwsCredentials } from 'sealed-memory';
import { openMemory } from 'sealed-memory';

declare const login: () => Promise<AwsCredentialIdentity>;
const provider: AwsCredentialIdentityProvider = async () => ({ ...(await login()) });
const credentials: AwsCredentials = provider;

await using memory = await openMemory({
  store: 's3://my-bucket/memories',
  tenant: 'acme',
  rootKey: 'aws-kms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab',
  credentials,
});
console.log(await memory.files.exists('/memories/launch.md'));
