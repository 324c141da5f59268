import type { S3Config } from './config/s3-config.ts';
import type { StoreLocation } from './config/store-location.ts';
import { checkConditions } from './objects/condition-check.ts';
import { guardDeletes } from './objects/guarded-delete.ts';
import type { ObjectStore } from './objects/object-store.ts';
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
  /** Whether a listing may leave out what lies below an object. True of every server that is not known better. */
  readonly hidesBelowObjects: boolean;
}

/**
 * Opens the store at `location` and puts before it what its kind lacks: guarded deletes where the server does not
 * honour a condition on them, and on a custom endpoint the proof that it honours conditional writes.
 */
export async function openBaseStore(request: ObjectStoreRequest): Promise<BaseStore> {
  const { location, s3, credentials } = request;
  if (location.kind !== 's3') {
    const path = location.kind === 'memory' ? ':memory:' : location.path;
    return shared(await openSqliteObjectStore({ path }));
  }
  const plain = openS3ObjectStore({ ...s3, bucket: location.bucket, ...(credentials && { credentials }) });
  const custom = s3.endpoint !== undefined;
  const guarded = s3.guarded ?? !custom;
  return {
    forTenant(layout) {
      const proved = custom ? checkConditions(plain, layout.probe) : plain;
      return guarded ? proved : guardDeletes(proved);
    },
    hidesBelowObjects: custom,
    [Symbol.asyncDispose]: () => plain[Symbol.asyncDispose](),
  };
}

/** A store that needs nothing before it. */
export function shared(store: ObjectStore): BaseStore {
  return {
    forTenant: () => store,
    hidesBelowObjects: false,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
