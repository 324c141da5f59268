/**
 * A team's decisions about its workers and their memories; `WORKER_DEFAULTS` has the defaults. Each is a variable of the
 * functions, as `SETTINGS` has it.
 */
export interface WorkerSettings {
  readonly model: string;
  /** The most tokens of one reply of Claude's, its thoughts included. */
  readonly maxTokens: number;
  /** The most replies of one turn, each of which but the last calls tools; absent: 64. */
  readonly maxRequests?: number;
  /** The effort that Claude puts into a reply; absent: as the model does by itself. */
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  /**
   * The system prompt of turns whose message has none, at most 2,048 bytes together with `mounts` and `policy`, as all
   * variables of a function have 4 KiB; absent: none. A longer one is part of a worker of your own.
   */
  readonly systemPrompt?: string;
  /** `pointer`: a reply says where the answer lies. `inline`: it carries the answer. */
  readonly reply: 'pointer' | 'inline';
  /**
   * The most tokens, input and output together, for each tenant and day (UTC); its further turns wait until the next
   * day. Absent: no bound.
   */
  readonly tokensPerDay?: number;
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
   * The days for which a tenant that begins here keeps the versions of its files, after which the expiry function
   * deletes them; absent: no version is kept. For a tenant that exists, its administration turns history on.
   */
  readonly historyDays?: number;
  /** Memories of other tenants, each seen as a directory, as `SEALED_MEMORY_MOUNTS` takes them; none by default. */
  readonly mounts?: string;
  /**
   * The content that no file may hold: some of `secrets`, `email`, `card`, `iban`, `phone`, `invisible`, `redact`, with
   * commas.
   */
  readonly policy?: string;
  /** The largest file, in bytes; absent: 1 MiB. */
  readonly maxFileBytes?: number;
  /** The most files of a tenant; absent: no limit. */
  readonly maxFiles?: number;
  /** The most bytes of content of all files of a tenant together; absent: no limit. */
  readonly maxTenantBytes?: number;
  /** The bytes of files that stay in a function's memory, sealed, of all tenants together; absent: 16 MiB. */
  readonly cacheBytes?: number;
  /** The seconds for which keys stay in a function's cache, and a revoked one lives on; absent: 300. */
  readonly keyringTtlSeconds?: number;
  /** False to refuse the turns of a tenant for whom nothing was ever written (`tenant_unknown`); absent: true. */
  readonly createTenants?: boolean;
  /** True to refuse every write of a turn to its memory. */
  readonly readOnly?: boolean;
  /** The form in which the bucket shows names, fixed when a tenant begins; absent: `encrypted`. */
  readonly names?: 'encrypted' | 'plain';
  /** The wording of what the model reads; absent: `doc`. */
  readonly wording?: 'doc' | 'sdk';
  /** The answer of `create` where a file exists; absent: `error`. */
  readonly onExists?: 'error' | 'overwrite';
  /** `sdk`: requests to S3 go through the client of the AWS SDK; absent: `lean`. */
  readonly s3Client?: 'lean' | 'sdk';
}

/** How a setting is told to the functions, and how its text is read. */
interface SettingRow {
  readonly variable: string;
  /** The functions that are told. What both must agree on goes to both. */
  readonly told: 'worker' | 'expiry' | 'both';
  /** The form of a value; a list has all values there are, and `BOUNDS` the bounds of each number. */
  readonly form: 'number' | 'flag' | 'text' | readonly string[];
  /** The pattern that a text matches, and its description. */
  readonly matches?: readonly [RegExp, string];
}

const KIND = '(secrets|email|card|iban|phone|invisible)';
const POLICY = new RegExp(`^(redact *, *)*${KIND}( *, *(${KIND}|redact))*$`);
const MOUNT = '/[^=,]+=[a-z0-9-]+(:ro)?(:expires=(true|false))?';
const MOUNTS = new RegExp(`^${MOUNT}( *, *${MOUNT})*$`);

