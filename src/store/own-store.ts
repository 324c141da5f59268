import { MemoryError } from '../errors.ts';
import { inTime, LONGEST_ANSWER_MS, throwIfAborted } from '../time.ts';
import { KEYS_PER_REQUEST, type ListOptions, type ListPage, type ObjectStore } from './port.ts';

/** So many bytes have one time more to be moved, as many as a request to S3 moves at most. */
const BYTES_PER_ANSWER = 5 * 1024 * 1024;

interface WaitBounds {
  readonly signal?: AbortSignal | undefined;
  /** The longest wait, in milliseconds. */
  readonly ms?: number | undefined;
}

/**
 * Wraps a store of the caller's to hold it to the port, as a request to S3 is held: no call waits longer than 60 s, for
 * each 5 MiB and each 1,000 keys, and none waits beyond its signal. Every failure becomes a `MemoryError`: that of a
 * read is `timeout`, `aborted` or `unavailable`; a write that may have been executed is `outcome_unknown`.
 */
export function heldToPort(given: ObjectStore): ObjectStore {
  const { changeAll } = given;
  return {
    get: (key, options = {}) =>
      read(() => given.get(key, options), { signal: options.signal, ms: timeFor(options.maxBytes) }),
    head: (key, options = {}) => read(() => given.head(key, options), options),
    put: (key, body, options) =>
      write(() => given.put(key, body, options), { signal: options.signal, ms: timeFor(body.length) }),
    delete: (targets, options = {}) =>
      write(() => given.delete(targets, options), {
        signal: options.signal,
        ms: LONGEST_ANSWER_MS * Math.max(1, Math.ceil(targets.length / KEYS_PER_REQUEST)),
      }),
    ...(changeAll && {
      changeAll: (changes, options = {}) => {
        const bytes = changes.puts.reduce((sum, { body }) => sum + body.length, 0);
        return write(() => changeAll.call(given, changes, options), {
          signal: options.signal,
          ms: timeFor(bytes),
        });
      },
    }),
    list: (options) => pagesOf(given, options),
    [Symbol.asyncDispose]: async () => given[Symbol.asyncDispose](),
  };
}

async function* pagesOf(given: ObjectStore, options: ListOptions): AsyncGenerator<ListPage> {
  const pages = await read(async () => given.list(options)[Symbol.asyncIterator](), options);
  let isAnswered = false;
  try {
    for (;;) {
      isAnswered = false;
      const page = await read(() => pages.next(), options);
      isAnswered = true;
      if (page.done === true) return;
      yield page.value;
    }
  } finally {
    // A listing that never answered would not answer this either.
    const ending = read(async () => pages.return?.(), options);
    if (isAnswered) await ending;
    else ending.catch(() => {});
  }
}

function timeFor(bytes = 0): number {
  return LONGEST_ANSWER_MS * Math.max(1, Math.ceil(bytes / BYTES_PER_ANSWER));
}

async function read<T>(ask: () => Promise<T>, waiting: WaitBounds): Promise<T> {
  try {
    return await answered(ask, waiting);
  } catch (error) {
    throw error instanceof MemoryError ? error : failure('unavailable');
  }
}

async function write<T>(ask: () => Promise<T>, waiting: WaitBounds): Promise<T> {
  throwIfAborted(waiting.signal);
  let refusal: unknown;
  const asking = (): Promise<T> =>
    ask().catch((error: unknown) => {
      refusal = error;
      throw error;
    });
  try {
    return await answered(asking, waiting);
  } catch (error) {
    throw error instanceof MemoryError && error === refusal ? error : failure('outcome_unknown');
  }
}

async function answered<T>(ask: () => Promise<T>, { signal, ms }: WaitBounds): Promise<T> {
  throwIfAborted(signal);
  return inTime(ask, { late: () => failure('timeout'), signal, ms });
}

/** Makes the failure of a store of the caller's, whose own words may quote what must not be told. */
function failure(code: 'timeout' | 'unavailable' | 'outcome_unknown'): MemoryError {
  return new MemoryError(code, 'The store failed, or did not answer in time: look at it.');
}
