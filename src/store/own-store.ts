import { MemoryError } from '../errors.ts';
import { inTime, LONGEST_ANSWER_MS, throwIfAborted } from '../time.ts';
import { KEYS_PER_REQUEST, type ListOptions, type ListPage, type ObjectStore } from './port.ts';

/** The bytes for which a call may take one minute more: as many as a request to S3 moves at most. */
const BYTES_PER_ANSWER = 5 * 1024 * 1024;

interface WaitBounds {
  readonly signal?: AbortSignal | undefined;
  /** The longest wait, in milliseconds. */
  readonly ms?: number | undefined;
}

/**
 * Wraps a store of the caller's, so that its calls end in time as requests to S3 do: a call waits at most 60 s for each
 * 5 MiB or 1,000 keys, and no longer than its signal allows. A read then fails with `timeout` or `aborted`, a write
 * with `outcome_unknown`. What the store throws itself is passed on.
 */
export function heldToPort(given: ObjectStore): ObjectStore {
  const { changeAll } = given;
  return {
    get: (key, options = {}) =>
      answered(() => given.get(key, options), {
        signal: options.signal,
        ms: timeFor(options.maxBytes, BYTES_PER_ANSWER),
      }),
    head: (key, options = {}) => answered(() => given.head(key, options), options),
    put: (key, body, options) =>
      write(() => given.put(key, body, options), {
        signal: options.signal,
        ms: timeFor(body.length, BYTES_PER_ANSWER),
      }),
    delete: (targets, options = {}) =>
      write(() => given.delete(targets, options), {
        signal: options.signal,
        ms: timeFor(targets.length, KEYS_PER_REQUEST),
      }),
    ...(changeAll && {
      changeAll: (changes, options = {}) => {
        const bytes = changes.puts.reduce((sum, { body }) => sum + body.length, 0);
        return write(() => changeAll.call(given, changes, options), {
          signal: options.signal,
          ms: timeFor(bytes, BYTES_PER_ANSWER),
        });
      },
    }),
    list: (options) => pagesOf(given, options),
    [Symbol.asyncDispose]: async () => given[Symbol.asyncDispose](),
  };
}

async function* pagesOf(given: ObjectStore, options: ListOptions): AsyncGenerator<ListPage> {
  const pages = await answered(async () => given.list(options)[Symbol.asyncIterator](), options);
  let isAnswered = false;
  try {
    for (;;) {
      isAnswered = false;
      const page = await answered(() => pages.next(), options);
      isAnswered = true;
      if (page.done === true) return;
      yield page.value;
    }
  } finally {
    // A listing that never answered would not answer this either.
    const ending = answered(async () => pages.return?.(), options);
    if (isAnswered) await ending;
    else ending.catch(() => {});
  }
}

/** Answers the longest wait in milliseconds: a minute for each `share` of the amount, also for one that is not full. */
function timeFor(amount: number | undefined, share: number): number {
  return LONGEST_ANSWER_MS * Math.max(1, Math.ceil((amount ?? 0) / share));
}

/** Asks for a write. Its outcome is unknown where the wait ends first; an answer of the store, or its error, is passed on. */
async function write<T>(ask: () => Promise<T>, bounds: WaitBounds): Promise<T> {
  throwIfAborted(bounds.signal);
  let isAnswered = false;
  const asking = async (): Promise<T> => {
    try {
      return await ask();
    } finally {
      isAnswered = true;
    }
  };
  try {
    return await answered(asking, bounds);
  } catch (error) {
    throw isAnswered ? error : unanswered('outcome_unknown');
  }
}

async function answered<T>(ask: () => Promise<T>, { signal, ms }: WaitBounds): Promise<T> {
  throwIfAborted(signal);
  return inTime(ask, { late: () => unanswered('timeout'), signal, ms });
}

function unanswered(code: 'timeout' | 'outcome_unknown'): MemoryError {
  return new MemoryError(code, 'The store did not answer in time: look at it.');
}
