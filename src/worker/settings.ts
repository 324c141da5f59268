import { misconfigured } from '../errors.ts';
import { type Environment, readValue, WORKER_PREFIX, type WorkerName } from '../open/options/environment.ts';

const MOST_TOKENS = 1_000_000;
const MOST_TOKENS_PER_DAY = 1_000_000_000_000;

/** The worker's variables as an entry point reads them, validated and frozen. */
export interface WorkerConfig {
  /** Absent: tenants are reached with the credentials of the process. */
  readonly tenantRoleArn: string | undefined;
  readonly queueUrl: string;
  /** The queue for messages that can never succeed; absent: they are left to the queue's own attempts. */
  readonly deadLetterQueueUrl: string | undefined;
  /** The time that the queue keeps a message; absent: four days, as SQS does by default. */
  readonly queueRetentionSeconds: number | undefined;
  readonly replyQueueUrl: string | undefined;
  readonly reply: 'pointer' | 'inline';
  readonly model: string;
  readonly maxTokens: number | undefined;
  readonly effort: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined;
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
  const reply = { kind: 'choice', of: ['pointer', 'inline'] } as const;
  const effort = { kind: 'choice', of: ['low', 'medium', 'high', 'xhigh', 'max'] } as const;
  const read = (name: WorkerName, rule: Parameters<typeof readValue>[2]) =>
    readValue(env, WORKER_PREFIX + name, rule);
  const numberOf = (name: WorkerName, bounds: { readonly least: number; readonly most: number }) =>
    read(name, { kind: 'number', ...bounds }) as number | undefined;
  return Object.freeze({
    tenantRoleArn: textOf(env, 'TENANT_ROLE_ARN'),
    queueUrl: requiredText(env, 'QUEUE_URL', 'the queue whose messages arrive'),
    deadLetterQueueUrl: textOf(env, 'DEAD_LETTER_QUEUE_URL'),
    queueRetentionSeconds: numberOf('QUEUE_RETENTION_SECONDS', {
      least: 172_800,
      most: 1_209_600,
    }),
    replyQueueUrl: textOf(env, 'REPLY_QUEUE_URL'),
    reply: (read('REPLY', reply) as WorkerConfig['reply'] | undefined) ?? 'pointer',
    model: requiredText(env, 'MODEL', 'which Claude answers'),
    maxTokens: numberOf('MAX_TOKENS', { least: 1, most: MOST_TOKENS }),
    effort: read('EFFORT', effort) as WorkerConfig['effort'],
    tokensPerDay: numberOf('TOKENS_PER_DAY', { least: 1, most: MOST_TOKENS_PER_DAY }),
    apiKeySecretArn: textOf(env, 'API_KEY_SECRET_ARN'),
  });
}

/**
 * Reads the settings of a scheduled expiry from its function's environment.
 *
 * @throws MemoryError `misconfigured` that names the variable and what was expected.
 */
export function readExpiryConfig(env: Environment): ExpiryConfig {
  const flagOf = (name: WorkerName) =>
    (readValue(env, WORKER_PREFIX + name, { kind: 'flag' }) ?? false) as boolean;
  return Object.freeze({
    tenantRoleArn: textOf(env, 'TENANT_ROLE_ARN'),
    expireDryRun: flagOf('EXPIRE_DRY_RUN'),
    checkpoints: flagOf('CHECKPOINTS'),
    expiryQueueUrl: requiredText(env, 'EXPIRY_QUEUE_URL', 'the queue over which a run hands out its tenants'),
  });
}

/** Reads the text of a variable; undefined where it is absent or empty. */
function textOf(env: Environment, name: WorkerName): string | undefined {
  return env[WORKER_PREFIX + name] || undefined;
}

function requiredText(env: Environment, name: WorkerName, what: string): string {
  const text = textOf(env, name);
  if (text === undefined) throw misconfigured(`${WORKER_PREFIX}${name} is not set: ${what}.`);
  return text;
}