/** Every setting once. A further one is a row here, a property above, and a line in docs/deployment.md. */
export const SETTINGS: Readonly<Record<keyof WorkerSettings, SettingRow>> = {
  model: { variable: 'SEALED_MEMORY_WORKER_MODEL', told: 'worker', form: 'text' },
  maxTokens: { variable: 'SEALED_MEMORY_WORKER_MAX_TOKENS', told: 'worker', form: 'number' },
  maxRequests: { variable: 'SEALED_MEMORY_WORKER_MAX_REQUESTS', told: 'worker', form: 'number' },
  effort: {
    variable: 'SEALED_MEMORY_WORKER_EFFORT',
    told: 'worker',
    form: ['low', 'medium', 'high', 'xhigh', 'max'],
  },
  systemPrompt: { variable: 'SEALED_MEMORY_WORKER_SYSTEM_PROMPT', told: 'worker', form: 'text' },
  reply: { variable: 'SEALED_MEMORY_WORKER_REPLY', told: 'worker', form: ['pointer', 'inline'] },
  tokensPerDay: { variable: 'SEALED_MEMORY_WORKER_TOKENS_PER_DAY', told: 'worker', form: 'number' },
  // The worker records the reads by which the expiry judges.
  expireAfterDays: { variable: 'SEALED_MEMORY_EXPIRE_AFTER_DAYS', told: 'both', form: 'number' },
  expireDryRun: { variable: 'SEALED_MEMORY_WORKER_EXPIRE_DRY_RUN', told: 'expiry', form: 'flag' },
  checkpoints: { variable: 'SEALED_MEMORY_WORKER_CHECKPOINTS', told: 'expiry', form: 'flag' },
  historyDays: { variable: 'SEALED_MEMORY_HISTORY_DAYS', told: 'both', form: 'number' },
  // The expiry spares a mounted tenant whose reads nobody records.
  mounts: {
    variable: 'SEALED_MEMORY_MOUNTS',
    told: 'both',
    form: 'text',
    matches: [MOUNTS, 'mounts such as /memories/handbook=org:ro:expires=false, with commas between them'],
  },
  policy: {
    variable: 'SEALED_MEMORY_POLICY',
    told: 'worker',
    form: 'text',
    matches: [
      POLICY,
      'some of secrets, email, card, iban, phone, invisible, redact, with commas between them',
    ],
  },
  maxFileBytes: { variable: 'SEALED_MEMORY_MAX_FILE_BYTES', told: 'worker', form: 'number' },
  maxFiles: { variable: 'SEALED_MEMORY_MAX_FILES', told: 'worker', form: 'number' },
  maxTenantBytes: { variable: 'SEALED_MEMORY_MAX_TENANT_BYTES', told: 'worker', form: 'number' },
  cacheBytes: { variable: 'SEALED_MEMORY_CACHE_BYTES', told: 'worker', form: 'number' },
  keyringTtlSeconds: { variable: 'SEALED_MEMORY_KEYRING_TTL_SECONDS', told: 'both', form: 'number' },
  createTenants: { variable: 'SEALED_MEMORY_CREATE_TENANTS', told: 'worker', form: 'flag' },
  readOnly: { variable: 'SEALED_MEMORY_READ_ONLY', told: 'worker', form: 'flag' },
  names: { variable: 'SEALED_MEMORY_NAMES', told: 'worker', form: ['encrypted', 'plain'] },
  wording: { variable: 'SEALED_MEMORY_WORDING', told: 'worker', form: ['doc', 'sdk'] },
  onExists: { variable: 'SEALED_MEMORY_ON_EXISTS', told: 'worker', form: ['error', 'overwrite'] },
  s3Client: { variable: 'SEALED_MEMORY_S3_CLIENT', told: 'both', form: ['lean', 'sdk'] },
};

const ROWS = Object.entries(SETTINGS) as readonly (readonly [keyof WorkerSettings, SettingRow])[];

/** The settings that may be long. */
const LONG_TEXTS = ['systemPrompt', 'mounts', 'policy'] as const;
/** The most bytes of these together: AWS gives the variables of a function 4 KiB, of which the places take up to half. */
const MOST_TEXT_BYTES = 2_048;

/**
 * Checks the texts among the settings, and how settings go together; `checkBounds` checks their numbers.
 *
 * @throws RangeError that names the setting and what was expected.
 */
