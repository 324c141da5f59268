import type { ObjectStore, SendBound } from '../../src/store/port.ts';
import type { StoreCall } from './intercepted-store.ts';

/** What a request was sent with beside what it is about. */
export interface NotedOptions {
  readonly verb: StoreCall['verb'];
  readonly signal: AbortSignal | undefined;
  readonly sendBy: SendBound | undefined;
}

/** The store, which notes with which signal and which bound each of its requests was sent. */
export function noteOptions(store: ObjectStore, noted: NotedOptions[]): ObjectStore {
  const note = (
    verb: StoreCall['verb'],
    options: { readonly signal?: AbortSignal | undefined; readonly sendBy?: SendBound | undefined } = {},
  ): void => {
    noted.push({ verb, signal: options.signal, sendBy: options.sendBy });
  };
  return {
    get(key, options) {
      note('get', options);
      return store.get(key, options);
    },
    head(key, options) {
      note('head', options);
      return store.head(key, options);
    },
    put(key, body, options) {
      note('put', options);
      return store.put(key, body, options);
    },
    delete(targets, options) {
      note('delete', options);
      return store.delete(targets, options);
    },
    list(options) {
      note('list', options);
      return store.list(options);
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}
