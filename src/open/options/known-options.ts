import { misconfigured } from '../../errors.ts';
import type { History } from '../../history/history.ts';
import type { Sessions } from '../../sessions/sessions.ts';
import type { Files } from '../../tool/files.ts';
import type { Memory } from '../../tool/memory-tool.ts';
import type { CallOptions } from '../../tree/tenant.ts';
import { refuseUnknownNames } from './known-names.ts';

type Callable = (...given: never) => unknown;
type LastOf<A extends readonly unknown[]> = A extends readonly [...unknown[], infer Last] ? Last : never;
/** The options of a verb, which are its last argument. */
type OptionsOf<V> = V extends Callable ? NonNullable<LastOf<Required<Parameters<V>>>> : never;
/** Every option of a verb once, and nothing else: the compiler compares it with the verb's type. */
type NamesOf<V> = Readonly<Record<keyof OptionsOf<V>, true>>;
/** The verbs of a room that take options, with the position of these among the arguments, and their names. */
export type KnownNames<Room, Name extends keyof Room> = {
  readonly [V in Name]: readonly [at: number, names: NamesOf<Room[V]>];
};

export const SIGNAL: Readonly<Record<'signal', true>> = { signal: true };
export const CALL: Readonly<Record<keyof CallOptions, true>> = {
  ...SIGNAL,
  onProgress: true,
  onRedacted: true,
  actor: true,
  onTouch: true,
};
const PLANNED = { ...CALL, dryRun: true, digest: true } as const;

const FILES: KnownNames<Files, keyof Files> = {
  read: [1, CALL],
  write: [2, { ...CALL, mode: true }],
  append: [2, CALL],
  list: [1, { ...CALL, recursive: true, after: true }],
  stat: [1, CALL],
  exists: [1, CALL],
  copy: [2, { ...CALL, mode: true }],
  rename: [2, CALL],
  remove: [1, { ...CALL, ifUnchanged: true }],
};

/** The verbs of a history. */
export const HISTORY: KnownNames<History, keyof History> = {
  list: [1, { ...CALL, writer: true, limit: true, before: true, onDamaged: true }],
  read: [1, CALL],
  restore: [1, { ...CALL, ifUnchanged: true }],
  restoreAt: [1, { ...PLANNED, below: true, partial: true }],
  undo: [0, { ...PLANNED, writer: true, force: true }],
  redact: [1, CALL],
  trace: [1, CALL],
  state: [0, CALL],
};

/** The verbs of transcripts. */
export const SESSIONS: KnownNames<Sessions, keyof Sessions> = {
  append: [2, { ...SIGNAL, fold: true }],
  load: [1, SIGNAL],
  list: [1, { ...SIGNAL, fold: true }],
  subpaths: [1, SIGNAL],
  remove: [1, SIGNAL],
};

const MEMORY: KnownNames<Memory, 'tool'> = {
  tool: [
    0,
    {
      allowed_callers: true,
      cache_control: true,
      defer_loading: true,
      input_examples: true,
      strict: true,
    },
  ],
};

/** The verbs that throw at once; the others reject. */
const AT_ONCE: ReadonlySet<string> = new Set(['files.list', 'memory.tool']);

/**
 * Wraps the memory: its methods refuse options that they do not know as `misconfigured`, as `openMemory` does.
 * `execute` alone takes anything that a framework hands its tools beside the signal.
 */
export function refusingUnknown(memory: Memory): Memory {
  return Object.freeze({
    ...guarded('memory', memory, MEMORY),
    files: guarded('files', memory.files, FILES),
    sessions: guarded('sessions', memory.sessions, SESSIONS),
    history: guardedHistory(memory.history),
  });
}

/** Wraps a history as `refusingUnknown` wraps a memory. */
export function guardedHistory(history: History): History {
  return guarded('history', history, HISTORY);
}

type AnyVerb = (...given: readonly unknown[]) => unknown;

/** Wraps the verbs of a room, which then refuse options that the table does not know. */
export function guarded<Room extends object>(
  room: string,
  verbs: Room,
  known: Readonly<Record<string, readonly [at: number, names: object]>>,
): Room {
  const guards = Object.entries(known).map(([name, [at, names]]) => {
    const verb = Reflect.get(verbs, name) as AnyVerb;
    const label = `${room}.${name}`;
    const allowed = new Set(Object.keys(names));
    const guard: AnyVerb = (...given) => {
      try {
        refuseUnknown(given[at], label, allowed);
      } catch (error) {
        if (AT_ONCE.has(label)) throw error;
        return Promise.reject(error);
      }
      return verb(...given);
    };
    return [name, guard] as const;
  });
  return Object.freeze({ ...verbs, ...Object.fromEntries(guards) });
}

function refuseUnknown(options: unknown, label: string, known: ReadonlySet<string>): void {
  if (options === undefined) return;
  if (typeof options !== 'object' || options === null) {
    throw misconfigured(`The options of ${label} must be an object with some of ${[...known].join(', ')}.`);
  }
  refuseUnknownNames(Object.keys(options), { known, what: `an option of ${label}` });
}
