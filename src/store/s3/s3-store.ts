import { once } from '../../time.ts';
import { bySize } from './by-size.ts';
import { openS3Connections, PART_BYTES, type S3Store, type S3StoreOptions } from './connection.ts';
import { isOrdinaryBucket } from './lean/endpoint.ts';
import { openLeanStore } from './lean/lean-store.ts';

/**
 * A bucket of S3 or a compatible server. Unguarded, it refuses `ifMatch` on deletes as `misconfigured`:
 * `guardDeletes` must stand before it. A missing bucket is noticed by every verb but `head`.
 */
export function openS3ObjectStore(options: S3StoreOptions): S3Store {
  const connections = options.connections ?? openS3Connections();
  const opened = { ...options, connections };
  const sdk = lateStore(
    once(async () => {
      const { openSdkStore } = await import('./sdk/sdk-store.ts');
      return openSdkStore(opened);
    }),
  );
  const needsSdk = options.client === 'sdk' || !isOrdinaryBucket(options.bucket);
  return {
    ...(needsSdk ? sdk : bySize(openLeanStore(opened), sdk, options.partBytes ?? PART_BYTES)),
    [Symbol.asyncDispose]: async () => {
      if (options.connections === undefined) connections.destroy();
    },
  };
}

/** A store that is opened at its first use. */
function lateStore(open: () => Promise<S3Store>): S3Store {
  return {
    get: async (...call) => (await open()).get(...call),
    head: async (...call) => (await open()).head(...call),
    put: async (...call) => (await open()).put(...call),
    delete: async (...call) => (await open()).delete(...call),
    async *list(...call) {
      yield* (await open()).list(...call);
    },
    versions: {
      async *list(...call) {
        yield* (await open()).versions.list(...call);
      },
      async *below(...call) {
        yield* (await open()).versions.below(...call);
      },
      get: async (...call) => (await open()).versions.get(...call),
      remove: async (...call) => (await open()).versions.remove(...call),
    },
    [Symbol.asyncDispose]: async () => {},
  };
}
