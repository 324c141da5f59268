import { MemoryError } from '../../src/errors.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { FULL } from '../../src/store/failures.ts';
import { guardDeletes } from '../../src/store/guarded-delete.ts';
import type * as Stores from '../../src/store/open-store.ts';
import {
  type DeleteFailure,
  type DeleteTarget,
  type ListPage,
  lateness,
  type ObjectStore,
  type PutMode,
  resentConflict,
  type SendBound,
} from '../../src/store/port.ts';
import type { VirtualTime } from './virtual-time.ts';

/** One request as the port sees it: a verb, or one page of a listing. */
export type StoreCall =
  | { readonly verb: 'get' | 'head'; readonly key: ObjectKey }
  | { readonly verb: 'put'; readonly key: ObjectKey; readonly body: Uint8Array; readonly mode: PutMode }
  | { readonly verb: 'delete'; readonly targets: readonly DeleteTarget[] }
  | { readonly verb: 'list'; readonly prefix: string; readonly page: number };

/** Stands around every request: it may act before and after it, lose it, lose its answer or send it twice. */
export type Around = <T>(call: StoreCall, proceed: () => Promise<T>) => Promise<T>;

/** Wraps the store with `around` about each of its requests. Disposing of the wrapper leaves the store below open. */
export function interceptStore(store: ObjectStore, around: Around): ObjectStore {
  return {
    get: (key, options) => around({ verb: 'get', key }, () => store.get(key, options)),
    head: (key, options) => around({ verb: 'head', key }, () => store.head(key, options)),
    put: (key, body, options) =>
      around({ verb: 'put', key, body, mode: options.mode }, () => store.put(key, body, options)),
    delete: (targets, options) => around({ verb: 'delete', targets }, () => store.delete(targets, options)),
    async *list(options) {
      const pages = store.list(options)[Symbol.asyncIterator]();
      try {
        for (let page = 1; ; page++) {
          const call: StoreCall = { verb: 'list', prefix: options.prefix, page };
          const result: IteratorResult<ListPage> = await around(call, () => pages.next());
          if (result.done) return;
          yield result.value;
        }
      } finally {
        await pages.return?.();
      }
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Stands around the first request of that verb alone. */
export function atFirst(verb: StoreCall['verb'], meet: <T>(proceed: () => Promise<T>) => Promise<T>): Around {
  let met = false;
  return (call, proceed) => {
    if (met || call.verb !== verb) return proceed();
    met = true;
    return meet(proceed);
  };
}

/**
 * Fills the store of a process after that many requests: from there on it refuses every write, without an effect, and
 * does what frees room.
 */
export function fullAfter(requests: number): Around {
  let sent = 0;
  return (call, proceed) => {
    if (++sent <= requests || call.verb !== 'put') return proceed();
    throw new MemoryError('unavailable', 'the store is full', { details: { reason: FULL } });
  };
}

/** Executes the request, and loses its answer. */
export async function loseAnswer<T>(proceed: () => Promise<T>): Promise<never> {
  await proceed();
  throw noAnswer();
}

/** Makes the error that the port throws for a request that may or may not have been executed. */
export function noAnswer(): MemoryError {
  return new MemoryError('outcome_unknown', 'no answer came');
}

/** Executes the request, loses its answer, and sends it again, as the clients of SDKs do. */
export async function sendTwice<T>(proceed: () => Promise<T>): Promise<T> {
  await proceed();
  const answer = await proceed();
  if (Array.isArray(answer)) {
    return answer.map((failure) => (isConflict(failure) ? unclear(failure) : failure)) as T;
  }
  if (isConflict(answer)) throw resentConflict();
  return answer;
}

function isConflict(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'conflict' in answer;
}

/** Makes the port's failure for a key whose condition failed after an attempt without an answer. */
export function unclear({ key }: { readonly key: ObjectKey }): DeleteFailure {
  return { key, error: resentConflict() };
}

/** Delays every request by a random time on its way there and on its way back. */
export function delayStore(store: ObjectStore, time: VirtualTime, longestMs = 40): ObjectStore {
  return interceptStore(store, async (_, proceed) => {
    await time.pause(time.fraction() * longestMs);
    const answer = await proceed();
    await time.pause(time.fraction() * longestMs);
    return answer;
  });
}

/** Ignores the condition of a delete, as MinIO does: the object at the key goes, whichever it is. */
export function ignoreDeleteConditions(store: ObjectStore): ObjectStore {
  return {
    get: store.get,
    head: store.head,
    put: store.put,
    list: store.list,
    delete: (targets, options) =>
      store.delete(
        targets.map(({ key }) => ({ key })),
        options,
      ),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Notes every request once it has ended, well or badly. That a listing has ended is no request. */
export function recordInto(calls: StoreCall[]): Around {
  return async (call, proceed) => {
    let ended = false;
    try {
      const answer = await proceed();
      ended = call.verb === 'list' && (answer as IteratorResult<unknown>).done === true;
      return answer;
    } finally {
      if (!ended) calls.push(call);
    }
  };
}

/** Requests as a bill shows them: `{ get: 1, put: 1 }`; a listing counts its pages, a delete its thousands. */
export function countCalls(calls: readonly StoreCall[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const call of calls) {
    const requests = call.verb === 'delete' ? Math.ceil(call.targets.length / 1000) : 1;
    counts[call.verb] = (counts[call.verb] ?? 0) + requests;
  }
  return counts;
}

/**
 * The module that opens stores, for a mock of it: `wire` stands around each request of all memories that are open, and
 * takes the store for one without conditional deletes where it says so.
 */
export function aroundStores(
  stores: typeof Stores,
  wire: { readonly around: Around | undefined; readonly isGuarding?: boolean },
): typeof Stores {
  return {
    ...stores,
    openBaseStore: async (configured) => {
      const base = await stores.openBaseStore(configured);
      const around: Around = (call, proceed) => wire.around?.(call, proceed) ?? proceed();
      const store = interceptStore(base.plain, around);
      const dressed = stores.shared(wire.isGuarding === true ? guardDeletes(store) : store, base.place);
      return { ...dressed, [Symbol.asyncDispose]: () => base[Symbol.asyncDispose]() };
    },
  };
}

/** Makes the mark of a delete count as an object for a create, as on VersityGW with versioning. */
export function keepMarks(store: ObjectStore): ObjectStore {
  const marks = new Set<ObjectKey>();
  return {
    get: store.get,
    head: store.head,
    list: store.list,
    async put(key, body, options) {
      if (options.mode === 'create' && marks.has(key)) {
        const late = lateness(options.sendBy);
        if (late !== undefined) throw late;
        return { conflict: 'exists' };
      }
      const answer = await store.put(key, body, options);
      if ('etag' in answer) marks.delete(key);
      return answer;
    },
    async delete(targets, options) {
      const there = await Promise.all(targets.map(({ key }) => store.head(key)));
      const failures = await store.delete(targets, options);
      for (const [index, { key }] of targets.entries()) {
        const isFailed = failures.some((failure) => failure.key === key);
        if (there[index] !== undefined && !isFailed) marks.add(key);
      }
      return failures;
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/** Moves the clock of the store's server on by `ms` milliseconds: all objects are older by that. */
export function laterStore(store: ObjectStore, ms: number): ObjectStore {
  const dated = <T extends { readonly servedAt: number }>(answer: T): T => ({
    ...answer,
    servedAt: answer.servedAt + ms,
  });
  return {
    async get(key, options) {
      const answer = await store.get(key, options);
      return typeof answer === 'object' ? dated(answer) : answer;
    },
    async head(key, options) {
      const answer = await store.head(key, options);
      return answer && dated(answer);
    },
    put: (key, body, options) => store.put(key, body, options),
    delete: (targets, options) => store.delete(targets, options),
    async *list(options) {
      for await (const page of store.list(options)) yield dated(page);
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/** The signal and the bound with which a request was sent. */
export interface NotedOptions {
  readonly verb: StoreCall['verb'];
  readonly signal: AbortSignal | undefined;
  readonly sendBy: SendBound | undefined;
}

/** Wraps the store to note the signal and the bound with which each of its requests was sent. */
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
