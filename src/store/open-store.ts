import { resolve } from 'node:path';
import { misconfigured } from '../errors.ts';
import type { Layout } from '../format/object-keys.ts';
import { createStamps, type Stamps } from '../stamps.ts';
import { pause } from '../time.ts';
import { osRandom } from './os-random.ts';
import type { ObjectStore, ObjectVersions, RequestOptions } from './port.ts';
import type { AwsCredentials } from './s3/callers-credentials.ts';
import type { S3StoreOptions } from './s3/connection.ts';

/** The place of sealed objects: this process, an SQLite file, or a bucket (`prefix` without slashes at its ends). */
export type StoreLocation =
  | { readonly kind: 'memory' }
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string };

/** A location, or a store that the caller opened and closes. */
export type ConfiguredStore = StoreLocation | { readonly kind: 'opened'; readonly store: ObjectStore };

export interface S3Options {
  /** URL of an S3-compatible server; absent: AWS's own endpoint of the region. */
  readonly endpoint?: string | undefined;
  /** Absent: left to the SDK's own search (environment, profile files, instance metadata). */
  readonly region?: string | undefined;
  /** The bucket stands in the path; default true with a custom endpoint. */
  readonly forcePathStyle?: boolean | undefined;
  /** True where the server honours conditional deletes atomically; default true without a custom endpoint. */
  readonly guarded?: boolean | undefined;
  /** `when_required` for servers that choke on the SDK's checksums; default `when_supported`. */
  readonly checksums?: 'when_supported' | 'when_required' | undefined;
  /** `lean` (default): the parts of the AWS SDK that a request needs. `sdk`: the SDK's own client. */
  readonly client?: 'lean' | 'sdk' | undefined;
}

/** A store as it is opened once, for any number of tenants. */
export interface BaseStore extends AsyncDisposable {
  /** The store without anything before it. */
  readonly plain: ObjectStore;
  /** A value that is equal for two ways to one store. */
  readonly place: string | object;
  /** The clock of the times that are written into the store; where no server tells a time, that of this process. */
  readonly stamps: Stamps;
  /** The store as one tenant's tree may use it: with guarded deletes, and with conditions that are proved. */
  forTenant(layout: Layout): ObjectStore;
  /** Reaches the same place with other credentials, over the same connections; closing either closes both. */
  withCredentials(credentials: AwsCredentials): BaseStore;
  /** Removes the tombstones that deletes left below `prefix` when their process died, and returns how many. */
  buryTombstones(prefix: string, request?: RequestOptions): Promise<number>;
  /** The versions that a bucket keeps; undefined for a store that keeps none, or is the caller's own. */
  readonly versions: ObjectVersions | undefined;
}

/** Deletes end within seconds; what is older than an hour has no process any more. */
const TOMBSTONE_AGE_MS = 3_600_000;
const CLOCKS = { clock: () => Date.now(), monotonic: () => performance.now() };
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;

/**
 * Opens the configured store and puts before it what its kind lacks: guarded deletes where the server does not honour a
 * condition on them, and on a custom endpoint the proof that it honours conditional writes. The AWS SDK is loaded for
 * an S3 store only. A store that the caller opened stays open.
 */
export async function openBaseStore(configured: {
  readonly store: ConfiguredStore;
  readonly s3: S3Options;
  readonly credentials?: AwsCredentials | undefined;
  readonly onRequest?: ((request: { readonly operation: string }) => void) | undefined;
}): Promise<BaseStore> {
  const { store, s3, credentials, onRequest } = configured;
  switch (store.kind) {
    case 'opened': {
      const { heldToPort } = await import('./own-store.ts');
      return { ...shared(heldToPort(store.store), store.store), [Symbol.asyncDispose]: async () => {} };
    }
    case 'memory':
      return shared((await loadSqlite()).openSqliteObjectStore({ path: ':memory:' }));
    case 'sqlite':
      return shared((await loadSqlite()).openSqliteObjectStore({ path: store.path }), placeOf(store));
    case 's3': {
      const parts = await import('./s3-parts.ts');
      const connections = parts.openS3Connections();
      const stamps = createStamps(CLOCKS);
      const bucket = { bucket: store.bucket, onDate: stamps.observe, stamps };
      const options = { ...s3, ...bucket, credentials, onRequest, connections };
      const place = `${s3.endpoint ?? ''} ${placeOf(store)}`;
      return s3BaseStore(parts, { ...options, place }, async () => connections.destroy());
    }
  }
}

