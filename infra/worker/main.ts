import { SQSClient } from '@aws-sdk/client-sqs';
import { STSClient } from '@aws-sdk/client-sts';
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
} from '../../src/worker/index.ts';
import { readApiKey } from './api-key.ts';
import { TurnClient } from './turn-client.ts';

// The functions of the deployment, wired from the environment at their first call: the worker and the expiry function
// are one bundle with an environment each.

const log = createJsonLog({ write: (line) => process.stdout.write(`${line}\n`) });
let worker: Worker | undefined;
let expiry: ScheduledExpiry | undefined;
let client: Promise<TurnClient> | undefined;

export const handler: Worker['handler'] = (event, context) => openWorker().handler(event, context);

export const invoke: Worker['invoke'] = (event, context) => openWorker().invoke(event, context);

export const expire: ScheduledExpiry = (event, context) => openExpiry()(event, context);

function openWorker(): Worker {
  if (worker !== undefined) return worker;
  const config = readWorkerConfig(process.env);
  const sqs = new SQSClient({});
  const { tenantRoleArn, replyQueueUrl, reply, model, maxTokens, queueUrl } = config;
  worker = createWorker({
    memory: optionsFromEnvironment(),
    credentials: credentialsOf(tenantRoleArn),
    client: () => openClient(config.apiKeySecretArn),
    model,
    maxTokens,
    queue: { sqs, url: queueUrl },
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
  return roleArn === undefined ? undefined : createTenantCredentials({ sts: new STSClient({}), roleArn });
}

/** The key is read once; a failure to read it is not kept. */
function openClient(secretArn: string | undefined): Promise<TurnClient> {
  client ??= createClient(secretArn).catch((error: unknown) => {
    client = undefined;
    throw error;
  });
  return client;
}

async function createClient(secretArn: string | undefined): Promise<TurnClient> {
  return secretArn === undefined ? new TurnClient() : new TurnClient({ apiKey: await readApiKey(secretArn) });
}
