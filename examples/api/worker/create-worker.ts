// Only compiled: it runs in a Lambda function, with queues and a bucket.
import Anthropic from '@anthropic-ai/sdk';
import { SQSClient } from '@aws-sdk/client-sqs';
import { STSClient } from '@aws-sdk/client-sts';
import type { LambdaContext, TurnName, Worker, WorkerOptions } from 'sealed-memory/worker';
import { createJsonLogger, createReplies, createTenantCredentials, createWorker } from 'sealed-memory/worker';

const sqs = new SQSClient({});
const client = new Anthropic();
const options: WorkerOptions = {
  memory: { store: 's3://my-bucket/memories', rootKey: 'aws-kms:arn:aws:kms:…' },
  credentials: createTenantCredentials({ sts: new STSClient({}), roleArn: 'arn:aws:iam::…:role/tenant' }),
  client: async () => client,
  model: 'claude-sonnet-5-5',
  queue: { sqs, url: 'https://sqs.…/turns' },
  replies: createReplies({ sqs, queueUrl: 'https://sqs.…/replies', mode: 'pointer' }),
  onTurn: ({ turn }: TurnName) => ({ onText: (delta) => console.log(turn, delta) }),
  logger: createJsonLogger({ write: (line) => process.stdout.write(`${line}\n`) }),
};
const worker: Worker = createWorker(options);
export const { handler } = worker;
export const invoke = (event: unknown, context: LambdaContext) => worker.invoke(event, context);
