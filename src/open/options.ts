import { checkWholeNumber, misconfigured } from '../errors.ts';
import { MAX_EPOCH } from '../format/keyring-bytes.ts';
import { createLayout, parseTenantId, type TenantId } from '../format/object-keys.ts';
import { MAX_CONTENT_BYTES } from '../format/sizes.ts';
import { LONGEST_TTL_MS } from '../keys/keyring-cache.ts';
import { type MemoryPath, parseMemoryPath, segmentsOf } from '../language/path.ts';
import type { Logger } from '../logger.ts';
import type { ObjectStore } from '../store/port.ts';
import type { ToolErrorClass } from '../tool/memory-tool.ts';
import type { EventHandler } from '../tool/watch.ts';
import type { Policy } from '../tree/policy.ts';
import { checkActor } from '../tree/session.ts';
import { DEFAULT_CACHE_BYTES } from '../tree/version-cache.ts';
import { refuseUnknownNames } from './known-names.ts';
import { refuseOldNode } from './node-version.ts';
import { checkPolicyWords, type PolicyInput, readPolicy } from './policy-option.ts';
import { openRootKeys, type RootKeyInput, type RootKeys } from './root-keys.ts';
import { type AwsCredentials, type ConfiguredStore, parseStoreLocation, type S3Options } from './store.ts';

/** No option is read from the environment: `optionsFromEnvironment()` makes options of it. */
export interface MemoryOptions {
  /** `memory:`, `sqlite:PATH`, `s3://bucket/prefix`, or a store that the caller opened and closes. */
  readonly store?: string | ObjectStore | undefined;
  /** Whose memory: `[a-z0-9][a-z0-9-]{0,62}`, visible in object keys. Never take it from the model. */
  readonly tenant?: string | undefined;
  /** The first wraps what is written, all of them open what is read. */
  readonly rootKey?: RootKeyInput | readonly RootKeyInput[] | undefined;
  /** `doc` (default): the documented sentences. `sdk`: the wording of the SDK's filesystem tool. */
  readonly profile?: 'doc' | 'sdk' | undefined;
  /** What `create` does where a file exists; default `error`. */
  readonly onExists?: 'error' | 'overwrite' | undefined;
  /** How names are stored, fixed when the tenant is created; default `encrypted`. */
  readonly names?: 'encrypted' | 'plain' | undefined;
  /** How many objects of a directory are renamed or read at once, 1–256; default 32. At most 32 MiB together. */
  readonly concurrency?: number | undefined;
  /**
   * Whether the store and the keyring are reached beside the start instead of before it: opening then resolves at once,
   * and a wrong setting fails the first command. For functions that must start fast; default false.
   */
  readonly lazy?: boolean | undefined;
  /** Whether the memory can be read only: every write is refused, and reading writes nothing either; default false. */
  readonly readOnly?: boolean | undefined;
  /**
   * Judges every file, as it would be, before it is sealed, and every new name: what it refuses is not written. One for
   * secrets and personal data is in `sealed-memory/policy`; words such as `secrets,email,redact` stand for it.
   */
  readonly policy?: PolicyInput | undefined;
  readonly limits?:
    | {
        /** The largest file, 1–1,073,741,823 bytes; default 1 MiB. */
        readonly fileBytes?: number | undefined;
        /** How many files the tenant may hold, 1–100,000,000; default no limit. */
        readonly files?: number | undefined;
        /**
         * How many bytes of content all files of the tenant may have together, 1–100,000,000,000,000; default no limit. As for
         * `files`, what is there is counted at most once a minute (docs/policies.md).
         */
        readonly tenantBytes?: number | undefined;
      }
    | undefined;
  readonly keyring?:
    | {
        /** How long keys stay in the cache, 0–900,000 ms; default 300,000. Revocation takes that long. */
        readonly ttlMs?: number | undefined;
        /** The least epoch the tenant's keyring must have: an older one, put back into the store, is refused. */
        readonly minimumEpoch?: number | undefined;
      }
    | undefined;
  readonly cache?:
    | {
        /**
         * Files that were read or written last stay in memory, sealed, in up to so many bytes, 0–1,073,741,824, of all
         * tenants together; default 16 MiB. 0: none. They save requests; nothing is told of them without asking the store.
         */
        readonly bytes?: number | undefined;
      }
    | undefined;
  /**
   * Files that are neither read nor written for so many days, 1–3,650, expire: every read is recorded, once a day and
   * file by one small object, and a scheduled run deletes. Must be the same in all processes of a tenant. Default: none
   * expires.
   */
  readonly expireAfterDays?: number | undefined;
  /** Endpoint, region and kind of an S3 store. */
  readonly s3?: S3Options | undefined;
  /** Of an S3 store and of root keys in KMS; default the SDK's own search. */
  readonly credentials?: AwsCredentials | undefined;
  /**
   * Memories of other tenants or stores, each seen as a directory of this one, with keys and credentials of its own. What
   * a mount does not say is as for this memory, but the tenant, `readOnly`, and the least epoch.
   */
  readonly mounts?: readonly MountOptions[] | undefined;
  /** Unless given, what an operator must know goes to `console.warn`, each code once a minute. */
  readonly logger?: Logger | undefined;
  /**
   * Called after every command of the model, every call of `memory.files` and every verb of an administration, when its
   * answer is out; a text is the path of a file that a line of JSON is appended to. What it throws is logged once.
   */
  readonly onEvent?: EventHandler | string | undefined;
  /** Whether events name paths; default false. */
  readonly eventPaths?: boolean | undefined;
  /** Who asks, for events: a session, a turn, a user; 1–256 characters. */
  readonly actor?: string | undefined;
  /** Called for every HTTP request that is sent to an S3 store, repeated ones included; names the operation. */
  readonly onRequest?: ((request: { readonly operation: string }) => void) | undefined;
  /**
   * The `ToolError` of the host's own copy of `@anthropic-ai/sdk`. Needed only where that is another copy than the
   * one this package resolves; `require('sealed-memory')` sets it by itself.
   */
  readonly toolError?: ToolErrorClass | undefined;
}

