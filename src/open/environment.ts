import { fromBase64 } from '../format/encoding.ts';
import { createLayout, parseTenantId, type TenantId } from '../format/object-keys.ts';
import { MAX_CONTENT_BYTES } from '../format/sizes.ts';
import { LONGEST_TTL_MS } from '../keys/keyring-cache.ts';
import { KMS_SCHEME, parseKeyArn } from '../keys/kms-root-key.ts';
import { readRootKeyFile } from './root-key-file.ts';
import { readS3Config, type S3Config } from './s3-config.ts';
import {
  type Environment,
  environmentSetting,
  misconfigured,
  readByteCount,
  readChoice,
  readFlag,
  readWholeNumber,
  type Setting,
} from './setting.ts';
import { parseStoreLocation, type StoreLocation } from './store-location.ts';
import { WORKER_VARIABLES } from './worker-config.ts';

/** What an entry point needs, validated and frozen. `rootKeys` is secret: never log a Config. */
export interface Config {
  /** Absent only when the caller brings a store of its own. */
  readonly store: StoreLocation | undefined;
  /** Absent only in a pool. */
  readonly tenant: TenantId | undefined;
  /**
   * Each canonical base64 of 32 bytes, or `aws-kms:` and a key ARN; the first wraps, all unwrap. Empty only when the
   * caller brings its own.
   */
  readonly rootKeys: readonly string[];
  readonly profile: 'doc' | 'sdk';
  readonly onExists: 'error' | 'overwrite';
  /** Absent: whatever the tenant was created with, `encrypted` for a new one. */
  readonly names: 'encrypted' | 'plain' | undefined;
  readonly maxFileBytes: number;
  readonly keyring: KeyringConfig;
  /** Files that nobody reads or writes for so many days expire, and every read is recorded. Absent: none expires. */
  readonly expireAfterDays: number | undefined;
  readonly s3: S3Config;
  readonly harness: boolean;
}

export interface KeyringConfig {
  /** How long a keyring stays in the cache. Absent: left to the keyring store. */
  readonly ttlMs?: number;
  /** A keyring of a lower epoch is refused. Absent: none is pinned. */
  readonly minimumEpoch?: number;
}

/** Values that stand before the environment's, named as in `MemoryOptions` and judged by the same rules. */
export interface ConfigOverrides {
  readonly store?: string | undefined;
  readonly tenant?: string | undefined;
  readonly rootKey?: string | readonly string[] | undefined;
  readonly profile?: 'doc' | 'sdk' | undefined;
  readonly onExists?: 'error' | 'overwrite' | undefined;
  readonly names?: 'encrypted' | 'plain' | undefined;
  readonly limits?: { readonly fileBytes?: number | undefined } | undefined;
  readonly expireAfterDays?: number | undefined;
  readonly keyring?:
    | { readonly ttlMs?: number | undefined; readonly minimumEpoch?: number | undefined }
    | undefined;
}

/** A required setting that the caller brings itself, as an object or at every `open`. */
export type SuppliedSetting = 'store' | 'tenant' | 'rootKey';

const DEFAULT_MAX_FILE_BYTES = 1_048_576;
const MOST_DAYS = 3_650;
const MAX_EPOCH = 2 ** 32 - 1;
const PREFIX = 'SEALED_MEMORY_';
const VARIABLES: readonly string[] = [
  ...['STORE', 'TENANT', 'ROOT_KEY', 'ROOT_KEY_FILE', 'PROFILE', 'ON_EXISTS', 'NAMES', 'MAX_FILE_BYTES'],
  ...['KEYRING_TTL_SECONDS', 'KEYRING_MIN_EPOCH', 'EXPIRE_AFTER_DAYS'],
  ...['S3_ENDPOINT', 'S3_REGION', 'S3_FORCE_PATH_STYLE', 'S3_GUARDED', 'S3_CHECKSUMS', 'HARNESS'],
].map((name) => PREFIX + name);
/** Of the worker, which reads them itself. */
const KNOWN: ReadonlySet<string> = new Set([...VARIABLES, ...WORKER_VARIABLES]);

/**
 * Reads the environment, and the root key file it names. Store, tenant and root key have no default; the ones in
 * `supplied` are neither required nor read. Throws one `misconfigured` for an unknown `SEALED_MEMORY_` name, a
 * missing setting or a malformed value: it names the setting and what was expected, never the value.
 */
