import { type KeyHolder, keyHolderOf, MemoryError, type MemoryErrorCode } from '../errors.ts';
import { type CommandName, echoOf } from '../language/command.ts';
import { type MemoryPath, parseMemoryPath } from '../language/path.ts';
import { heard } from '../listeners.ts';
import type { ObjectStore } from '../store/port.ts';
import { pause } from '../time.ts';
import { checkActor, type KeptCall } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';
import {
  type CallCounts,
  countBytes,
  countFor,
  countRequests,
  createCounts,
  type RequestKind,
} from './call-counts.ts';

/** The result of one command of the model, or of one call of `memory.files` or of an administration. */
export interface MemoryEvent {
  /** The tenant of the memory that was asked, also where the path lies in a mounted one. */
  readonly tenant: string;
  /**
   * A command of the model, `invalid` for anything else that it asked, or the name of a call such as `files.write` or
   * `admin.rotate`.
   */
  readonly command: CommandName | 'invalid' | `files.${string}` | `admin.${string}`;
  /** The actor, in the host's words. */
  readonly actor?: string;
  /** The time of the call. */
  readonly time: Date;
  /** The milliseconds until the answer, including the time in which the call waited for others. */
  readonly durationMs: number;
  /** The bytes of content of files that were read for it. */
  readonly bytesRead: number;
  /** The bytes of files as they were written, after redaction; 0 where no write is certain. */
  readonly bytesWritten: number;
  /**
   * The requests to stores, by kind, a listing page by page. Requests that calls share count for the one that began
   * them.
   */
  readonly requests: Readonly<Partial<Record<RequestKind, number>>>;
  readonly outcome: 'ok' | MemoryErrorCode;
  /** The holder of the root key that refused or was away, where the settings of the tenant name that key. */
  readonly keyHolder?: KeyHolder;
  /** The paths, only where they are asked for; without one that the policy refused. */
  readonly paths?: readonly string[];
}

/** A function that takes events. Its first error, thrown or rejected, is logged, and changes nothing. */
export type EventHandler = (event: MemoryEvent) => unknown;

/** A watch over the commands and calls of one tenant. */
export interface Watch {
  /** Wraps the store: its requests count for the call for which they are sent. */
  store(store: ObjectStore): ObjectStore;
  /** Wraps the tree: bytes that are read and written in it count for the call. */
  tree(tree: Tree): Tree;
  execute<R extends CommandOutcome>(execute: Execute<R>, actor: string | undefined): Execute<R>;
  /** Wraps the functions of an object; each except `close` is a call. */
  verbs<T extends object>(room: 'files' | 'admin', verbs: T, actor: string | undefined): T;
  /** Resolves when the handler is done with all events, or after a second. */
  closed(): Promise<void>;
}

type Execute<R extends CommandOutcome> = (input: unknown, options?: KeptCall) => Promise<R>;

type CommandOutcome = { readonly isError: false } | { readonly isError: true; readonly error: MemoryError };

interface WatchedCommand {
  readonly command: MemoryEvent['command'];
  readonly actor: unknown;
  /** The paths as they were given. */
  readonly paths: readonly unknown[];
}

const LONGEST_CLOSING_MS = 1_000;
/** The most events that the handler has yet to finish; further ones are dropped. */
const MOST_PENDING = 10_000;

export function createWatch(given: {
  readonly tenant: string;
  readonly handler: EventHandler;
  readonly showsPaths: boolean;
  /** Hears of the handler's errors, and of events that are dropped; must not throw. */
  readonly onFailure: () => void;
}): Watch {
  const { tenant, showsPaths, onFailure } = given;
  const handle = heard(given.handler, onFailure);
  const pending = new Set<Promise<void>>();

  /** Tells an event after the answer, so that the handler keeps no caller waiting. */
  const tell = (event: MemoryEvent): void => {
    if (pending.size >= MOST_PENDING) {
      onFailure();
      return;
    }
    const told = new Promise<void>((resolve) => setImmediate(resolve))
      .then(() => handle(event))
      .finally(() => pending.delete(told));
    pending.add(told);
  };

  const begin = ({ command, actor, paths }: WatchedCommand): WatchedCall => {
    if (actor !== undefined) checkActor(actor, 'actor');
    const [time, started] = [new Date(), performance.now()];
    const counts = createCounts();
    return {
      counts,
      end(error) {
        const outcome = error === undefined ? 'ok' : codeOf(error);
        const keyHolder = keyHolderOf(error);
        const isRefusedName = outcome === 'policy_refused';
        tell({
          tenant,
          command,
          ...(typeof actor === 'string' && { actor }),
          time,
          durationMs: Math.round((performance.now() - started) * 1_000) / 1_000,
          bytesRead: counts.bytesRead,
          bytesWritten: outcome === 'ok' ? counts.bytesWritten : 0,
          requests: { ...counts.requests },
          outcome,
          ...(keyHolder && { keyHolder }),
          ...(showsPaths && !isRefusedName && { paths: paths.flatMap(validPath) }),
        });
      },
    };
  };

  const observed = async <T>(
    asked: WatchedCommand,
    work: () => T | Promise<T>,
    errorOf: (result: T) => MemoryError | undefined = () => undefined,
  ): Promise<T> => {
    const { counts, end } = begin(asked);
    try {
      const result = await countFor(counts, async () => work());
      end(errorOf(result));
      return result;
    } catch (error) {
      end(error);
      throw error;
    }
  };

  /** Watches a listing, which is one call and ends when its caller has seen enough. */
  async function* listed<T>(
    asked: WatchedCommand,
    list: () => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    const { counts, end } = begin(asked);
    let failure: unknown;
    try {
      const entries = list()[Symbol.asyncIterator]();
      try {
        for (;;) {
          const next = await countFor(counts, () => entries.next());
          if (next.done) return;
          yield next.value;
        }
      } finally {
        await entries.return?.();
      }
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      end(failure);
    }
  }

  return {
    store: countRequests,
    tree: countBytes,
    execute:
      (execute, actor) =>
      async (input, options = {}) => {
        const echo = echoOf(input);
        const asked: WatchedCommand = {
          command: echo.command ?? 'invalid',
          actor: options.actor ?? actor,
          paths: ['path', 'old_path', 'new_path'].map(echo.whole),
        };
        return observed(
          asked,
          () => execute(input, options),
          (result) => (result.isError ? result.error : undefined),
        );
      },
    verbs(room, verbs, actor) {
      const watched = Object.entries(verbs).map(([name, verb]) => {
        if (typeof verb !== 'function' || name === 'close') return [name, verb] as const;
        const call = (...args: readonly unknown[]): unknown => {
          const asked: WatchedCommand = {
            command: `${room}.${name}`,
            actor: actorIn(args.at(-1)) ?? actor,
            // The second argument of other calls is a content.
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
interface WatchedCall {
  readonly counts: CallCounts;
  /** @param error what the call failed with; undefined: it succeeded. */
  end(error?: unknown): void;
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
