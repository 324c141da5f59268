import { optionsFromEnvironment } from '../../src/open/environment.ts';
import {
  createExpiry,
  createJsonLog,
  createReplies,
  createTenantCredentials,
  createWorker,
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

const log = createJsonLog({ write: (line) => process.stdout.write(`${line}\n`) });
let worker: Worker | undefined;
let expiry: ScheduledExpiry | undefined;

export const handler: Worker['handler'] = (event, context) => openWorker().handler(event, context);

export const invoke: Worker['invoke'] = (event, context) => openWorker().invoke(event, context);

export const expire: ScheduledExpiry = (event, context) => openExpiry()(event, context);

function openWorker(): Worker {
  if (worker !== undefined) return worker;
  const config = readWorkerConfig(process.env);
  const sqs = lazyClient(async () => {
    const { SQSClient } = await import('../../src/worker/sqs-sdk.ts');
    return new SQSClient({});
  });
  const { tenantRoleArn, replyQueueUrl, reply, model, maxTokens, effort, queueUrl, deadLetterQueueUrl } =
    config;
  worker = createWorker({
    memory: optionsFromEnvironment(),
    credentials: credentialsOf(tenantRoleArn),
    client: openClients(config.apiKeySecretArn),
    model,
    maxTokens,
    turn: effort === undefined ? {} : { effort },
    queue: { sqs, url: queueUrl, deadLetterUrl: deadLetterQueueUrl },
    replies:
      replyQueueUrl === undefined ? undefined : createReplies({ sqs, queueUrl: replyQueueUrl, mode: reply }),
    log,
  });
  return worker;
}

function openExpiry(): ScheduledExpiry {
  const { tenantRoleArn, expireDryRun } = readExpiryConfig(process.env);
  expiry ??= createExpiry({
    memory: optionsFromEnvironment(),
    credentials: credentialsOf(tenantRoleArn),
    dryRun: expireDryRun,
    log,
  });
  return expiry;
}

function credentialsOf(roleArn: string | undefined): ReturnType<typeof createTenantCredentials> | undefined {
  if (roleArn === undefined) return undefined;
  const sts = lazyClient(async () => {
    const { STSClient } = await import('../../src/worker/sts-sdk.ts');
    return new STSClient({});
  });
  return createTenantCredentials({ sts, roleArn });
}

/** Without a secret the key is the environment's, which stays. */
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
