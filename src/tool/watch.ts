import { AsyncLocalStorage } from 'node:async_hooks';
import { MemoryError, type MemoryErrorCode } from '../errors.ts';
import { type CommandName, echoOf } from '../language/command.ts';
import { type MemoryPath, parseMemoryPath } from '../language/path.ts';
import type { ObjectStore } from '../store/port.ts';
import { pause } from '../time.ts';
import { type Call, checkActor } from '../tree/session.ts';
import type { Tree } from '../tree/tree.ts';

/** What became of one command of the model, or of one call of `memory.files` or of an administration. */
export interface MemoryEvent {
  /** Of the memory that was asked, also where the path lies in one that is mounted. */
  readonly tenant: string;
  /** A command of the model, `invalid` for what is none, or the name of a call such as `files.write` or `admin.rotate`. */
  readonly command: CommandName | 'invalid' | `files.${string}` | `admin.${string}`;
  /** Who asked, in the host's words. */
  readonly actor?: string;
  /** When it was called. */
  readonly time: Date;
  /** Until the answer, the time in which it waited for others included. */
  readonly durationMs: number;
  /** Bytes of files that were read for it, as content. */
  readonly bytesRead: number;
  /** Bytes of files as they were written, after redaction; 0 where nothing is certain to be written. */
  readonly bytesWritten: number;
  /** Sent to stores, by kind, a listing page by page. What calls share counts for the one that began it. */
  readonly requests: Readonly<Partial<Record<RequestKind, number>>>;
  readonly outcome: 'ok' | MemoryErrorCode;
  /** Only where they are asked for; without one that the policy refused. */
  readonly paths?: readonly string[];
}

export type RequestKind = 'get' | 'head' | 'put' | 'delete' | 'list';

/** What it throws, or rejects with, is logged once and changes nothing. */
export type EventHandler = (event: MemoryEvent) => unknown;

/** Watches what is asked of one tenant. */
export interface Watch {
  /** The store, whose requests count for the call they are sent for. */
  store(store: ObjectStore): ObjectStore;
  /** The tree, what is read and written in which counts for the call. */
  tree(tree: Tree): Tree;
  execute<R extends Answer>(execute: Execute<R>, actor: string | undefined): Execute<R>;
  /** The functions of an object, each of which is a call but for `close`. */
  verbs<T extends object>(room: 'files' | 'admin', verbs: T, actor: string | undefined): T;
  /** Resolves when the handler is done with all events, or after a second. */
  closed(): Promise<void>;
}

type Execute<R extends Answer> = (input: unknown, options?: Call) => Promise<R>;

type Answer = { readonly isError: false } | { readonly isError: true; readonly error: MemoryError };

interface Asked {
  readonly command: MemoryEvent['command'];
  readonly actor: unknown;
  /** As they were given. */
  readonly paths: readonly unknown[];
}

interface Counts {
  bytesRead: number;
  bytesWritten: number;
  readonly requests: Partial<Record<RequestKind, number>>;
}

const LONGEST_CLOSING_MS = 1_000;
/** Beyond so many events that the handler has not done with, further ones are dropped. */
const MOST_PENDING = 10_000;

const counting = new AsyncLocalStorage<Counts>();

