import { MemoryError, type MemoryErrorCode } from '../errors.ts';
import { type CommandName, echoOf } from '../language/command.ts';
import { type MemoryPath, parseMemoryPath } from '../language/path.ts';
import { heard } from '../listeners.ts';
import type { ObjectStore } from '../store/port.ts';
import { pause } from '../time.ts';
import { type Call, checkActor } from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';
import {
  type CallCounts,
  countBytes,
  countFor,
  countRequests,
  createCounts,
  type RequestKind,
} from './call-counts.ts';

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

/** What it throws, or rejects with, is logged once and changes nothing. */
export type EventHandler = (event: MemoryEvent) => unknown;

/** Watches what is asked of one tenant. */
export interface Watch {
  /** The store, whose requests count for the call they are sent for. */
  store(store: ObjectStore): ObjectStore;
  /** The tree, what is read and written in which counts for the call. */
  tree(tree: Tree): Tree;
  execute<R extends CommandOutcome>(execute: Execute<R>, actor: string | undefined): Execute<R>;
  /** The functions of an object, each of which is a call but for `close`. */
  verbs<T extends object>(room: 'files' | 'admin', verbs: T, actor: string | undefined): T;
  /** Resolves when the handler is done with all events, or after a second. */
  closed(): Promise<void>;
}

type Execute<R extends CommandOutcome> = (input: unknown, options?: Call) => Promise<R>;

type CommandOutcome = { readonly isError: false } | { readonly isError: true; readonly error: MemoryError };

interface WatchedCommand {
  readonly command: MemoryEvent['command'];
  readonly actor: unknown;
  /** As they were given. */
  readonly paths: readonly unknown[];
}

const LONGEST_CLOSING_MS = 1_000;
/** Beyond so many events that the handler has not done with, further ones are dropped. */
const MOST_PENDING = 10_000;

export function createWatch(given: {
  readonly tenant: string;
  readonly handler: EventHandler;
  readonly showsPaths: boolean;
  /** Called for what the handler throws, and for events that are dropped; must not throw. */
  readonly onFailure: () => void;
}): Watch {
  const { tenant, showsPaths, onFailure } = given;
  const handle = heard(given.handler, onFailure);
  const pending = new Set<Promise<void>>();

  /** After the answer, so that no caller waits for the handler. */
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
      end(outcome) {
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
          ...(showsPaths && !isRefusedName && { paths: paths.flatMap(validPath) }),
        });
      },
    };
  };

  const observed = async <T>(
    asked: WatchedCommand,
    work: () => T | Promise<T>,
    outcomeOf: (result: T) => MemoryEvent['outcome'] = () => 'ok',
  ): Promise<T> => {
    const { counts, end } = begin(asked);
    try {
      const result = await countFor(counts, async () => work());
      end(outcomeOf(result));
      return result;
    } catch (error) {
      end(codeOf(error));
      throw error;
    }
  };

  /** A listing is one call, which ends when its caller has seen enough. */
  async function* listed<T>(
    asked: WatchedCommand,
    list: () => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    const { counts, end } = begin(asked);
    let outcome: MemoryEvent['outcome'] = 'ok';
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
        const asked: WatchedCommand = {
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
          const asked: WatchedCommand = {
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
interface WatchedCall {
  readonly counts: CallCounts;
  end(outcome: MemoryEvent['outcome']): void;
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
