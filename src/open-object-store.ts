import type { S3Config } from './config/s3-config.ts';
import type { StoreLocation } from './config/store-location.ts';
import { checkConditions } from './objects/condition-check.ts';
import { guardDeletes } from './objects/guarded-delete.ts';
import type { ObjectStore } from './objects/object-store.ts';
import { openS3Connections } from './objects/s3-client.ts';
import { openS3ObjectStore, type S3StoreOptions } from './objects/s3-object-store.ts';
import { openSqliteObjectStore } from './objects/sqlite-object-store.ts';
import type { Layout } from './sealing/object-keys.ts';

/** Static credentials, or a provider of the AWS SDK. */
export type AwsCredentials = NonNullable<S3StoreOptions['credentials']>;

export interface ObjectStoreRequest {
  readonly location: StoreLocation;
  readonly s3: S3Config;
  readonly credentials?: AwsCredentials | undefined;
}

/** A store as it is opened once, for any number of tenants. */
export interface BaseStore extends AsyncDisposable {
  /** The store as one tenant's vault may use it: with guarded deletes, and with conditions that are proved. */
  forTenant(layout: Layout): ObjectStore;
  /** The same place reached with other credentials, over the same connections; closing either closes both. */
  withCredentials(credentials: AwsCredentials): BaseStore;
  /** Whether a listing may leave out what lies below an object. True of every server that is not known better. */
  readonly hidesBelowObjects: boolean;
}

/**
 * Opens the store at `location` and puts before it what its kind lacks: guarded deletes where the server does not
 * honour a condition on them, and on a custom endpoint the proof that it honours conditional writes.
 */
export function openBaseStore(request: ObjectStoreRequest): BaseStore {
  const { location, s3, credentials } = request;
  if (location.kind !== 's3') {
    const path = location.kind === 'memory' ? ':memory:' : location.path;
    return shared(openSqliteObjectStore({ path }));
  }
  const connections = openS3Connections();
  const { bucket } = location;
  return s3BaseStore({ ...s3, bucket, credentials, connections }, async () => connections.destroy());
}

function s3BaseStore(options: S3StoreOptions, dispose: () => Promise<void>): BaseStore {
  const plain = openS3ObjectStore(options);
  const custom = options.endpoint !== undefined;
  const guarded = options.guarded ?? !custom;
  return {
    forTenant(layout) {
      const proved = custom ? checkConditions(plain, layout.probe) : plain;
      return guarded ? proved : guardDeletes(proved);
    },
    withCredentials: (credentials) => s3BaseStore({ ...options, credentials }, dispose),
    hidesBelowObjects: custom,
    [Symbol.asyncDispose]: dispose,
  };
}

/** A store that needs nothing before it and knows no credentials. */
export function shared(store: ObjectStore): BaseStore {
  const base: BaseStore = {
    forTenant: () => store,
    withCredentials: () => base,
    hidesBelowObjects: false,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
  return base;
}
