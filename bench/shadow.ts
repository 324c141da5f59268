import type { ListPage, ObjectStore } from '../src/store/port.ts';

/** One request that a command has sent, and how the same is sent to another store. */
export interface Sent {
  readonly name: string;
  readonly began: number;
  /** Infinity while it is under way. */
  ended: number;
  /** Tells that its condition failed. */
  isConflict: boolean;
  send(store: ObjectStore): Promise<unknown>;
}

/** Notes what is sent to a store. */
export interface Recorder {
  readonly store: ObjectStore;
  /** The requests since the last call. */
  take(): readonly Sent[];
}

/** The store with every request noted: a listing as one request for each page. */
export function record(store: ObjectStore): Recorder {
  let sent: Sent[] = [];
  const note = async <T>(name: string, send: Sent['send'], proceed: () => Promise<T>): Promise<T> => {
    const entry = {
      name,
      send,
      began: performance.now(),
      ended: Number.POSITIVE_INFINITY,
      isConflict: false,
    };
    sent.push(entry);
    const answer = await proceed();
    entry.ended = performance.now();
    entry.isConflict = isConflict(answer);
    // That there are no more pages is no request.
    if (isEndOfPages(answer)) sent = sent.filter((other) => other !== entry);
    return answer;
  };
  return {
    take() {
      const taken = sent;
      sent = [];
      return taken;
    },
    store: {
      get: (key, { signal: _, ...options } = {}) =>
        note(
          'GET',
          (other) => other.get(key, options),
          () => store.get(key, options),
        ),
      head: (key) =>
        note(
          'HEAD',
          (other) => other.head(key),
          () => store.head(key),
        ),
      put: (key, body, { mode, sendBy }) =>
        note(
          'PUT',
          (other) => other.put(key, body, { mode }),
          () => store.put(key, body, { mode, sendBy }),
        ),
      delete: (targets, { sendBy } = {}) =>
        note(
          'DELETE',
          (other) => other.delete(targets),
          () => store.delete(targets, { sendBy }),
        ),
      async *list({ prefix, maxKeys, startAfter }) {
        const pages = store.list({ prefix, maxKeys, startAfter })[Symbol.asyncIterator]();
        for (let last = startAfter; ; ) {
          const request = { prefix, maxKeys, startAfter: last };
          const send = (other: ObjectStore): Promise<unknown> => firstPage(other.list(request));
          const page = await note('LIST', send, () => pages.next());
          if (page.done) return;
          yield page.value;
          last = page.value.objects.at(-1)?.key ?? last;
        }
      },
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    },
  };
}

function isConflict(answer: unknown): boolean {
  if (Array.isArray(answer)) return answer.length > 0;
  return typeof answer === 'object' && answer !== null && 'conflict' in answer;
}

function isEndOfPages(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'done' in answer && answer.done === true;
}

async function firstPage(pages: AsyncIterable<ListPage>): Promise<ListPage | undefined> {
  for await (const page of pages) return page;
  return undefined;
}

/**
 * Sends the same requests to another store, each as soon as those have ended that had ended before it began the first
 * time: one after another, or side by side, as the command sent them.
 *
 * @throws Error when a condition fails there that did not fail the first time, or the other way round: the stores then
 * hold different things.
 */
export async function replay(sent: readonly Sent[], store: ObjectStore): Promise<void> {
  const answers: Promise<void>[] = [];
  const send = async (request: Sent): Promise<void> => {
    const answer = await request.send(store);
    if (isConflict(answer) !== request.isConflict) throw new Error(`the ${request.name} ended otherwise`);
  };
  for (const request of sent) {
    const awaited = answers.filter((_, at) => (sent[at]?.ended ?? 0) <= request.began);
    answers.push(awaited.length === 0 ? send(request) : Promise.all(awaited).then(() => send(request)));
  }
  await Promise.all(answers);
}

/** `1 PUT, 2 HEAD`. */
export function requestsOf(names: Iterable<string>): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, times]) => `${times} ${name}`).join(', ');
}