/** Another memory below a directory of this one. */
export interface MountOptions
  extends Pick<
    MemoryOptions,
    | 'store'
    | 'tenant'
    | 'rootKey'
    | 'names'
    | 's3'
    | 'credentials'
    | 'keyring'
    | 'limits'
    | 'readOnly'
    | 'policy'
  > {
  /** Where it is seen: a name directly below the root, such as `/memories/handbook`. */
  readonly at: string;
}

const OF_MOUNT: ReadonlySet<string> = new Set<keyof MountOptions>([
  ...(['at', 'store', 'tenant', 'rootKey', 'names', 's3', 'credentials'] as const),
  ...(['keyring', 'limits', 'readOnly', 'policy'] as const),
]);

/** A mount that was judged: where it is seen, and the settings of its memory. */
export interface MountPoint {
  readonly at: MemoryPath;
  readonly tenant: TenantId;
  readonly settings: Settings;
  readonly given: MountOptions;
}

/** How the value of an option is judged. `check` throws `misconfigured`, naming `label` and never the text. */
type Rule =
  | { readonly kind: 'text'; readonly check: (text: string, label: string) => unknown }
  | { readonly kind: 'choice'; readonly of: readonly string[] }
  | { readonly kind: 'flag' }
  /** `scale`: what one of the variable's units is in the option's. */
  | { readonly kind: 'number'; readonly least: number; readonly most: number; readonly scale?: number };

/** One option: its name in `MemoryOptions`, its environment variable, and how it is judged. */
export interface OptionRow {
  readonly option: string;
  readonly variable?: string;
  /** Variables of every AWS program, read where `variable` is absent. */
  readonly shared?: readonly string[];
  readonly rule: Rule;
  readonly fallback?: string | number;
}

const DEFAULT_FILE_BYTES = 1_048_576;
const DEFAULT_CONCURRENCY = 32;
const MAX_CACHE_BYTES = 1_073_741_824;
const MAX_TENANT_FILES = 100_000_000;
const MAX_TENANT_BYTES = 100_000_000_000_000;