export function createWatch(given: {
  readonly tenant: string;
  readonly handler: EventHandler;
  readonly showsPaths: boolean;
  /** Called for what the handler throws, and for events that are dropped. */
  readonly onFailure: () => void;
}): Watch {
  const { tenant, handler, showsPaths, onFailure } = given;
  const pending = new Set<Promise<void>>();

  /** A logger that throws breaks nothing either. */
  const report = (): void => {
    try {
      onFailure();
    } catch {}
  };

  /** After the answer, so that no caller waits for the handler. */
  const tell = (event: MemoryEvent): void => {
    if (pending.size >= MOST_PENDING) {
      report();
      return;
    }
    const told = new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => handler(event))
      .then(() => {}, report)
      .finally(() => pending.delete(told));
    pending.add(told);
  };

  const begin = ({ command, actor, paths }: Asked): Running => {
    if (actor !== undefined) checkActor(actor, 'actor');
    const [time, started] = [new Date(), performance.now()];
    const counts: Counts = { bytesRead: 0, bytesWritten: 0, requests: {} };
    return {
      counts,
      end(outcome) {
        const isRefusedName = outcome === 'policy_refused';
        tell({
          ...{ tenant, command },
          ...(typeof actor === 'string' && { actor }),
          time,
          durationMs: Math.round((performance.now() - started) * 1_000) / 1_000,
          bytesRead: counts.bytesRead,
          bytesWritten: outcome === 'ok' ? counts.bytesWritten : 0,
          requests: { ...counts.requests },
          outcome,
          ...(showsPaths && !isRefusedName && { paths: paths.flatMap(validPath) }),
        });
      },
    };
  };

  const observed = async <T>(
    asked: Asked,
    work: () => T | Promise<T>,
    outcomeOf: (result: T) => MemoryEvent['outcome'] = () => 'ok',
  ): Promise<T> => {
    const { counts, end } = begin(asked);
    try {
      const result = await counting.run(counts, async () => work());
      end(outcomeOf(result));
      return result;
    } catch (error) {
      end(codeOf(error));
      throw error;
    }
  };

  /** A listing is one call, which ends when its caller has seen enough. */
  async function* listed<T>(asked: Asked, list: () => AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    const { counts, end } = begin(asked);
    let outcome: MemoryEvent['outcome'] = 'ok';
    try {
      const entries = list()[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await counting.run(counts, () => entries.next());
          if (next.done) return;
          yield next.value;
        }
      } finally {
        await entries.return?.();
      }
    } catch (error) {
      outcome = codeOf(error);
      throw error;
    } finally {
      end(outcome);
    }
  }

  return {
    store: countRequests,
    tree: countBytes,
    execute:
      (execute, actor) =>
      async (input, options = {}) => {
        const echo = echoOf(input);
        const asked: Asked = {
          command: echo.command ?? 'invalid',
          actor: options.actor ?? actor,
          paths: ['path', 'old_path', 'new_path'].map(echo.whole),
        };
        return observed(
          asked,
          () => execute(input, options),
          (result) => (result.isError ? result.error.code : 'ok'),
        );
      },
    verbs(room, verbs, actor) {
      const watched = Object.entries(verbs).map(([name, verb]) => {
        if (typeof verb !== 'function' || name === 'close') return [name, verb] as const;
        const call = (...args: readonly unknown[]): unknown => {
          const asked: Asked = {
            command: `${room}.${name}`,
            actor: actorIn(args.at(-1)) ?? actor,
            // The second argument of others is a content.
            paths: args.slice(0, name === 'copy' || name === 'rename' ? 2 : 1),
          };
          return name === 'list' ? listed(asked, () => verb(...args)) : observed(asked, () => verb(...args));
        };
        return [name, call] as const;
      });
      return Object.freeze({ ...verbs, ...Object.fromEntries(watched) });
    },
    async closed() {
      const done = new AbortController();
      const late = pause(LONGEST_CLOSING_MS, done.signal).catch(() => {});
      await Promise.race([Promise.all(pending), late]);
      done.abort();
    },
  };
}

/** A call under way. */
interface Running {
  readonly counts: Counts;
  end(outcome: MemoryEvent['outcome']): void;
}

function countRequests(store: ObjectStore): ObjectStore {
  const count = (kind: RequestKind): void => {
    const requests = counting.getStore()?.requests;
    if (requests !== undefined) requests[kind] = (requests[kind] ?? 0) + 1;
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
  return {
    get: counted('get', store.get.bind(store)),
    head: counted('head', store.head.bind(store)),
    put: counted('put', store.put.bind(store)),
    delete: counted('delete', store.delete.bind(store)),
    async *list(options) {
      const pages = store.list(options)[Symbol.asyncIterator]();
      try {
        for (;;) {
          const page = await pages.next();
          if (page.done) return;
          count('list');
          yield page.value;
        }
      } finally {
        await pages.return?.();
      }
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

function countBytes(tree: Tree): Tree {
  const read = (counts: Counts | undefined, content: Uint8Array | undefined): void => {
    if (counts !== undefined && content !== undefined) counts.bytesRead += content.length;
  };
  /** Notes what is to be written, and what the policy has made of it. */
  const writing = (content: Uint8Array, options: Call | undefined): Call => {
    const counts = counting.getStore();
    if (counts !== undefined) counts.bytesWritten = content.length;
    return redacting(counts, options);
  };
  const redacting = (counts: Counts | undefined, options: Call = {}): Call => ({
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
      read(counting.getStore(), content);
      return content;
    },
    async readVersion(path, options) {
      const found = await tree.readVersion(path, options);
      read(counting.getStore(), found?.content);
      return found;
    },
    create: async (path, content, options) => tree.create(path, content, writing(content, options)),
    overwrite: async (path, content, options) => tree.overwrite(path, content, writing(content, options)),
    replace: async (path, replacement, options) =>
      tree.replace(path, replacement, writing(replacement.content, options)),
    async edit(path, edit, options) {
      // It may be judged several times, in the course of another call's round.
      const counts = counting.getStore();
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

function actorIn(options: unknown): unknown {
  return typeof options === 'object' && options !== null ? Reflect.get(options, 'actor') : undefined;
}

function validPath(given: unknown): readonly MemoryPath[] {
  try {
    return typeof given === 'string' && given !== '' ? [parseMemoryPath(given)] : [];
  } catch {
    return [];
  }
}

function codeOf(error: unknown): MemoryErrorCode {
  return error instanceof MemoryError ? error.code : 'unavailable';
}
