import type { ObjectStore } from '../port.ts';
import type { S3Store } from './connection.ts';

/** Gives bodies above `mostBytes`, and the versions of objects, to `large`, and everything else to `small`. */
export function bySize(small: ObjectStore, large: S3Store, mostBytes: number): S3Store {
  return {
    ...small,
    put: (key, body, options) => (body.length > mostBytes ? large : small).put(key, body, options),
    versions: large.versions,
  };
}
