/** A team's decisions about its workers; `WORKER_DEFAULTS` has the defaults. */
export interface WorkerSettings {
  readonly model: string;
  /** The most tokens of one reply of Claude's, its thoughts included. */
  readonly maxTokens: number;
  /** The effort that Claude puts into a reply; absent: as the model does by itself. */
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  /** `pointer`: a reply says where the answer lies. `inline`: it carries the answer. */
  readonly reply: 'pointer' | 'inline';
  /** Days without a read or a write after which the expiry function deletes a file; absent: it deletes no file. */
  readonly expireAfterDays?: number;
  /** True to let the expiry function only say which files it would delete; receipts and answers go all the same. */
  readonly expireDryRun: boolean;
  /**
   * True to let the expiry function write a checkpoint of each tenant, and its line into the log; absent: it writes
   * none.
   */
  readonly checkpoints?: boolean;
  /**
   * The most tokens, input and output together, for each tenant and day (UTC); its further turns wait until the next
   * day. Absent: no bound.
   */
  readonly tokensPerDay?: number;
}

/** The default settings of a deployment, with which `npm run cloud` runs too. */
export const WORKER_DEFAULTS = {
  model: 'claude-sonnet-5-5',
  maxTokens: 16_000,
  reply: 'inline',
  expireDryRun: true,
  timeoutSeconds: 300,
  memorySize: 512,
  maxConcurrency: 10,
} as const;

/** The resources of the stack, as the functions are told of them. */
export interface WorkerPlaces {
  readonly bucketName: string;
  readonly prefix: string;
  /** The ARNs of the root keys: the first wraps, all unwrap. */
  readonly rootKeyArns: readonly [string, ...string[]];
  readonly tenantRoleArn: string;
  readonly turnQueueUrl: string;
  /** The time for which the turn queue keeps a message. */
  readonly turnRetentionSeconds: number;
  readonly deadLetterQueueUrl: string;
  readonly replyQueueUrl: string;
  readonly apiKeySecretArn: string;
  readonly expiryQueueUrl: string;
}

type FunctionEnvironment = Record<string, string>;
type MemoryPlaces = Pick<WorkerPlaces, 'bucketName' | 'prefix' | 'rootKeyArns' | 'tenantRoleArn'>;

export function workerEnvironment(
  settings: WorkerSettings,
  places: Omit<WorkerPlaces, 'expiryQueueUrl'>,
): FunctionEnvironment {
  return {
    ...memoryEnvironment(settings, places),
    SEALED_MEMORY_WORKER_QUEUE_URL: places.turnQueueUrl,
    SEALED_MEMORY_WORKER_QUEUE_RETENTION_SECONDS: String(places.turnRetentionSeconds),
    SEALED_MEMORY_WORKER_DEAD_LETTER_QUEUE_URL: places.deadLetterQueueUrl,
    SEALED_MEMORY_WORKER_REPLY_QUEUE_URL: places.replyQueueUrl,
    SEALED_MEMORY_WORKER_REPLY: settings.reply,
    SEALED_MEMORY_WORKER_MODEL: settings.model,
    SEALED_MEMORY_WORKER_MAX_TOKENS: String(settings.maxTokens),
    ...(settings.effort !== undefined && { SEALED_MEMORY_WORKER_EFFORT: settings.effort }),
    SEALED_MEMORY_WORKER_API_KEY_SECRET_ARN: places.apiKeySecretArn,
    ...(settings.tokensPerDay !== undefined && {
      SEALED_MEMORY_WORKER_TOKENS_PER_DAY: String(settings.tokensPerDay),
    }),
  };
}

/** Makes the environment of the expiry function, with its own queue and without Claude. */
export function expiryEnvironment(
  settings: WorkerSettings,
  places: MemoryPlaces & Pick<WorkerPlaces, 'expiryQueueUrl'>,
): FunctionEnvironment {
  return {
    ...memoryEnvironment(settings, places),
    SEALED_MEMORY_WORKER_EXPIRE_DRY_RUN: settings.expireDryRun ? '1' : '0',
    SEALED_MEMORY_WORKER_EXPIRY_QUEUE_URL: places.expiryQueueUrl,
    ...(settings.checkpoints === true && { SEALED_MEMORY_WORKER_CHECKPOINTS: '1' }),
  };
}

/** Makes the variables that both functions share. Both know of the expiry: the worker records reads. */
function memoryEnvironment({ expireAfterDays }: WorkerSettings, places: MemoryPlaces): FunctionEnvironment {
  return {
    SEALED_MEMORY_STORE: storeUrl(places),
    SEALED_MEMORY_ROOT_KEY: places.rootKeyArns.map((arn) => `aws-kms:${arn}`).join(','),
    ...(expireAfterDays !== undefined && { SEALED_MEMORY_EXPIRE_AFTER_DAYS: String(expireAfterDays) }),
    SEALED_MEMORY_WORKER_TENANT_ROLE_ARN: places.tenantRoleArn,
  };
}

export function storeUrl({ bucketName, prefix }: Pick<WorkerPlaces, 'bucketName' | 'prefix'>): string {
  return prefix === '' ? `s3://${bucketName}` : `s3://${bucketName}/${prefix}`;
}