export function checkSettings(settings: Partial<WorkerSettings>): void {
  for (const [name, { form, matches: [pattern, expected] = [] }] of ROWS) {
    const value = settings[name];
    if (value === undefined) continue;
    if (typeof form === 'object' && !form.includes(String(value))) {
      throw new RangeError(`${name} must be one of ${form.join(', ')}`);
    }
    if (form === 'text' && value === '') throw new RangeError(`${name} must not be empty`);
    if (pattern?.test(String(value)) === false) throw new RangeError(`${name} takes ${expected}`);
  }
  if (settings.readOnly === true && settings.expireAfterDays !== undefined) {
    throw new RangeError('readOnly goes without expireAfterDays: who writes nothing records no reads');
  }
  const texts = LONG_TEXTS.map((name) => settings[name] ?? '').join('');
  if (new TextEncoder().encode(texts).length > MOST_TEXT_BYTES) {
    throw new RangeError(
      `${LONG_TEXTS.join(', ')} must have at most ${MOST_TEXT_BYTES} bytes together: put longer ones into a worker of your own`,
    );
  }
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
  readonly customerDeadLetterQueueUrl?: string | undefined;
  readonly replyQueueUrl: string;
  readonly apiKeySecretArn: string;
  readonly expiryQueueUrl: string;
  /** The settings of tenants, as `SEALED_MEMORY_TENANTS` takes them; undefined: all have the same ones. */
  readonly tenantSettings?: string | undefined;
}

type FunctionEnvironment = Record<string, string>;
type MemoryPlaces = Pick<
  WorkerPlaces,
  'bucketName' | 'prefix' | 'rootKeyArns' | 'tenantRoleArn' | 'tenantSettings'
>;

/** Makes the environment of the functions that run turns. */
export function workerEnvironment(
  settings: WorkerSettings,
  places: Omit<WorkerPlaces, 'expiryQueueUrl'>,
): FunctionEnvironment {
  return {
    ...memoryEnvironment(places),
    ...variablesOf(settings, 'worker'),
    SEALED_MEMORY_WORKER_QUEUE_URL: places.turnQueueUrl,
    SEALED_MEMORY_WORKER_QUEUE_RETENTION_SECONDS: String(places.turnRetentionSeconds),
    SEALED_MEMORY_WORKER_DEAD_LETTER_QUEUE_URL: places.deadLetterQueueUrl,
    ...(places.customerDeadLetterQueueUrl !== undefined && {
      SEALED_MEMORY_WORKER_CUSTOMER_DEAD_LETTER_QUEUE_URL: places.customerDeadLetterQueueUrl,
    }),
    SEALED_MEMORY_WORKER_REPLY_QUEUE_URL: places.replyQueueUrl,
    SEALED_MEMORY_WORKER_API_KEY_SECRET_ARN: places.apiKeySecretArn,
  };
}

/** Makes the environment of the expiry function, with its own queue and without Claude. */
export function expiryEnvironment(
  settings: WorkerSettings,
  places: MemoryPlaces & Pick<WorkerPlaces, 'expiryQueueUrl'>,
): FunctionEnvironment {
  return {
    ...memoryEnvironment(places),
    ...variablesOf(settings, 'expiry'),
    SEALED_MEMORY_WORKER_EXPIRY_QUEUE_URL: places.expiryQueueUrl,
  };
}

/** Makes the variables of the places that both functions use. */
function memoryEnvironment(places: MemoryPlaces): FunctionEnvironment {
  return {
    SEALED_MEMORY_STORE: storeUrl(places),
    SEALED_MEMORY_ROOT_KEY: places.rootKeyArns.map((arn) => `aws-kms:${arn}`).join(','),
    SEALED_MEMORY_WORKER_TENANT_ROLE_ARN: places.tenantRoleArn,
    ...(places.tenantSettings !== undefined && { SEALED_MEMORY_TENANTS: places.tenantSettings }),
  };
}

/** Makes the variables of the settings that a function is told. */
function variablesOf(settings: WorkerSettings, who: 'worker' | 'expiry'): FunctionEnvironment {
  return Object.fromEntries(
    ROWS.flatMap(([name, { variable, told, form }]) => {
      const value = settings[name];
      if (value === undefined || (told !== who && told !== 'both')) return [];
      return [[variable, form === 'flag' ? String(Number(value)) : String(value)]];
    }),
  );
}

export function storeUrl({ bucketName, prefix }: Pick<WorkerPlaces, 'bucketName' | 'prefix'>): string {
  return prefix === '' ? `s3://${bucketName}` : `s3://${bucketName}/${prefix}`;
}
