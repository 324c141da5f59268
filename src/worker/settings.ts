import { type Environment, workerVariables } from '../open/options/environment.ts';

const MOST_TOKENS = 1_000_000;
const MOST_REQUESTS = 1_000;
const MOST_TOKENS_PER_DAY = 1_000_000_000_000;

/** The worker's variables as an entry point reads them, validated and frozen. */
export interface WorkerConfig {
  /** Absent: tenants are reached with the credentials of the process. */
  readonly tenantRoleArn: string | undefined;
  readonly queueUrl: string;
  /** The queue for messages that can never succeed; absent: they are left to the queue's own attempts. */
  readonly deadLetterQueueUrl: string | undefined;
  /** The queue for turns that waited in vain for a root key of their tenant's; absent: that of all others. */
  readonly customerDeadLetterQueueUrl: string | undefined;
  /** The time that the queue keeps a message; absent: four days, as SQS does by default. */
  readonly queueRetentionSeconds: number | undefined;
  readonly replyQueueUrl: string | undefined;
  readonly reply: 'pointer' | 'inline';
  readonly model: string;
  readonly maxTokens: number | undefined;
  /** The most replies of one turn; absent: 64. */
  readonly maxRequests: number | undefined;
  readonly effort: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined;
  /** The system prompt of turns whose message has none. */
  readonly systemPrompt: string | undefined;
  /** The bound on the tokens of one tenant on a day; absent: no bound. */
  readonly tokensPerDay: number | undefined;
  /** The secret in Secrets Manager that holds the key; absent: the SDK's own `ANTHROPIC_API_KEY`. */
  readonly apiKeySecretArn: string | undefined;
}

/** The settings that the function which expires files needs beyond the memory's options, validated and frozen. */
export interface ExpiryConfig {
  readonly tenantRoleArn: string | undefined;
  readonly expireDryRun: boolean;
  /** True where each run writes a checkpoint of each tenant, and its line into the log. */
  readonly checkpoints: boolean;
  /** The queue over which a run hands out its tenants. */
  readonly expiryQueueUrl: string;
}

/**
 * Reads the settings of a worker from its function's environment: which Claude, which queues, which key.
 *
 * @throws MemoryError `misconfigured` that names the variable and what was expected.
 */
export function readWorkerConfig(env: Environment): WorkerConfig {
  const worker = workerVariables(env);
  return Object.freeze({
    tenantRoleArn: worker.text('TENANT_ROLE_ARN'),
    queueUrl: worker.requiredText('QUEUE_URL', 'the queue whose messages arrive'),
    deadLetterQueueUrl: worker.text('DEAD_LETTER_QUEUE_URL'),
    customerDeadLetterQueueUrl: worker.text('CUSTOMER_DEAD_LETTER_QUEUE_URL'),
    queueRetentionSeconds: worker.number('QUEUE_RETENTION_SECONDS', { least: 172_800, most: 1_209_600 }),
    replyQueueUrl: worker.text('REPLY_QUEUE_URL'),
    reply: worker.choice('REPLY', ['pointer', 'inline']) ?? 'pointer',
    model: worker.requiredText('MODEL', 'which Claude answers'),
    maxTokens: worker.number('MAX_TOKENS', { least: 1, most: MOST_TOKENS }),
    maxRequests: worker.number('MAX_REQUESTS', { least: 1, most: MOST_REQUESTS }),
    effort: worker.choice('EFFORT', ['low', 'medium', 'high', 'xhigh', 'max']),
    systemPrompt: worker.text('SYSTEM_PROMPT'),
    tokensPerDay: worker.number('TOKENS_PER_DAY', { least: 1, most: MOST_TOKENS_PER_DAY }),
    apiKeySecretArn: worker.text('API_KEY_SECRET_ARN'),
  });
}

/**
 * Reads the settings of a scheduled expiry from its function's environment.
 *
 * @throws MemoryError `misconfigured` that names the variable and what was expected.
 */
export function readExpiryConfig(env: Environment): ExpiryConfig {
  const worker = workerVariables(env);
  return Object.freeze({
    tenantRoleArn: worker.text('TENANT_ROLE_ARN'),
    expireDryRun: worker.flag('EXPIRE_DRY_RUN'),
    checkpoints: worker.flag('CHECKPOINTS'),
    expiryQueueUrl: worker.requiredText(
      'EXPIRY_QUEUE_URL',
      'the queue over which a run hands out its tenants',
    ),
  });
}
