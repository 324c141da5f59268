import { AsyncLocalStorage } from 'node:async_hooks';
import type { ObjectStore } from '../store/port.ts';
import type { CallOptions } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';

export type RequestKind = 'get' | 'head' | 'put' | 'delete' | 'list';

/** The cost of one call so far. */
export interface CallCounts {
  bytesRead: number;
  bytesWritten: number;
  readonly requests: Partial<Record<RequestKind, number>>;
}

/** A call, and the call in whose course it is made. */
interface Counting {
  readonly counts: CallCounts;
  readonly outer: Counting | undefined;
}

const counting = new AsyncLocalStorage<Counting>();

export function createCounts(): CallCounts {
  return { bytesRead: 0, bytesWritten: 0, requests: {} };
}

/**
 * Runs `work`, and counts for it the bytes and requests that pass through `countRequests` and `countBytes`; its
 * requests count as well for the call in whose course it runs.
 */
export function countFor<T>(counts: CallCounts, work: () => T): T {
  return counting.run({ counts, outer: counting.getStore() }, work);
}

/** Wraps the store: its requests count for the call for which they are sent. */
export function countRequests(store: ObjectStore): ObjectStore {
  const count = (kind: RequestKind): void => {
    for (let at = counting.getStore(); at !== undefined; at = at.outer) {
      const { requests } = at.counts;
      requests[kind] = (requests[kind] ?? 0) + 1;
    }
  };
  const counted = <A extends readonly unknown[], R>(
    kind: RequestKind,
    send: (...args: A) => R,
  ): ((...args: A) => R) => {
    return (...args) => {
      count(kind);
      return send(...args);
    };
  };
  const changeAll = store.changeAll?.bind(store);
  return {
    get: counted('get', store.get.bind(store)),
    head: counted('head', store.head.bind(store)),
    put: counted('put', store.put.bind(store)),
    delete: counted('delete', store.delete.bind(store)),
    async *list(options) {
      for await (const page of store.list(options)) {
        count('list');
        yield page;
      }
    },
    ...(changeAll && {
      changeAll(changes, options) {
        // The change counts as the requests that it replaces.
        for (const _ of changes.puts) count('put');
        if (changes.deletes.length > 0) count('delete');
        return changeAll(changes, options);
      },
    }),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Wraps the tree: bytes that are read and written in it count for the call. */
export function countBytes(tree: Tree): Tree {
  const read = (counts: CallCounts | undefined, content: Uint8Array | undefined): void => {
    if (counts !== undefined && content !== undefined) counts.bytesRead += content.length;
  };
  /** Notes the bytes to be written, and those that the policy writes instead. */
  const writing = (content: Uint8Array, options: CallOptions | undefined): CallOptions => {
    const counts = counting.getStore()?.counts;
    if (counts !== undefined) counts.bytesWritten = content.length;
    return redacting(counts, options);
  };
  const redacting = (counts: CallCounts | undefined, options: CallOptions = {}): CallOptions => ({
    ...options,
    onRedacted(findings, size) {
      if (counts !== undefined) counts.bytesWritten = size;
      options.onRedacted?.(findings, size);
    },
  });
  return {
    ...tree,
    async read(path, options) {
      const content = await tree.read(path, options);
      read(counting.getStore()?.counts, content);
      return content;
    },
    async readVersion(path, options) {
      const found = await tree.readVersion(path, options);
      read(counting.getStore()?.counts, found?.content);
      return found;
    },
    create: async (path, content, options) => tree.create(path, content, writing(content, options)),
    overwrite: async (path, content, options) => tree.overwrite(path, content, writing(content, options)),
    replace: async (path, replacement, options) =>
      tree.replace(path, replacement, writing(replacement.content, options)),
    async edit(path, edit, options) {
      // The edit may be judged several times, in the course of another call's round.
      const counts = counting.getStore()?.counts;
      const judged = (content: Uint8Array): ReturnType<typeof edit> => {
        const edited = edit(content);
        if (counts !== undefined) {
          [counts.bytesRead, counts.bytesWritten] = [content.length, edited.content.length];
        }
        return edited;
      };
      return tree.edit(path, judged, redacting(counts, options));
    },
  };
}
