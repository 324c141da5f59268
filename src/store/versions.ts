import type { ObjectKey } from '../format/object-keys.ts';
import type { RequestOptions } from './port.ts';

/** One version that a store keeps of an object, or the mark that it was deleted. */
export interface ObjectVersion {
  readonly versionId: string;
  /** Whether a plain GET finds this one. */
  readonly isCurrent: boolean;
}

/**
 * The port to the versions that a bucket with versioning keeps beside the current ones. In a bucket without it every
 * object is one version, the current one. Failures throw `MemoryError` as those of the object store.
 */
export interface ObjectVersions {
  /** Everything kept under exactly this key, newest first; one request per page. */
  list(key: ObjectKey, request?: RequestOptions): AsyncIterable<readonly ObjectVersion[]>;
  /** Removes one version for good; one that is gone already is no failure. May be repeated. */
  remove(key: ObjectKey, versionId: string, request?: RequestOptions): Promise<void>;
}
