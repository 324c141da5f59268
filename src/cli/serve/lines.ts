/** Lines longer than this are refused unread; also the most that waits in running requests. */
export const MAX_LINE_BYTES: number = 64 * 1024 * 1024;
/** Requests that run at once; further lines are read when one of them has ended. */
export const MAX_RUNNING = 256;

const LINE_FEED = 0x0a;
const LEAST_BUFFER_BYTES = 65_536;

/** One line without its line feed, or `too_long` in place of a line of more than the limit. */
export type Line = Uint8Array | 'too_long';

/**
 * Splits bytes into lines at the line feed alone, the last one with or without it. At most one line of `maxBytes`
 * is buffered; the rest of a longer one is passed over.
 */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Line> {
  /** Holds the line so far in its first bytes; a line may arrive byte by byte. */
  let buffer = new Uint8Array(LEAST_BUFFER_BYTES);
  let length = 0;
  const take = (): Line => {
    const line = length > maxBytes ? 'too_long' : buffer.slice(0, length);
    if (buffer.length !== LEAST_BUFFER_BYTES) buffer = new Uint8Array(LEAST_BUFFER_BYTES);
    length = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      keep(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    keep(chunk.subarray(start));
  }
  if (length > 0) {
    yield take();
  }

  function keep(part: Uint8Array): void {
    const begin = length;
    length += part.length;
    if (length > maxBytes) {
      buffer = new Uint8Array(0);
      return;
    }
    if (length > buffer.length) {
      const longer = new Uint8Array(Math.max(length, 2 * buffer.length));
      longer.set(buffer.subarray(0, begin));
      buffer = longer;
    }
    buffer.set(part, begin);
  }
}

/** The record of the first answer that could not be written. */
export interface Unread {
  /** Fires once an answer could not be written. */
  readonly signal: AbortSignal;
  /** Notes why an answer could not be written; the first reason counts. */
  report(reason: unknown): void;
  /** The result of `work`, one at a time; rejects with the reason once an answer could not be written. */
  orThrow<T>(work: Promise<T>): Promise<T>;
}

export function createUnread(): Unread {
  const controller = new AbortController();
  let failure: { readonly reason: unknown } | undefined;
  let wake = (_reason: unknown): void => {};
  return {
    signal: controller.signal,
    report(reason) {
      failure ??= { reason };
      wake(failure.reason);
      controller.abort();
    },
    // No race against one promise for all of them: that would remember every line for as long as the input lasts.
    orThrow: (work) =>
      new Promise((resolve, reject) => {
        wake = reject;
        if (failure !== undefined) reject(failure.reason);
        work.then(resolve, reject);
      }),
  };
}