/** The options whose values are judged by a rule. Root keys, credentials and callbacks have none. */
export const OPTIONS: readonly OptionRow[] = [
  {
    option: 'store',
    variable: 'SEALED_MEMORY_STORE',
    rule: { kind: 'text', check: parseStoreLocation },
  },
  { option: 'tenant', variable: 'SEALED_MEMORY_TENANT', rule: { kind: 'text', check: readTenant } },
  {
    option: 'profile',
    variable: 'SEALED_MEMORY_PROFILE',
    rule: { kind: 'choice', of: ['doc', 'sdk'] },
    fallback: 'doc',
  },
  {
    option: 'onExists',
    variable: 'SEALED_MEMORY_ON_EXISTS',
    rule: { kind: 'choice', of: ['error', 'overwrite'] },
    fallback: 'error',
  },
  {
    option: 'names',
    variable: 'SEALED_MEMORY_NAMES',
    rule: { kind: 'choice', of: ['encrypted', 'plain'] },
  },
  {
    option: 'concurrency',
    rule: { kind: 'number', least: 1, most: 256 },
    fallback: DEFAULT_CONCURRENCY,
  },
  { option: 'lazy', rule: { kind: 'flag' } },
  { option: 'policy', variable: 'SEALED_MEMORY_POLICY', rule: { kind: 'text', check: checkPolicyWords } },
  { option: 'onEvent', variable: 'SEALED_MEMORY_EVENTS_FILE', rule: { kind: 'text', check: refuseEmpty } },
  { option: 'eventPaths', variable: 'SEALED_MEMORY_EVENT_PATHS', rule: { kind: 'flag' } },
  { option: 'actor', variable: 'SEALED_MEMORY_ACTOR', rule: { kind: 'text', check: checkActor } },
  { option: 'readOnly', variable: 'SEALED_MEMORY_READ_ONLY', rule: { kind: 'flag' } },
  {
    option: 'limits.fileBytes',
    variable: 'SEALED_MEMORY_MAX_FILE_BYTES',
    rule: { kind: 'number', least: 1, most: MAX_CONTENT_BYTES },
    fallback: DEFAULT_FILE_BYTES,
  },
  {
    option: 'limits.files',
    variable: 'SEALED_MEMORY_MAX_FILES',
    rule: { kind: 'number', least: 1, most: MAX_TENANT_FILES },
  },
  {
    option: 'limits.tenantBytes',
    variable: 'SEALED_MEMORY_MAX_TENANT_BYTES',
    rule: { kind: 'number', least: 1, most: MAX_TENANT_BYTES },
  },
  {
    option: 'cache.bytes',
    variable: 'SEALED_MEMORY_CACHE_BYTES',
    rule: { kind: 'number', least: 0, most: MAX_CACHE_BYTES },
    fallback: DEFAULT_CACHE_BYTES,
  },
  {
    option: 'keyring.ttlMs',
    variable: 'SEALED_MEMORY_KEYRING_TTL_SECONDS',
    rule: { kind: 'number', least: 0, most: LONGEST_TTL_MS, scale: 1_000 },
  },
  {
    option: 'keyring.minimumEpoch',
    variable: 'SEALED_MEMORY_KEYRING_MIN_EPOCH',
    rule: { kind: 'number', least: 1, most: MAX_EPOCH },
  },
  {
    option: 'expireAfterDays',
    variable: 'SEALED_MEMORY_EXPIRE_AFTER_DAYS',
    rule: { kind: 'number', least: 1, most: 3_650 },
  },
  {
    option: 's3.endpoint',
    variable: 'SEALED_MEMORY_S3_ENDPOINT',
    shared: ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'],
    rule: { kind: 'text', check: checkEndpoint },
  },
  {
    option: 's3.region',
    variable: 'SEALED_MEMORY_S3_REGION',
    shared: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
    rule: { kind: 'text', check: checkRegion },
  },
  {
    option: 's3.forcePathStyle',
    variable: 'SEALED_MEMORY_S3_FORCE_PATH_STYLE',
    rule: { kind: 'flag' },
  },
  { option: 's3.guarded', variable: 'SEALED_MEMORY_S3_GUARDED', rule: { kind: 'flag' } },
  {
    option: 's3.checksums',
    variable: 'SEALED_MEMORY_S3_CHECKSUMS',
    rule: { kind: 'choice', of: ['when_supported', 'when_required'] },
  },
  {
    option: 's3.client',
    variable: 'SEALED_MEMORY_S3_CLIENT',
    rule: { kind: 'choice', of: ['lean', 'sdk'] },
  },
];

