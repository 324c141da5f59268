import { randomBytes } from 'node:crypto';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateKeyCommand, KMSClient } from '@aws-sdk/client-kms';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { CreateQueueCommand, GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { S3Server } from '../servers/s3-server.ts';

/** The resources of the stack of infra/, as far as one machine has them. */
export interface LocalResources {
  readonly bucketName: string;
  readonly prefix: string;
  readonly rootKeyArn: string;
  readonly apiKeySecretArn: string;
  /** The name of the table with the settings of tenants, as `tenantSettings` of the construct makes it. */
  readonly tenantTable: string;
  readonly turns: LocalQueue;
  readonly deadLetters: LocalQueue;
  readonly replies: LocalQueue;
}

export interface LocalQueue {
  readonly url: string;
  readonly arn: string;
}

export interface ResourceOptions {
  readonly minio: S3Server;
  /** The endpoint of moto. */
  readonly moto: string;
  readonly apiKey: string;
  readonly visibilitySeconds: number;
}

/** The credentials for moto, which asks for some and believes all. */
export const MOTO_CREDENTIALS = { accessKeyId: 'AKIDOFTHISMACHINE', secretAccessKey: 'believed' } as const;
/** The number of receives after which the queue gives a turn up, as in the deployed one. */
const MAX_RECEIVE_COUNT = 20;
/** The time for which the queue keeps a message, in seconds, as the deployed queue does, and SQS by default. */
export const RETENTION_SECONDS = 345_600;

/** Creates a bucket in MinIO, and queues, a root key, a secret and a table in moto, under names of this call alone. */
export async function createResources(options: ResourceOptions): Promise<LocalResources> {
  const run = randomBytes(4).toString('hex');
  const { region } = options.minio;
  const connection = { region, endpoint: options.moto, credentials: MOTO_CREDENTIALS };
  const [bucketName, queues, rootKeyArn, apiKeySecretArn, tenantTable] = await Promise.all([
    createBucket(options.minio, `sealed-memory-${run}`),
    createQueues(new SQSClient(connection), { ...options, run }),
    createRootKey(new KMSClient(connection)),
    createSecret(new SecretsManagerClient(connection), {
      Name: `claude-${run}`,
      SecretString: options.apiKey,
    }),
    createTable(new DynamoDBClient(connection), `tenants-${run}`),
  ]);
  return { bucketName, prefix: 'local', rootKeyArn, apiKeySecretArn, tenantTable, ...queues };
}

/** Opens a client with all rights on the server, for looking behind the library's back. */
export function openMinio({ endpoint, region, accessKeyId, secretAccessKey }: S3Server): S3Client {
  return new S3Client({
    endpoint,
    region,
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
}

async function createBucket(minio: S3Server, Bucket: string): Promise<string> {
  const client = openMinio(minio);
  await client.send(new CreateBucketCommand({ Bucket }));
  client.destroy();
  return Bucket;
}

async function createQueues(
  sqs: SQSClient,
  { run, visibilitySeconds }: ResourceOptions & { readonly run: string },
): Promise<Pick<LocalResources, 'turns' | 'deadLetters' | 'replies'>> {
  const deadLetters = await createQueue(sqs, `dead-letters-${run}`);
  const turns = await createQueue(sqs, `turns-${run}`, {
    VisibilityTimeout: String(visibilitySeconds),
    MessageRetentionPeriod: String(RETENTION_SECONDS),
    RedrivePolicy: JSON.stringify({
      deadLetterTargetArn: deadLetters.arn,
      maxReceiveCount: MAX_RECEIVE_COUNT,
    }),
  });
  const replies = await createQueue(sqs, `replies-${run}`);
  sqs.destroy();
  return { turns, deadLetters, replies };
}

async function createQueue(
  sqs: SQSClient,
  QueueName: string,
  Attributes: Record<string, string> = {},
): Promise<LocalQueue> {
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName, Attributes }));
  const told = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }));
  return { url: given(QueueUrl), arn: given(told.Attributes?.['QueueArn']) };
}

async function createRootKey(kms: KMSClient): Promise<string> {
  const { KeyMetadata } = await kms.send(new CreateKeyCommand({}));
  kms.destroy();
  return given(KeyMetadata?.Arn);
}

async function createSecret(
  secrets: SecretsManagerClient,
  secret: { readonly Name: string; readonly SecretString: string },
): Promise<string> {
  const { ARN } = await secrets.send(new CreateSecretCommand(secret));
  secrets.destroy();
  return given(ARN);
}

async function createTable(dynamo: DynamoDBClient, TableName: string): Promise<string> {
  const { TableDescription } = await dynamo.send(
    new CreateTableCommand({
      TableName,
      KeySchema: [{ AttributeName: 'tenant', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'tenant', AttributeType: 'S' }],
      BillingMode: 'PAY_PER_REQUEST',
    }),
  );
  dynamo.destroy();
  return given(TableDescription?.TableName);
}

function given(value: string | undefined): string {
  if (value === undefined) throw new Error('moto made something without a name');
  return value;
}
