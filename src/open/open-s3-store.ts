import { checkConditions } from '../store/conditions.ts';
import { guardDeletes } from '../store/guarded-delete.ts';
import { osRandom } from '../store/os-random.ts';
import { openS3Connections } from '../store/s3/client.ts';
import { openS3ObjectStore, type S3StoreOptions } from '../store/s3/s3-store.ts';
import { openS3Versions } from '../store/s3/versions.ts';
import { buryOldTombstones } from '../store/tombstones.ts';
import { pause } from '../time.ts';
import type { BaseStore } from './base-store.ts';

/** Deletes end within seconds; what is older than an hour has no process any more. */
const TOMBSTONE_AGE_MS = 3_600_000;

/** A bucket over connections of its own, with what its server lacks. */
export function openS3BaseStore(options: Omit<S3StoreOptions, 'connections'>): BaseStore {
  const connections = openS3Connections();
  return s3BaseStore({ ...options, connections }, async () => connections.destroy());
}

function s3BaseStore(options: S3StoreOptions, dispose: () => Promise<void>): BaseStore {
  const plain = openS3ObjectStore(options);
  const custom = options.endpoint !== undefined;
  const guarded = options.guarded ?? !custom;
  return {
    plain,
    forTenant(layout) {
      const proved = custom ? checkConditions(plain, layout.probe) : plain;
      return guarded ? proved : guardDeletes(proved);
    },
    withCredentials: (credentials) => s3BaseStore({ ...options, credentials }, dispose),
    async buryTombstones(prefix, { signal } = {}) {
      if (guarded) return 0;
      return buryOldTombstones({
        store: plain,
        prefix,
        olderThanMs: TOMBSTONE_AGE_MS,
        random: osRandom,
        time: { clock: () => performance.now(), wallClock: Date.now, pause },
        signal,
      });
    },
    versions: openS3Versions(options),
    [Symbol.asyncDispose]: dispose,
  };
}