/**
 * `node:sqlite` is loaded where it is used and nowhere else. @throws MemoryError `misconfigured` where there is none.
 */
export function loadSqlite(): Promise<typeof import('./sqlite/sqlite-store.ts')> {
  return import('./sqlite/sqlite-store.ts');
}

type S3Parts = typeof import('./s3-parts.ts');

/** A bucket with what its server lacks. */
function s3BaseStore(
  parts: S3Parts,
  { place, ...options }: S3StoreOptions & { readonly stamps: Stamps; readonly place: string },
  dispose: () => Promise<void>,
): BaseStore {
  const plain = parts.openS3ObjectStore(options);
  const custom = options.endpoint !== undefined;
  const guarded = options.guarded ?? !custom;
  return {
    plain,
    place,
    stamps: options.stamps,
    forTenant(layout) {
      const proved = custom ? parts.checkConditions(plain, layout.probe) : plain;
      return guarded ? proved : parts.guardDeletes(proved);
    },
    withCredentials: (credentials) => s3BaseStore(parts, { ...options, place, credentials }, dispose),
    async buryTombstones(prefix, { signal } = {}) {
      if (guarded) return 0;
      return parts.buryOldTombstones({
        store: plain,
        prefix,
        olderThanMs: TOMBSTONE_AGE_MS,
        random: osRandom,
        time: { clock: () => performance.now(), wallClock: Date.now, pause },
        signal,
      });
    },
    versions: plain.versions,
    [Symbol.asyncDispose]: dispose,
  };
}

/** Makes the base of a store that needs nothing before it and knows no credentials. */
export function shared(store: ObjectStore, place: string | object = store): BaseStore {
  const base: BaseStore = {
    plain: store,
    place,
    stamps: createStamps(CLOCKS),
    forTenant: () => store,
    buryTombstones: async () => 0,
    withCredentials: () => base,
    versions: undefined,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
  return base;
}

/** Names the place of a store, as far as the options tell: the value is equal for two stores of one place. */
export function placeOf(store: ConfiguredStore): string | object {
  switch (store.kind) {
    case 'opened':
      return store.store;
    case 'memory':
      return 'memory:';
    case 'sqlite':
      return `sqlite:${resolve(store.path)}`;
    case 's3':
      return `s3://${store.bucket}/${store.prefix}`;
  }
}

/**
 * Parses `memory:`, `sqlite:PATH` or `s3://bucket[/prefix]`; one slash at the end of a prefix is dropped.
 *
 * @throws MemoryError `misconfigured`, naming `label` and what was expected, never the text.
 */
export function parseStoreLocation(text: string, label: string): StoreLocation {
  if (text === 'memory:') return { kind: 'memory' };
  if (text.startsWith('sqlite:')) {
    return { kind: 'sqlite', path: parseDatabasePath(text.slice('sqlite:'.length), label) };
  }
  if (text.startsWith('s3://')) return parseBucketUrl(text.slice('s3://'.length), label);
  throw misconfigured(`${label} must be memory:, sqlite:PATH or s3://bucket/prefix.`);
}

function parseDatabasePath(path: string, label: string): string {
  // SQLite would read these as its own in-memory database or as a URI with options.
  if (path === '' || path.startsWith(':') || path.startsWith('file:') || path.includes('\0')) {
    throw misconfigured(
      `${label} needs the path of a file after "sqlite:"; for a store that lives in this process write memory:.`,
    );
  }
  if (path.startsWith('//')) {
    throw misconfigured(`${label} takes a path after "sqlite:", without "//".`);
  }
  return path;
}

function parseBucketUrl(text: string, label: string): StoreLocation {
  const slash = text.indexOf('/');
  const bucket = slash === -1 ? text : text.slice(0, slash);
  const prefix = slash === -1 ? '' : text.slice(slash + 1).replace(/\/$/, '');
  if (!BUCKET.test(bucket) || bucket.includes('..')) {
    throw misconfigured(`${label} must name a bucket after "s3://": 3-63 of a-z, 0-9, "." and "-".`);
  }
  if (/[?#\\]/.test(prefix) || prefix.split('/').some((part) => part === '.' || part === '..')) {
    throw misconfigured(
      `${label} has a prefix with "?", "#", "\\", "." or "..", which no prefix may hold; S3 options have variables of their own.`,
    );
  }
  return { kind: 's3', bucket, prefix };
}
