import type { RootKeyInput } from '../../keys/root-keys.ts';
import type { Logger } from '../../logger.ts';
import type { PolicyInput } from '../../policy/policy-words.ts';
import type { S3Options } from '../../store/open-store.ts';
import type { ObjectStore } from '../../store/port.ts';
import type { AwsCredentials } from '../../store/s3/callers-credentials.ts';
import type { ToolErrorClass } from '../../tool/memory-tool.ts';
import type { EventHandler } from '../../tool/watch.ts';

/**
 * The options of a memory. A store, a tenant and a root key are required. No option is read from the environment:
 * `optionsFromEnvironment()` makes options of it.
 */
export interface MemoryOptions {
  /** The store: `memory:`, `sqlite:PATH`, `s3://bucket/prefix`, or one that the caller opened and closes. */
  readonly store: string | ObjectStore;
  /** The id of the memory's owner: `[a-z0-9][a-z0-9-]{0,62}`, visible in object keys. Never take it from the model. */
  readonly tenant: string;
  /** The root keys: the first wraps every keyring that is written, all of them open those that are read. */
  readonly rootKey: RootKeyInput | readonly RootKeyInput[];
  /**
   * The wording of answers. `doc` (default): the documented sentences. `sdk`: the wording of the SDK's filesystem tool.
   */
  readonly wording?: 'doc' | 'sdk' | undefined;
  /** The answer of `create` where a file exists. `error` (default): it fails. `overwrite`: it replaces the file. */
  readonly onExists?: 'error' | 'overwrite' | undefined;
  /** The form in which the store shows names, fixed when the tenant is created; default `encrypted`. */
  readonly names?: 'encrypted' | 'plain' | undefined;
  /**
   * The number of a directory's objects that are renamed or read at once, 1–256; default 32. At most 32 MiB together.
   */
  readonly concurrency?: number | undefined;
  /**
   * True to reach the store and open the keyring beside the start instead of before it: opening then resolves at once,
   * and a wrong setting fails the first command. For functions that must start fast; default false.
   */
  readonly lazy?: boolean | undefined;
  /**
   * False to refuse a tenant that has no keyring as `tenant_unknown`, its reads too: a mistyped id begins none then.
   * Default true: its first write begins it, which is one line of the log; a worker's names the tenant.
   */
  readonly createTenants?: boolean | undefined;
  /** True for a memory that is only read: every write is refused, and reads write nothing; default false. */
  readonly readOnly?: boolean | undefined;
  /**
   * Judges the content of every file before it is sealed, and every new name; a file or a name that it refuses is not
   * written. A policy for secrets, personal data and characters that cannot be seen is in `sealed-memory/policy`; words such
   * as `secrets,email,redact` stand for it.
   */
  readonly policy?: PolicyInput | undefined;
  readonly limits?:
    | {
        /** The largest file, 1–1,073,741,823 bytes; default 1 MiB. */
        readonly fileBytes?: number | undefined;
        /** The most files of the tenant, 1–100,000,000; default no limit. */
        readonly files?: number | undefined;
        /**
         * The most bytes of content that all files of the tenant may have together, 1–100,000,000,000,000; default no
         * limit. As for `files`, stored files are counted at most once a minute (docs/policies.md).
         */
        readonly tenantBytes?: number | undefined;
      }
    | undefined;
  readonly keyring?:
    | {
        /** The time that keys stay in the cache, 0–900,000 ms; default 300,000. Revocation takes that long. */
        readonly ttlMs?: number | undefined;
        /** The least epoch that the tenant's keyring must have: an older one, put back into the store, is refused. */
        readonly minimumEpoch?: number | undefined;
      }
    | undefined;
  readonly cache?:
    | {
        /**
         * The bytes of memory, 0–1,073,741,824, of all tenants together, in which the files that were read or written
         * last stay, sealed; default 16 MiB. 0: none stay. They save requests; every answer from them is confirmed by
         * the store.
         */
        readonly bytes?: number | undefined;
      }
    | undefined;
  /**
   * The days, 1–3,650, after which a file that is neither read nor written expires: every read is recorded, once a day
   * and file by one small object, and a scheduled run deletes. Must be the same in all processes of a tenant. Default:
   * files never expire.
   */
  readonly expireAfterDays?: number | undefined;
  readonly history?:
    | {
        /**
         * The days, 1–3,650, for which a tenant that begins here keeps the versions of its files that are replaced,
         * deleted or renamed; then the expiry run deletes them. For a tenant that exists, its administration turns
         * history on. Default: no version is kept.
         */
        readonly days?: number | undefined;
      }
    | undefined;
  /**
   * Answers the settings that a tenant has of its own. It is asked once for each tenant and five minutes, and a change
   * takes hold within that time. While it fails, the last answer serves until its five minutes are over; then every call
   * fails as `unavailable`. `file:PATH` stands for a file of JSON with a member for each tenant, and `dynamodb:TABLE`, with the
   * table's name or ARN, for a table with an item for each. Default: all tenants have the same settings.
   */
  readonly tenants?: TenantSource | string | undefined;
  /** Endpoint, region and kind of an S3 store. */
  readonly s3?: S3Options | undefined;
  /** The credentials for an S3 store and for root keys in KMS; default the SDK's own search. */
  readonly credentials?: AwsCredentials | undefined;
  /**
   * Memories of other tenants or stores, each seen as a directory of this one, with keys and credentials of its own. A
   * mount takes the options that it leaves out from this memory, except the tenant, `names`, `readOnly` and the least
   * epoch.
   */
  readonly mounts?: readonly MountOptions[] | undefined;
  /**
   * The logger. By default warnings and errors go to `console.warn`, each code at most once a minute. A failure of the
   * logger changes nothing.
   */
  readonly logger?: Logger | undefined;
  /**
   * Hears of every command of the model, every call of `memory.files` and every verb of an administration, once its
   * answer is out; a text is the path of a file to which a line of JSON is appended. Its first error is logged.
   */
  readonly onEvent?: EventHandler | string | undefined;
  /** True for events that name paths; default false. */
  readonly eventPaths?: boolean | undefined;
  /** The actor, for events and history: a session, a turn, a user; 1–256 characters. */
  readonly actor?: string | undefined;
  /**
   * Hears of every HTTP request that is sent to an S3 store, repeated ones included, with the name of the operation.
   * Its first error is logged.
   */
  readonly onRequest?: ((request: { readonly operation: string }) => void) | undefined;
  /**
   * The `ToolError` of the host's own copy of `@anthropic-ai/sdk`. Needed only where that copy is another one than the
   * one this package resolves; `require('sealed-memory')` sets it by itself.
   */
  readonly toolError?: ToolErrorClass | undefined;
}

