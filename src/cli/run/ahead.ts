import { throwIfAborted } from '../../time.ts';

/** Bounds what is worked on or waits to be taken: as much as a verification reads at once. */
const MOST_ITEMS = 32;
const MOST_BYTES = 33_554_432;

/**
 * Works on items while those before them are being taken: 32 of them and 32 MiB at once, a larger one alone. Its
 * results come in the order of the items. A failure comes at the place of its item and ends the rest: nothing more is
 * begun, and what is under way ends first. The same happens where the taker leaves, and where the signal fires.
 *
 * @throws MemoryError `aborted`; what `work` throws.
 */
export async function* ahead<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  { signal, bytesOf }: { readonly signal: AbortSignal; readonly bytesOf: (item: T) => number },
): AsyncGenerator<R, void, undefined> {
  const underWay: { readonly result: Promise<R>; readonly bytes: number }[] = [];
  let [next, held] = [0, 0];
  const fill = (): void => {
    for (let item = items[next]; next < items.length && item !== undefined; item = items[next]) {
      const bytes = bytesOf(item);
      const isRoom = underWay.length < MOST_ITEMS && held + bytes <= MOST_BYTES;
      if (underWay.length > 0 && !isRoom) return;
      const result = work(item);
      // The failure is told when its turn comes.
      result.catch(() => {});
      underWay.push({ result, bytes });
      held += bytes;
      next++;
    }
  };
  try {
    for (;;) {
      throwIfAborted(signal);
      fill();
      const [first] = underWay;
      if (first === undefined) return;
      yield await first.result;
      underWay.shift();
      held -= first.bytes;
    }
  } finally {
    await Promise.allSettled(underWay.map(({ result }) => result));
  }
}

/**
 * Begins on items that nobody has asked for yet, as many and as large as `ahead` has under way: what is cheap and has
 * to wait, such as the reading of a user's file, is there when its turn comes. The items are asked for once each, in
 * their order.
 */
export function prefetched<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  { bytesOf }: { readonly bytesOf: (item: T) => number },
): (item: T) => Promise<R> {
  const begun = new Map<T, Promise<R>>();
  let [next, held] = [0, 0];
  const begin = (item: T): void => {
    const result = work(item);
    result.catch(() => {});
    begun.set(item, result);
    held += bytesOf(item);
    next++;
  };
  return (item) => {
    while (!begun.has(item) && next < items.length) begin(items[next] as T);
    const result = begun.get(item);
    if (result === undefined) throw new RangeError('an item was asked for twice');
    begun.delete(item);
    held -= bytesOf(item);
    for (let more = items[next]; next < items.length && more !== undefined; more = items[next]) {
      if (begun.size >= MOST_ITEMS || held + bytesOf(more) > MOST_BYTES) break;
      begin(more);
    }
    return result;
  };
}

/** Runs work of one name in the order in which it was asked for, and work of others beside it. */
export function createLanes(): <T>(name: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (name, work) => {
    const before = last.get(name);
    const running = before === undefined ? work() : before.then(work, work);
    last.set(name, running);
    return running;
  };
}
