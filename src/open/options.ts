import type { Logger } from '../logger.ts';
import type { ObjectStore } from '../store/port.ts';
import type { ToolErrorClass } from '../tool/memory-tool.ts';
import type { AwsCredentials } from './base-store.ts';
import { type Config, readConfig, type SuppliedSetting } from './environment.ts';
import { openRootKeys, type RootKeyInput, type RootKeys } from './open-root-keys.ts';
import type { S3Config } from './s3-config.ts';

export type { RootKeyInput } from './open-root-keys.ts';

/** What is absent is read from the environment (`.env.example` lists the variables). */
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
  /** How many objects of a directory are renamed or read side by side, 1–256; default 32. At most 32 MiB together. */
  readonly concurrency?: number | undefined;
  readonly limits?: { readonly fileBytes?: number | undefined } | undefined;
  readonly keyring?:
    | {
        /** How long keys stay in the cache, 0–900,000 ms; default 300,000. Revocation takes that long. */
        readonly ttlMs?: number | undefined;
        /** The least epoch the tenant's keyring must have: an older one, put back into the store, is refused. */
        readonly minimumEpoch?: number | undefined;
      }
    | undefined;
  /**
   * Files that nobody reads or writes for so many days, 1–3,650, expire: every read is recorded, once a day and file by
   * one small object, and the expiry function deletes. Must be the same in all processes of a tenant. Default: none expires.
   */
  readonly expireAfterDays?: number | undefined;
  /** Endpoint, region and kind of an S3 store. */
  readonly s3?: S3Config | undefined;
  /** Of an S3 store and of root keys in KMS; default the SDK's own search. */
  readonly credentials?: AwsCredentials | undefined;
  readonly logger?: Logger | undefined;
  /** Called for every HTTP request that is sent to an S3 store, repeated ones included; names the operation. */
  readonly onRequest?: ((request: { readonly operation: string }) => void) | undefined;
  /**
   * The `ToolError` of the host's own copy of `@anthropic-ai/sdk`. Needed only where that is another copy than the
   * one this package resolves; `require('sealed-memory')` sets it by itself.
   */
  readonly toolError?: ToolErrorClass | undefined;
}

/** Options and environment together, validated. */
export interface Settings {
  readonly config: Config;
  readonly rootKeys: RootKeys;
}

/** @throws MemoryError `misconfigured` with one sentence that names the setting. */
export function readSettings(options: MemoryOptions, supplied: readonly SuppliedSetting[] = []): Settings {
  const { store, tenant, rootKey, profile, onExists, names, limits, keyring, expireAfterDays } = options;
  const given = rootKey === undefined ? [] : isList(rootKey) ? rootKey : [rootKey];
  const bringsKeys = given.length > 0;
  const config = readConfig(
    undefined,
    {
      store: typeof store === 'string' ? store : undefined,
      tenant,
      profile,
      onExists,
      names,
      limits,
      keyring,
      expireAfterDays,
    },
    [
      ...supplied,
      ...(typeof store === 'object' ? (['store'] as const) : []),
      ...(bringsKeys ? (['rootKey'] as const) : []),
    ],
  );
  return { config, rootKeys: openRootKeys(bringsKeys ? given : config.rootKeys, options.credentials) };
}

function isList(input: RootKeyInput | readonly RootKeyInput[]): input is readonly RootKeyInput[] {
  return Array.isArray(input);
}
