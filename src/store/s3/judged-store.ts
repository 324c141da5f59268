import type { ObjectStore } from '../port.ts';
import type { S3StoreOptions } from './connection.ts';
import { getFromS3, headFromS3, listPages } from './reading.ts';
import type { S3Wire } from './wire.ts';
import { deleteFromS3, putToS3 } from './writing.ts';

/** An object store that sends through a wire and judges what is answered. It holds nothing that must be closed. */
export function judgedStore(wire: S3Wire, options: S3StoreOptions): ObjectStore {
  const guarded = options.guarded ?? options.endpoint === undefined;
  const context = { wire, guarded, clock: options.clock ?? Date.now };
  return {
    get: (key, request) => getFromS3(context, key, request),
    head: (key, request) => headFromS3(context, key, request),
    put: (key, body, request) => putToS3(wire, key, body, request),
    delete: (targets, request) => deleteFromS3(context, targets, request),
    list: (request) => listPages(context, request),
    [Symbol.asyncDispose]: async () => {},
  };
}
