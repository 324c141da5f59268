// Only compiled: it asks KMS, in AWS.
import { openMemory } from 'sealed-memory';
import { type KmsRootKeyOptions, kmsRootKey, type RootKey } from 'sealed-memory/keys';

const options: KmsRootKeyOptions = {
  keyArn: 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab',
  endpoint: 'https://kms.eu-central-1.amazonaws.com',
};
const rootKey: RootKey = kmsRootKey(options);
await using memory = await openMemory({ store: 's3://my-bucket/memories', tenant: 'acme', rootKey });
console.log(await memory.files.exists('/memories/launch.md'));
