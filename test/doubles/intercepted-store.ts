import { MemoryError } from '../../src/errors.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import {
  type DeleteFailure,
  type DeleteTarget,
  type ListPage,
  type ObjectStore,
  type PutMode,
  resentConflict,
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

/** The store with `around` about each of its requests. Disposing of it leaves the store below open. */
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

/** The request is executed, and its answer never comes. */
export async function loseAnswer<T>(proceed: () => Promise<T>): Promise<never> {
  await proceed();
  throw noAnswer();
}

/** What the port throws when a request may have been executed or not. */
export function noAnswer(): MemoryError {
  return new MemoryError('outcome_unknown', 'no answer came');
}

/** The request is executed, its answer lost, and the client sends it again by itself, as SDKs do. */
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

/** What the port says of a key whose condition failed after an attempt without an answer. */
export function unclear({ key }: { readonly key: ObjectKey }): DeleteFailure {
  return { key, error: resentConflict() };
}

/** Every request takes a random time on its way there and on its way back. */
export function delayStore(store: ObjectStore, time: VirtualTime, longestMs = 40): ObjectStore {
  return interceptStore(store, async (_, proceed) => {
    await time.pause(time.fraction() * longestMs);
    const answer = await proceed();
    await time.pause(time.fraction() * longestMs);
    return answer;
  });
}

/** A server that ignores the condition of a delete, as MinIO does: what lies at the key goes. */
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
