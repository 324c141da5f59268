import type { AwsCredentialIdentity, AwsCredentialIdentityProvider } from '@smithy/types';
import { checkConditions } from './objects/condition-check.ts';
import { guardDeletes } from './objects/guarded-delete.ts';
import type { ObjectStore } from './objects/object-store.ts';
import { openS3ObjectStore } from './objects/s3-object-store.ts';
import { openSqliteObjectStore } from './objects/sqlite-object-store.ts';
import type { S3Config } from './s3-config.ts';
import type { Layout } from './sealing/object-keys.ts';
import type { StoreLocation } from './store-location.ts';

export type AwsCredentials = AwsCredentialIdentity | AwsCredentialIdentityProvider;

export interface ObjectStoreRequest {
  readonly location: StoreLocation;
  readonly s3: S3Config;
  readonly credentials?: AwsCredentials | undefined;
}

/** A store as it is opened once, for any number of tenants. */
export interface BaseStore extends AsyncDisposable {
  /** The store as one tenant's vault may use it: with guarded deletes, and with conditions that are proved. */
  forTenant(layout: Layout): ObjectStore;
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
  const guarded = (s3.guarded ?? !custom) ? plain : guardDeletes(plain);
  return {
    forTenant: (layout) => (custom ? checkConditions(guarded, layout.probe) : guarded),
    [Symbol.asyncDispose]: () => plain[Symbol.asyncDispose](),
  };
}

/** A store that needs nothing before it. */
export function shared(store: ObjectStore): BaseStore {
  return { forTenant: () => store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}
