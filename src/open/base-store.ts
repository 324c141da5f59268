import type { Layout } from '../format/object-keys.ts';
import type { ObjectStore, ObjectVersions, RequestOptions } from '../store/port.ts';
import type { S3StoreOptions } from '../store/s3/s3-store.ts';

/** Static credentials, or a provider of the AWS SDK. */
export type AwsCredentials = NonNullable<S3StoreOptions['credentials']>;

/** A store as it is opened once, for any number of tenants. */
export interface BaseStore extends AsyncDisposable {
  /** The store without anything before it. */
  readonly plain: ObjectStore;
  /** The store as one tenant's tree may use it: with guarded deletes, and with conditions that are proved. */
  forTenant(layout: Layout): ObjectStore;
  /** The same place reached with other credentials, over the same connections; closing either closes both. */
  withCredentials(credentials: AwsCredentials): BaseStore;
  /** Removes what deletes left below `prefix` when their process died, and answers how much it was. */
  buryTombstones(prefix: string, request?: RequestOptions): Promise<number>;
  /** The versions that a bucket keeps; undefined for a store that keeps none, or is the caller's own. */
  readonly versions: ObjectVersions | undefined;
}

/** A store that needs nothing before it and knows no credentials. */
export function shared(store: ObjectStore): BaseStore {
  const base: BaseStore = {
    plain: store,
    forTenant: () => store,
    buryTombstones: async () => 0,
    withCredentials: () => base,
    versions: undefined,
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
  return base;
}
