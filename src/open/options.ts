import type { RootKeyInput } from '../keys/root-keys.ts';
import type { Logger } from '../logger.ts';
import type { PolicyInput } from '../policy/words.ts';
import type { ObjectStore } from '../store/port.ts';
import type { AwsCredentials } from '../store/s3/callers-credentials.ts';
import type { ToolErrorClass } from '../tool/memory-tool.ts';
import type { EventHandler } from '../tool/watch.ts';
import type { S3Options } from './store.ts';

/**
 * A store, a tenant and a root key are required. No option is read from the environment: `optionsFromEnvironment()` makes
 * options of it.
 */
export interface MemoryOptions {
  /** `memory:`, `sqlite:PATH`, `s3://bucket/prefix`, or a store that the caller opened and closes. */
  readonly store: string | ObjectStore;
  /** Whose memory: `[a-z0-9][a-z0-9-]{0,62}`, visible in object keys. Never take it from the model. */
  readonly tenant: string;
  /** The first wraps what is written, all of them open what is read. */
  readonly rootKey: RootKeyInput | readonly RootKeyInput[];
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
  readonly history?:
    | {
        /**
         * A tenant that begins here keeps the versions of its files that are replaced, deleted and renamed, and the expiry
         * run deletes them after so many days, 1–3,650. For a tenant that exists, history is turned on by its administration.
         * Default: none is kept.
         */
        readonly days?: number | undefined;
      }
    | undefined;
  /** Endpoint, region and kind of an S3 store. */
  readonly s3?: S3Options | undefined;
  /** Of an S3 store and of root keys in KMS; default the SDK's own search. */
  readonly credentials?: AwsCredentials | undefined;
  /**
   * Memories of other tenants or stores, each seen as a directory of this one, with keys and credentials of its own. What
   * a mount does not say is as for this memory, but the tenant, `readOnly`, and the least epoch.
   */
  readonly mounts?: readonly MountOptions[] | undefined;
  /**
   * Unless given, what an operator must know goes to `console.warn`, each code once a minute. A failure of the logger
   * changes nothing.
   */
  readonly logger?: Logger | undefined;
  /**
   * Called after every command of the model, every call of `memory.files` and every verb of an administration, when its
   * answer is out; a text is the path of a file that a line of JSON is appended to. What it throws is logged once.
   */
  readonly onEvent?: EventHandler | string | undefined;
  /** Whether events name paths; default false. */
  readonly eventPaths?: boolean | undefined;
  /** Who asks, for events and history: a session, a turn, a user; 1–256 characters. */
  readonly actor?: string | undefined;
  /**
   * Called for every HTTP request that is sent to an S3 store, repeated ones included; names the operation. What it throws
   * is logged once.
   */
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
    'tenant' | 'names' | 's3' | 'credentials' | 'keyring' | 'limits' | 'readOnly' | 'policy'
  > {
  readonly store?: MemoryOptions['store'] | undefined;
  readonly rootKey?: MemoryOptions['rootKey'] | undefined;
  /** Where it is seen: a name directly below the root, such as `/memories/handbook`. */
  readonly at: string;
  /**
   * Says that unused files and sessions of the mounted tenant expire, or that they stay. An expiry run whose options mount a tenant refuses that
   * tenant until each of its mounts says it. `false`: they stay. `true`: they expire by the reads that are recorded, as
   * those through this mount are; a `readOnly` one records none, and so cannot say it.
   */
  readonly expires?: boolean | undefined;
}
