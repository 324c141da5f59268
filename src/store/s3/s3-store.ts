import type { ObjectStore } from '../port.ts';
import { createS3Clients, type S3ConnectionOptions } from './client.ts';
import { deleteFromS3 } from './deleting.ts';
import { getFromS3, headFromS3, listPages } from './reading.ts';
import { putToS3 } from './writing.ts';

export interface S3StoreOptions extends S3ConnectionOptions {
  readonly bucket: string;
  /** Whether the server honours conditions on deletes atomically; unless given, AWS does and others do not. */
  readonly guarded?: boolean | undefined;
  /** Objects above this many bytes go in parts of this size; 5 MiB, the least S3 takes, unless given. */
  readonly partBytes?: number | undefined;
  readonly clock?: (() => number) | undefined;
}

const PART_BYTES = 5 * 1024 * 1024;

/**
 * A bucket of S3 or a compatible server. Unguarded, it refuses `ifMatch` on deletes as `misconfigured`:
 * `guardDeletes` must stand before it. A missing bucket is noticed by every verb but `head`.
 */
export function openS3ObjectStore(options: S3StoreOptions): ObjectStore {
  const clients = createS3Clients(options);
  const context = {
    clients,
    bucket: options.bucket,
    clock: options.clock ?? Date.now,
    partBytes: options.partBytes ?? PART_BYTES,
    guarded: options.guarded ?? options.endpoint === undefined,
  };
  return {
    get: (key, request) => getFromS3(context, key, request),
    head: (key, request) => headFromS3(context, key, request),
    put: (key, body, request) => putToS3(context, key, body, request),
    delete: (targets, request) => deleteFromS3(context, targets, request),
    list: (request) => listPages(context, request),
    [Symbol.asyncDispose]: async () => clients.destroy(),
  };
}