/**
 * The settings that one tenant has of its own. Each takes the place of the memory's: mounts, limits and root keys as a
 * whole. Those of a turn count in a worker: they come before the worker's own, and after the message's.
 */
export interface TenantSettings
  extends Partial<
    Pick<
      MemoryOptions,
      'rootKey' | 'readOnly' | 'limits' | 'policy' | 'mounts' | 'history' | 'expireAfterDays'
    >
  > {
  /** False: neither files nor sessions of the tenant expire, whatever the days are. */
  readonly expires?: false | undefined;
  /** The model of its turns. */
  readonly model?: string | undefined;
  /** The system prompt of its turns. */
  readonly system?: string | undefined;
  /** The most tokens of one reply, 1–1,000,000. */
  readonly maxTokens?: number | undefined;
  /** The effort that Claude puts into its turns. */
  readonly effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | undefined;
  /** The most tokens that its turns may take on a day (UTC). */
  readonly tokensPerDay?: number | undefined;
}

/**
 * Answers the settings of a tenant; undefined where it has none of its own. It answers the same object where nothing has
 * changed, and never changes one that it has answered. It must not ask the store of the memories: who writes there must
 * not choose keys.
 */
export type TenantSource = (
  tenant: string,
  request: { readonly signal: AbortSignal },
) => TenantSettings | undefined | Promise<TenantSettings | undefined>;

/** Another memory below a directory of this one. */
export interface MountOptions
  extends Pick<
    MemoryOptions,
    'tenant' | 'names' | 's3' | 'credentials' | 'keyring' | 'limits' | 'readOnly' | 'policy'
  > {
  readonly store?: MemoryOptions['store'] | undefined;
  readonly rootKey?: MemoryOptions['rootKey'] | undefined;
  /** The path at which it is seen: a name directly below the root, such as `/memories/handbook`. */
  readonly at: string;
  /**
   * `true`: unused files and sessions of the mounted tenant expire, by the recorded reads, to which reads through this
   * mount add; a `readOnly` mount records none, and so cannot be `true`. `false`: they stay. An expiry run whose
   * options mount a tenant refuses that tenant until each of its mounts is `true` or `false`.
   */
  readonly expires?: boolean | undefined;
}
