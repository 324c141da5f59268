import {
  type Environment,
  environmentSetting,
  misconfigured,
  readChoice,
  readFlag,
  readWholeNumber,
} from './setting.ts';

/** What the worker needs beyond the memory's own configuration, validated and frozen. */
export interface WorkerConfig {
  /** Absent: tenants are reached with the credentials of the process. */
  readonly tenantRoleArn: string | undefined;
  readonly queueUrl: string;
  readonly replyQueueUrl: string | undefined;
  readonly reply: 'pointer' | 'inline';
  readonly model: string;
  readonly maxTokens: number | undefined;
  /** In Secrets Manager; absent: the SDK's own `ANTHROPIC_API_KEY`. */
  readonly apiKeySecretArn: string | undefined;
}

/** What the expiry function needs beyond the memory's own configuration, validated and frozen. */
export interface ExpiryConfig {
  readonly tenantRoleArn: string | undefined;
  readonly expireDryRun: boolean;
}

const PREFIX = 'SEALED_MEMORY_WORKER_';
const NAMES = [
  ...['TENANT_ROLE_ARN', 'QUEUE_URL', 'REPLY_QUEUE_URL', 'REPLY', 'MODEL', 'MAX_TOKENS'],
  ...['API_KEY_SECRET_ARN', 'EXPIRE_DRY_RUN'],
] as const;
const MOST_TOKENS = 1_000_000;

export const WORKER_VARIABLES: readonly string[] = NAMES.map((name) => PREFIX + name);

/** @throws MemoryError `misconfigured` that names the variable and what was expected. */
export function readWorkerConfig(env: Environment): WorkerConfig {
  const read = (name: (typeof NAMES)[number]) => environmentSetting(env, PREFIX + name);
  const required = (name: (typeof NAMES)[number], what: string): string => {
    const setting = read(name);
    if (setting === undefined) throw misconfigured(`${PREFIX}${name} is not set: ${what}.`);
    return setting.text;
  };
  const maxTokens = read('MAX_TOKENS');
  return Object.freeze({
    tenantRoleArn: read('TENANT_ROLE_ARN')?.text,
    queueUrl: required('QUEUE_URL', 'the queue whose messages arrive'),
    replyQueueUrl: read('REPLY_QUEUE_URL')?.text,
    reply: readChoice(read('REPLY'), ['pointer', 'inline']) ?? 'pointer',
    model: required('MODEL', 'which Claude answers'),
    maxTokens: maxTokens && readWholeNumber(maxTokens, { least: 1, most: MOST_TOKENS }),
    apiKeySecretArn: read('API_KEY_SECRET_ARN')?.text,
  });
}

/** @throws MemoryError `misconfigured` that names the variable and what was expected. */
export function readExpiryConfig(env: Environment): ExpiryConfig {
  const read = (name: (typeof NAMES)[number]) => environmentSetting(env, PREFIX + name);
  return Object.freeze({
    tenantRoleArn: read('TENANT_ROLE_ARN')?.text,
    expireDryRun: readFlag(read('EXPIRE_DRY_RUN')) ?? false,
  });
}
