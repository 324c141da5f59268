// Only compiled: it runs in a Lambda function, with a queue and a bucket.
import { SQSClient } from '@aws-sdk/client-sqs';
import { STSClient } from '@aws-sdk/client-sts';
import type { ExpiryPlan, ScheduledExpiry, ScheduledExpiryOptions } from 'sealed-memory/worker';
import { createExpiry, createJsonLogger, createTenantCredentials } from 'sealed-memory/worker';

const options: ScheduledExpiryOptions = {
  memory: { store: 's3://my-bucket/memories', rootKey: 'aws-kms:arn:aws:kms:…', expireAfterDays: 90 },
  credentials: createTenantCredentials({ sts: new STSClient({}), roleArn: 'arn:aws:iam::…:role/tenant' }),
  queue: { sqs: new SQSClient({}), url: 'https://sqs.…/expiry' },
  logger: createJsonLogger({ write: (line) => process.stdout.write(`${line}\n`) }),
};
const tell = ({ tenants, of }: ExpiryPlan) => console.log(`${tenants} of ${of} tenants are in the queue`);

export const handler: ScheduledExpiry = async (event, context) => {
  const done = await createExpiry(options)(event, context);
  if ('tenants' in done) tell(done);
  return done;
};
