import { randomBytes } from 'node:crypto';
import {
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { WORKER_DEFAULTS, workerEnvironment } from '../../src/cdk/worker-settings.ts';
import {
  createResources,
  type LocalQueue,
  type LocalResources,
  MOTO_CREDENTIALS,
  RETENTION_SECONDS,
} from './aws/resources.ts';
import { checkMessage } from './aws/service-limits.ts';
import { sessionPolicy } from './aws/session-policy.ts';
import { startTokenService } from './aws/token-service.ts';
import { startEventSource } from './lambda/event-source.ts';
import type { TurnFunctions } from './lambda/local-function.ts';
import type { Environment } from './programs/find-program.ts';
import type { S3Server } from './servers/s3-server.ts';

export interface CloudOptions {
  readonly minio: S3Server;
  /** The endpoint of moto. */
  readonly moto: string;
  /** The address and key of Claude; without an address: Claude itself. */
  readonly claude: { readonly url?: string; readonly apiKey: string };
  readonly startFunctions: (env: Environment) => TurnFunctions | Promise<TurnFunctions>;
  /** The functions' time, and the time after which a message whose worker died is delivered again. */
  readonly timeoutSeconds: number;
  readonly visibilitySeconds?: number;
  readonly maxConcurrency: number;
  /** The addresses through which the functions reach the servers, where they differ from this process's. */
  readonly through?: { readonly s3?: string; readonly sqs?: string };
  /**
   * The address on which the token service listens, and the one under which the functions know it; a free port of
   * 127.0.0.1 by default.
   */
  readonly tokens?: { readonly host: string; readonly port: number; readonly url: string };
  /** Hears of an error between the queue and the worker; the cloud goes on. */
  readonly onError: (error: unknown) => void;
}

/** The deployment of infra/ on one machine, running. */
export interface Cloud extends TurnFunctions, AsyncDisposable {
  readonly resources: LocalResources;
  /** The store as `SEALED_MEMORY_STORE` takes it. */
  readonly storeUrl: string;
  /**
   * Puts a message into the queue of turns, in a group where one is given: a text as it is, anything else as JSON.
   *
   * @throws Error `InvalidParameterValue` above 1 MiB.
   */
  send(message: unknown, group?: string): Promise<void>;
  /** Takes the messages that a queue has now. */
  take(queue: LocalQueue): Promise<readonly string[]>;
}

const ROLE_ARN = 'arn:aws:iam::123456789012:role/sealed-memory-tenant';

export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const { minio, moto, claude, timeoutSeconds, through = {} } = options;
  const { region } = minio;
  const { visibilitySeconds = 6 * timeoutSeconds } = options;
  const resources = await createResources({ minio, moto, apiKey: claude.apiKey, visibilitySeconds });
  const { bucketName, prefix } = resources;
  // The worker's own key opens only the door of the token service.
  const caller = {
    accessKeyId: `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(20).toString('hex'),
  };
  const stack = new AsyncDisposableStack();
  const tokens = stack.use(
    await startTokenService({
      minio,
      caller,
      roleArn: ROLE_ARN,
      policyOf: (tenant) => sessionPolicy({ bucketName, prefix, tenant }),
      ...options.tokens,
    }),
  );
  // The SDK sends to the address in the queue's URL, whatever its endpoint is.
  const asSeen = (queueUrl: string): string => queueUrl.replace(moto, through.sqs ?? moto);
  const places = {
    bucketName,
    prefix,
    rootKeyArns: [resources.rootKeyArn],
    tenantRoleArn: ROLE_ARN,
    turnQueueUrl: asSeen(resources.turns.url),
    turnRetentionSeconds: RETENTION_SECONDS,
    deadLetterQueueUrl: asSeen(resources.deadLetters.url),
    replyQueueUrl: asSeen(resources.replies.url),
    apiKeySecretArn: resources.apiKeySecretArn,
    tenantSettings: `dynamodb:${resources.tenantTable}`,
  } as const;
  const deployed = workerEnvironment(WORKER_DEFAULTS, places);
  const env: Environment = {
    ...deployed,
    SEALED_MEMORY_S3_ENDPOINT: through.s3 ?? minio.endpoint,
    AWS_ENDPOINT_URL_SQS: through.sqs ?? moto,
    AWS_ENDPOINT_URL_KMS: moto,
    AWS_ENDPOINT_URL_DYNAMODB: moto,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: moto,
    AWS_ENDPOINT_URL_STS: options.tokens?.url ?? tokens.url,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: caller.accessKeyId,
    AWS_SECRET_ACCESS_KEY: caller.secretAccessKey,
    ...(claude.url !== undefined && { ANTHROPIC_BASE_URL: claude.url }),
  };
  const sqs = stack.adopt(
    new SQSClient({ region, endpoint: moto, credentials: MOTO_CREDENTIALS }),
    (client) => client.destroy(),
  );
  const { worker, direct } = await options.startFunctions(env);
  const source = startEventSource({
    sqs,
    queueUrl: resources.turns.url,
    queueArn: resources.turns.arn,
    region,
    target: worker,
    batchSize: 1,
    maxConcurrency: options.maxConcurrency,
    onError: options.onError,
  });
  // Disposal goes the other way round: the functions end first, and their turns at work have then failed.
  stack.use(source);
  stack.use(direct);
  stack.use(worker);
  return {
    resources,
    storeUrl: deployed['SEALED_MEMORY_STORE'] ?? '',
    worker,
    direct,
    async send(message, group) {
      const MessageBody = typeof message === 'string' ? message : JSON.stringify(message);
      checkMessage(MessageBody);
      await sqs.send(
        new SendMessageCommand({ QueueUrl: resources.turns.url, MessageBody, MessageGroupId: group }),
      );
    },
    take: (queue) => takeAll(sqs, queue.url),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function takeAll(sqs: SQSClient, QueueUrl: string): Promise<readonly string[]> {
  const bodies: string[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 0 }),
    );
    if (Messages.length === 0) return bodies;
    for (const { Body = '', ReceiptHandle } of Messages) {
      await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
      bodies.push(Body);
    }
  }
}
