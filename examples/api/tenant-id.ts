// Only compiled: it runs in a Lambda function, with a queue and a bucket.
import { SQSClient } from '@aws-sdk/client-sqs';
import type { TenantId } from 'sealed-memory';
import { createExpiry, createJsonLogger, type TenantCredentialProvider } from 'sealed-memory/worker';

declare const credentialsOf: (tenant: TenantId) => TenantCredentialProvider;

export const handler = createExpiry({
  memory: { store: 's3://my-bucket/memories', rootKey: 'aws-kms:arn:aws:kms:…', expireAfterDays: 90 },
  credentials: credentialsOf,
  queue: { sqs: new SQSClient({}), url: 'https://sqs.…/expiry' },
  logger: createJsonLogger({ write: (line) => process.stdout.write(`${line}\n`) }),
});
