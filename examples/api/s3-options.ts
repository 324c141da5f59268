// Only compiled: it opens a bucket.
import { openMemory, type S3Options } from 'sealed-memory';

const s3: S3Options = { endpoint: 'https://minio.example.com', region: 'eu-central-1', forcePathStyle: true };
await using memory = await openMemory({
  store: 's3://my-bucket/memories',
  tenant: 'acme',
  rootKey: 'aws-kms:arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab',
  s3,
});
for await (const { path } of memory.files.list()) console.log(path);
