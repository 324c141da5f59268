import { openSqliteObjectStore } from '../store/sqlite/sqlite-store.ts';
import { type AwsCredentials, type BaseStore, shared } from './base-store.ts';
import type { S3Config } from './s3-config.ts';
import type { StoreLocation } from './store-location.ts';

export interface ObjectStoreRequest {
  readonly location: StoreLocation;
  readonly s3: S3Config;
  readonly credentials?: AwsCredentials | undefined;
  readonly onRequest?: ((request: { readonly operation: string }) => void) | undefined;
}

/**
 * Opens the store at `location` and puts before it what its kind lacks: guarded deletes where the server does not
 * honour a condition on them, and on a custom endpoint the proof that it honours conditional writes. The AWS SDK is
 * loaded for an S3 store only.
 */
export async function openBaseStore(request: ObjectStoreRequest): Promise<BaseStore> {
  const { location, s3, credentials, onRequest } = request;
  if (location.kind !== 's3') {
    const path = location.kind === 'memory' ? ':memory:' : location.path;
    return shared(openSqliteObjectStore({ path }));
  }
  const { openS3BaseStore } = await import('./open-s3-store.ts');
  return openS3BaseStore({ ...s3, bucket: location.bucket, credentials, onRequest });
}
