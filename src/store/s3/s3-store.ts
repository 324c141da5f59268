import { once } from '../../time.ts';
import type { ObjectStore } from '../port.ts';
import { openS3Connections, type S3ConnectionOptions, type S3Connections } from './connection.ts';
import { deleteFromS3 } from './deleting.ts';
import { isOrdinaryBucket } from './lean/endpoint.ts';
import { openLeanWire } from './lean/lean-wire.ts';
import { getFromS3, headFromS3, listPages } from './reading.ts';
import type { S3Wire } from './wire.ts';
import { putToS3 } from './writing.ts';

export interface S3StoreOptions extends S3ConnectionOptions {
  /** `lean` (default): the parts of the AWS SDK that a request needs. `sdk`: the SDK's own client. */
  readonly client?: 'lean' | 'sdk' | undefined;
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
  const connections = options.connections ?? openS3Connections();
  const sdk = once(async () => {
    const { openSdkWire } = await import('./sdk/sdk-wire.ts');
    return openSdkWire({ ...options, connections });
  });
  const context = {
    wire: options.client !== 'sdk' ? leanWire({ ...options, connections }, sdk) : lateWire(sdk),
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
    [Symbol.asyncDispose]: async () => {
      if (options.connections === undefined) connections.destroy();
    },
  };
}

/** The lean wire, whose bodies in parts and extraordinary buckets are left to the SDK's client. */
function leanWire(
  options: S3StoreOptions & { readonly connections: S3Connections },
  sdk: () => Promise<S3Wire>,
): S3Wire {
  const late = lateWire(sdk);
  return isOrdinaryBucket(options.bucket) ? { ...late, ...openLeanWire(options) } : late;
}

/** A wire that is opened at its first use. */
function lateWire(open: () => Promise<S3Wire>): S3Wire {
  return {
    get: async (key, call) => (await open()).get(key, call),
    head: async (key, call) => (await open()).head(key, call),
    put: async (key, body, call) => (await open()).put(key, body, call),
    putInParts: async (key, body, call) => (await open()).putInParts(key, body, call),
    remove: async (target, call) => (await open()).remove(target, call),
    removeAll: async (targets, call) => (await open()).removeAll(targets, call),
    list: async (page, call) => (await open()).list(page, call),
  };
}
