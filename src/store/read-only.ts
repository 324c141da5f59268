import { MemoryError } from '../errors.ts';
import type { ObjectStore } from './port.ts';

/** The reading half of a store: nothing reaches it that would change it. Closing this leaves the store open. */
export function readOnly(store: ObjectStore): ObjectStore {
  return {
    get: (key, options) => store.get(key, options),
    head: (key, options) => store.head(key, options),
    list: (options) => store.list(options),
    put: refuse,
    delete: refuse,
    [Symbol.asyncDispose]: async () => {},
  };
}

async function refuse(): Promise<never> {
  throw new MemoryError('read_only', 'The object store is used for reading only.');
}