const WITHOUT_RULE = ['rootKey', 'mounts', 'credentials', 'logger', 'onRequest', 'toolError'];
const NAMES: ReadonlySet<string> = new Set([...OPTIONS.map(({ option }) => option), ...WITHOUT_RULE]);
/** What is given in place of a text. */
const OTHER_KINDS: Readonly<Record<string, string>> = {
  store: 'object',
  policy: 'function',
  onEvent: 'function',
};
const GROUPS: ReadonlySet<string> = new Set(['limits', 'cache', 'keyring', 's3']);

/** Options that were judged, defaults filled in. `rootKeys` is secret: never log it. */
export interface Settings
  extends Pick<
    MemoryOptions,
    'credentials' | 'logger' | 'onRequest' | 'toolError' | 'names' | 'onEvent' | 'actor'
  > {
  readonly eventPaths: boolean;
  readonly store: ConfiguredStore;
  /** What every object key begins with; empty unless the store is a bucket. */
  readonly prefix: string;
  /** Absent only in a pool. */
  readonly tenant: TenantId | undefined;
  readonly rootKeys: RootKeys;
  readonly profile: 'doc' | 'sdk';
  readonly onExists: 'error' | 'overwrite';
  readonly concurrency: number;
  readonly lazy: boolean;
  readonly readOnly: boolean;
  readonly policy: Policy | undefined;
  readonly maxFileBytes: number;
  readonly limits: Pick<NonNullable<MemoryOptions['limits']>, 'files' | 'tenantBytes'>;
  readonly cacheBytes: number;
  readonly keyring: { readonly ttlMs?: number; readonly minimumEpoch?: number };
  readonly expireAfterDays: number | undefined;
  readonly s3: S3Options;
}

/**
 * @throws MemoryError `misconfigured` for an unknown option, a missing store or root key, or a malformed value; its
 * sentence names the option and what was expected, never the value.
 */
export function readSettings(options: MemoryOptions): Settings {
  refuseOldNode();
  refuseUnknown(options);
  for (const { option, rule } of OPTIONS) {
    const value = memberOf(options, option);
    if (value !== undefined && typeof value !== OTHER_KINDS[option]) {
      judge(rule, value, option);
    }
  }
  const {
    profile = 'doc',
    onExists = 'error',
    concurrency = DEFAULT_CONCURRENCY,
    lazy = false,
    readOnly = false,
    eventPaths = false,
  } = options;
  const { names, limits, cache, keyring, s3, expireAfterDays } = options;
  const { credentials, logger, onRequest, toolError, onEvent, actor } = options;
  const store = readStore(options.store);
  const prefix = store.kind === 's3' ? store.prefix : '';
  const tenant = options.tenant === undefined ? undefined : readTenant(options.tenant, 'tenant');
  // Object keys must have room for a memory path; without a tenant the prefix alone is judged.
  createLayout({ prefix, tenant: tenant ?? parseTenantId('0') });
  return Object.freeze({
    ...{ store, prefix, tenant, profile, onExists, names, concurrency, lazy, readOnly, expireAfterDays },
    policy: readPolicy(options.policy),
    rootKeys: readRootKeys(options),
    maxFileBytes: limits?.fileBytes ?? DEFAULT_FILE_BYTES,
    limits: given({ files: limits?.files, tenantBytes: limits?.tenantBytes }),
    cacheBytes: cache?.bytes ?? DEFAULT_CACHE_BYTES,
    keyring: given(keyring),
    s3: given(s3),
    ...{ credentials, logger, onRequest, toolError, onEvent, eventPaths, actor },
  });
}

/** @throws MemoryError `misconfigured` for a mount at a wrong place or of a wrong option, as `readSettings`. */
export function readMounts(options: MemoryOptions): readonly MountPoint[] {
  const { mounts = [], tenant: _tenant, readOnly: _readOnly, keyring, ...shared } = options;
  const points = mounts.map((mount) => {
    refuseUnknownNames(Object.keys(mount), { known: OF_MOUNT, what: 'an option of a mount' });
    // What is undefined is not said, and must not take the memory's own policy or limits away.
    const { at, ...own } = given(mount);
    const settings = readSettings({ ...shared, keyring: { ttlMs: keyring?.ttlMs }, ...own });
    return { at: parseMountPath(at), tenant: requireTenant(settings), settings, given: mount };
  });
  if (new Set(points.map(({ at }) => at)).size === points.length) return points;
  throw misconfigured('Two mounts cannot lie at one path.');
}