export function readConfig(
  env: Environment = process.env,
  overrides: ConfigOverrides = {},
  supplied: readonly SuppliedSetting[] = [],
): Config {
  refuseUnknownNames(env);
  const setting = (option: string, given: string | number | undefined, name: string): Setting | undefined =>
    given === undefined ? environmentSetting(env, PREFIX + name) : { label: option, text: String(given) };

  const store = supplied.includes('store')
    ? undefined
    : readStore(setting('store', overrides.store, 'STORE'));
  const tenant = supplied.includes('tenant')
    ? undefined
    : readTenant(setting('tenant', overrides.tenant, 'TENANT'));
  checkPrefix(store, tenant);
  const fileBytes = setting('limits.fileBytes', overrides.limits?.fileBytes, 'MAX_FILE_BYTES');
  const days = setting('expireAfterDays', overrides.expireAfterDays, 'EXPIRE_AFTER_DAYS');
  return Object.freeze({
    store,
    tenant,
    rootKeys: supplied.includes('rootKey') ? Object.freeze([]) : readRootKeys(env, overrides.rootKey),
    profile: readChoice(setting('profile', overrides.profile, 'PROFILE'), ['doc', 'sdk']) ?? 'doc',
    onExists:
      readChoice(setting('onExists', overrides.onExists, 'ON_EXISTS'), ['error', 'overwrite']) ?? 'error',
    names: readChoice(setting('names', overrides.names, 'NAMES'), ['encrypted', 'plain']),
    maxFileBytes:
      fileBytes === undefined ? DEFAULT_MAX_FILE_BYTES : readByteCount(fileBytes, MAX_CONTENT_BYTES),
    keyring: readKeyringConfig(env, overrides.keyring),
    expireAfterDays: days && readWholeNumber(days, { least: 1, most: MOST_DAYS }),
    s3: readS3Config(env),
    harness: readFlag(environmentSetting(env, 'SEALED_MEMORY_HARNESS')) ?? false,
  });
}

function refuseUnknownNames(env: Environment): void {
  const unknown = Object.keys(env).find((name) => name.startsWith(PREFIX) && !KNOWN.has(name));
  if (unknown !== undefined) {
    throw misconfigured(`${unknown} is not a setting. The settings are ${VARIABLES.join(', ')}.`);
  }
}

function readStore(setting: Setting | undefined): StoreLocation {
  if (setting === undefined) {
    throw misconfigured('SEALED_MEMORY_STORE is not set: memory:, sqlite:PATH or s3://bucket/prefix.');
  }
  return Object.freeze(parseStoreLocation(setting.text, setting.label));
}

function readTenant(setting: Setting | undefined): TenantId {
  if (setting === undefined) {
    throw misconfigured('SEALED_MEMORY_TENANT is not set: the id of the tenant whose memory this is.');
  }
  try {
    return parseTenantId(setting.text);
  } catch (error) {
    throw misconfigured(
      `${setting.label} is not a tenant id: 1-63 of a-z, 0-9 and "-", beginning with a letter or digit.`,
      error,
    );
  }
}

/** Object keys must have room for a memory path; without a tenant the prefix alone is judged. */
function checkPrefix(store: StoreLocation | undefined, tenant: TenantId | undefined): void {
  if (store?.kind === 's3') {
    createLayout({ prefix: store.prefix, tenant: tenant ?? parseTenantId('0') });
  }
}

function readKeyringConfig(env: Environment, given: ConfigOverrides['keyring'] = {}): KeyringConfig {
  const ttl = environmentSetting(env, 'SEALED_MEMORY_KEYRING_TTL_SECONDS');
  const ttlMs =
    given.ttlMs === undefined
      ? ttl && readWholeNumber(ttl, { least: 0, most: LONGEST_TTL_MS / 1_000 }) * 1_000
      : readWholeNumber(
          { label: 'keyring.ttlMs', text: String(given.ttlMs) },
          { least: 0, most: LONGEST_TTL_MS },
        );
  const epoch =
    given.minimumEpoch === undefined
      ? environmentSetting(env, 'SEALED_MEMORY_KEYRING_MIN_EPOCH')
      : { label: 'keyring.minimumEpoch', text: String(given.minimumEpoch) };
  const minimumEpoch = epoch && readWholeNumber(epoch, { least: 1, most: MAX_EPOCH });
  return Object.freeze({
    ...(ttlMs !== undefined && { ttlMs }),
    ...(minimumEpoch !== undefined && { minimumEpoch }),
  });
}

function readRootKeys(env: Environment, given: string | readonly string[] | undefined): readonly string[] {
  if (given !== undefined) {
    return parseRootKeys(typeof given === 'string' ? [given] : given, 'rootKey');
  }
  const key = environmentSetting(env, 'SEALED_MEMORY_ROOT_KEY');
  const file = environmentSetting(env, 'SEALED_MEMORY_ROOT_KEY_FILE');
  if (key !== undefined && file !== undefined) {
    throw misconfigured(
      'SEALED_MEMORY_ROOT_KEY and SEALED_MEMORY_ROOT_KEY_FILE are both set: unset one of them.',
    );
  }
  if (file !== undefined) {
    return parseRootKeys(readRootKeyFile(file.text, file.label).split(/[,\n]/), file.label);
  }
  if (key !== undefined) {
    return parseRootKeys(key.text.split(','), key.label);
  }
  throw misconfigured(
    'No root key: set SEALED_MEMORY_ROOT_KEY or SEALED_MEMORY_ROOT_KEY_FILE; "sealed-memory init" creates a key file.',
  );
}

function parseRootKeys(texts: readonly string[], label: string): readonly string[] {
  if (texts.length === 0) {
    throw misconfigured(`${label} holds no root key.`);
  }
  const keys = texts.map((text, index) => {
    const key = text.trim();
    const which = texts.length === 1 ? label : `Key ${index + 1} of ${label}`;
    if (key.startsWith(KMS_SCHEME)) {
      parseKeyArn(key.slice(KMS_SCHEME.length), which);
    } else if (fromBase64(key)?.length !== 32) {
      throw misconfigured(
        `${which} is not base64 of 32 bytes (44 characters, the last one "="), nor "${KMS_SCHEME}" and a key ARN.`,
      );
    }
    return key;
  });
  return Object.freeze(keys);
}
