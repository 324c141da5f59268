import { handSigned } from './hand-signed.ts';

// The least that a program can do to read two objects: requests signed by hand over node:http, no decryption.

const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '' } = process.env;
const { SEALED_MEMORY_S3_ENDPOINT = '', SEALED_MEMORY_S3_REGION = '' } = process.env;
const { FIRST_GETS_BUCKET = '', FIRST_GETS_KEYS = '' } = process.env;

using signed = handSigned(
  {
    endpoint: SEALED_MEMORY_S3_ENDPOINT,
    region: SEALED_MEMORY_S3_REGION,
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
  },
  FIRST_GETS_BUCKET,
);
for (const key of FIRST_GETS_KEYS.split(' ')) {
  const body = await signed.get(key);
  if (body.length === 0) throw new Error(`${key} is empty`);
}