function parseMountPath(text: string): MemoryPath {
  const path = parseMemoryPath(text);
  if (segmentsOf(path).length === 1) return path;
  throw misconfigured('A mount must lie directly below /memories, such as /memories/handbook.');
}

/** @throws MemoryError `misconfigured` when the value does not keep the rule. */
export function judge(rule: Rule, value: unknown, label: string): void {
  switch (rule.kind) {
    case 'text':
      if (typeof value !== 'string') throw misconfigured(`${label} must be a text.`);
      rule.check(value, label);
      return;
    case 'choice':
      if (rule.of.some((each) => each === value)) return;
      throw misconfigured(`${label} must be ${rule.of.join(' or ')}.`);
    case 'flag':
      if (typeof value === 'boolean') return;
      throw misconfigured(`${label} must be true or false.`);
    case 'number':
      checkWholeNumber(label, value, rule);
  }
}

function refuseUnknown(options: MemoryOptions): void {
  const names = Object.entries(options).flatMap(([name, value]) =>
    GROUPS.has(name) ? Object.keys(value ?? {}).map((inner) => `${name}.${inner}`) : [name],
  );
  refuseUnknownNames(names, { known: NAMES, what: 'an option' });
}

/** What was given of a group, without the members that are undefined. */
function given<T extends object>(
  group: T | undefined,
): { readonly [K in keyof T]: Exclude<T[K], undefined> } {
  const members = Object.entries(group ?? {}).filter(([, value]) => value !== undefined);
  return Object.freeze(Object.fromEntries(members)) as { readonly [K in keyof T]: Exclude<T[K], undefined> };
}

/** The value under a dotted name. */
function memberOf(options: MemoryOptions, option: string): unknown {
  return option.split('.').reduce((value: unknown, name) => Object(value)[name], options);
}

function readStore(given: MemoryOptions['store']): Settings['store'] {
  if (given === undefined) {
    throw misconfigured(
      'store (SEALED_MEMORY_STORE) is not set: memory:, sqlite:PATH or s3://bucket/prefix.',
    );
  }
  return Object.freeze(
    typeof given === 'string' ? parseStoreLocation(given, 'store') : { kind: 'opened', store: given },
  );
}

function readTenant(text: string, label: string): TenantId {
  try {
    return parseTenantId(text);
  } catch (error) {
    throw misconfigured(
      `${label} is not a tenant id: 1-63 of a-z, 0-9 and "-", beginning with a letter or digit.`,
      error,
    );
  }
}

/** @throws MemoryError `misconfigured` when the settings name none. */
export function requireTenant({ tenant }: Settings): TenantId {
  if (tenant !== undefined) return tenant;
  throw misconfigured('tenant (SEALED_MEMORY_TENANT) is not set: the id of the tenant whose memory this is.');
}

function readRootKeys({ rootKey, credentials }: MemoryOptions): RootKeys {
  if (rootKey === undefined) {
    throw misconfigured(
      'No root key: set rootKey, SEALED_MEMORY_ROOT_KEY or SEALED_MEMORY_ROOT_KEY_FILE; "sealed-memory init" creates a key file.',
    );
  }
  return openRootKeys(isList(rootKey) ? rootKey : [rootKey], credentials);
}

function isList(input: RootKeyInput | readonly RootKeyInput[]): input is readonly RootKeyInput[] {
  return Array.isArray(input);
}

function checkEndpoint(text: string, label: string): void {
  const url = URL.parse(text);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (!isHttp || `${url.username}${url.password}${url.search}${url.hash}` !== '') {
    throw misconfigured(`${label} must be an http or https URL without credentials, query and fragment.`);
  }
}

function refuseEmpty(text: string, label: string): void {
  if (text === '') throw misconfigured(`${label} must not be empty.`);
}

function checkRegion(text: string, label: string): void {
  if (!/^[A-Za-z0-9-]{1,63}$/.test(text)) {
    throw misconfigured(`${label} is not the name of a region, such as eu-central-1.`);
  }
}
