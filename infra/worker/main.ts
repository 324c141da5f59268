import type { SQSClient } from '@aws-sdk/client-sqs';
import { optionsFromEnvironment } from '../../src/open/options/environment.ts';
import {
  createExpiry,
  createJsonLogger,
  createReplies,
  createTenantCredentials,
  createWorker,
  type LambdaContext,
  readExpiryConfig,
  readWorkerConfig,
  type ScheduledExpiry,
  type Worker,
  type WorkerOptions,
} from '../../src/worker/index.ts';
import { createClientSource } from './client-source.ts';
import { lazyClient } from './lazy-client.ts';
import { TurnClient } from './turn-client.ts';

// The functions of the deployment, wired from the environment at their first call: the worker and the expiry function
// are one bundle with an environment each.

const log = createJsonLogger({ write: (line) => process.stdout.write(`${line}\n`) });
let worker: Worker | undefined;
let expiry: ScheduledExpiry | undefined;

export const handler: Worker['handler'] = (event, context) => openWorker().handler(event, context);

export const invoke: Worker['invoke'] = (event, context) => openWorker().invoke(event, context);

export const expire = (event: unknown, context: LambdaContext): Promise<unknown> =>
  openExpiry()(event, context);

function openWorker(): Worker {
  if (worker !== undefined) return worker;
  const config = readWorkerConfig(process.env);
  const sqs = queues();
  const {
    tenantRoleArn,
    replyQueueUrl,
    reply,
    model,
    maxTokens,
    maxRequests,
    effort,
    systemPrompt: system,
    tokensPerDay,
    queueUrl,
    deadLetterQueueUrl: deadLetterUrl,
    customerDeadLetterQueueUrl: customerDeadLetterUrl,
    queueRetentionSeconds: retentionSeconds,
  } = config;
  worker = createWorker({
    memory: optionsFromEnvironment(),
    credentials: credentialsOf(tenantRoleArn),
    client: openClients(config.apiKeySecretArn),
    model,
    maxTokens,
    turnOptions: {
      ...(effort && { effort }),
      ...(maxRequests && { maxRequests }),
      ...(system && { system }),
    },
    tokensPerDay,
    queue: { sqs, url: queueUrl, deadLetterUrl, customerDeadLetterUrl, retentionSeconds },
    replies:
      replyQueueUrl === undefined ? undefined : createReplies({ sqs, queueUrl: replyQueueUrl, mode: reply }),
    logger: log,
  });
  return worker;
}

function openExpiry(): ScheduledExpiry {
  if (expiry !== undefined) return expiry;
  const { tenantRoleArn, expireDryRun, checkpoints, expiryQueueUrl: url } = readExpiryConfig(process.env);
  expiry = createExpiry({
    memory: optionsFromEnvironment(),
    credentials: credentialsOf(tenantRoleArn),
    dryRun: expireDryRun,
    checkpoints,
    queue: { sqs: queues(), url },
    logger: log,
  });
  return expiry;
}

function queues(): Pick<SQSClient, 'send'> {
  return lazyClient(async () => {
    const { SQSClient } = await import('../../src/worker/queue/sqs-sdk.ts');
    return new SQSClient({});
  });
}

function credentialsOf(roleArn: string | undefined): ReturnType<typeof createTenantCredentials> | undefined {
  if (roleArn === undefined) return undefined;
  const sts = lazyClient(async () => {
    const { STSClient } = await import('../../src/worker/sts-sdk.ts');
    return new STSClient({});
  });
  return createTenantCredentials({ sts, roleArn });
}

/** Opens the source of clients. Without a secret the key is the environment's, which stays. */
function openClients(secretArn: string | undefined): WorkerOptions['client'] {
  return createClientSource({
    async readKey() {
      if (secretArn === undefined) return undefined;
      const { readApiKey } = await import('./api-key.ts');
      return readApiKey(secretArn);
    },
    open: (apiKey) => new TurnClient(apiKey === undefined ? {} : { apiKey }),
  });
}
