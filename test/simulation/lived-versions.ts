import { toBase64url } from '../../src/format/encoding.ts';
import type { OpenedObject } from '../../src/format/object.ts';
import { equalBytes } from '../../src/format/sodium.ts';
import { NO_ID } from '../../src/format/wrap.ts';
import { isBelow } from './answer.ts';
import type { History, LandedVersion, Operation } from './history.ts';

/** A version that lay in the store at some moment. */
interface LivedVersion {
  readonly id: string;
  readonly text: string;
  readonly mtime: number;
  readonly previous: string | undefined;
  readonly writer: string;
  /** The operation that wrote it first; undefined for an operator's. */
  readonly operation: Operation | undefined;
  /** It came too late for its key, or came back: a process may refuse it. */
  unreadable: boolean;
}

/** A version that its writer sealed anew, when its first attempt lay there already. */
export interface SealedAnew {
  readonly id: string;
  readonly path: string;
  readonly operation: Operation;
  readonly attempts: readonly [Attempt, Attempt];
}

interface Attempt {
  readonly body: Uint8Array;
  readonly bound: bigint;
}

/** The end of a version at a path. */
export type Ending = {
  readonly path: string;
  readonly version: string;
  readonly operation: Operation | undefined;
} /** An edit replaced it, whose version is `by`. */ & (
  | { readonly kind: 'replaced'; readonly by: string; readonly to?: undefined }
  /** A command deleted it. */
  | { readonly kind: 'deleted'; readonly to?: undefined }
  /** A rename, a write that was taken back or an operator carried it away, to another place if one is named. */
  | { readonly kind: 'carried'; readonly to: string | undefined }
);

/** All versions that ever lay in the store, and their ends there. */
export interface Lived {
  readonly paths: readonly string[];
  readonly versions: ReadonlyMap<string, LivedVersion>;
  readonly endings: readonly Ending[];
  readonly sealedAnew: readonly SealedAnew[];
  /** The version at each path now. */
  readonly current: ReadonlyMap<string, string>;
  /** The number of times that a version left a path, by `keyOf`. */
  readonly moves: ReadonlyMap<string, number>;
  /**
   * The renames, by `keyOf`, of a version to a place where it is, or where another command ended it or from where one
   * renamed it.
   */
  readonly stayed: ReadonlySet<string>;
  /** Ids that bore two texts, times, predecessors or writers, and bindings whose bounds did not grow. */
  readonly broken: readonly string[];
  lives(id: string): boolean;
  unreadableToken(token: string): boolean;
}

type Opener = (path: string, object: Uint8Array) => OpenedObject;

/** Goes through all that landed, in its order. */
export function liveOf({ versions: landed, refused }: History, openAt: Opener): Lived {
  const versions = new Map<string, LivedVersion>();
  const endings: Ending[] = [];
  const current = new Map<string, string>();
  const moves = new Map<string, number>();
  const places = new Map<string, Set<string>>();
  const broken: string[] = [];
  /** The least bound of each id. */
  const least = new Map<string, bigint>();
  /** The version at each path. */
  const lying = new Map<string, Attempt & Pick<LandedVersion, 'operation'>>();
  const sealedAnew: SealedAnew[] = [];
  const count = (key: string): void => void moves.set(key, (moves.get(key) ?? 0) + 1);
  const deleted: (readonly [path: string, version: string])[] = [];
  /** The deletes, by ids, that left a copy of a rename under way, which goes with them. */
  const copyLeft = new Map<string, Ending>();
  const placesOf = (id: string): Set<string> => {
    const known = places.get(id) ?? new Set();
    places.set(id, known);
    return known;
  };

  for (const event of landed) {
    const { path, operation } = event;
    const held = current.get(path);
    if (event.body === undefined) {
      if (held === undefined) continue;
      current.delete(path);
      const elsewhere = [...placesOf(held)].filter((place) => place !== path);
      for (const to of elsewhere) count(`renamed ${held} ${path} ${to}`);
      const isDelete = isDeleteOf(operation, path);
      if (isDelete) {
        count(`deleted ${held} ${path} `);
        deleted.push([path, held]);
      }
      const lies = elsewhere.filter((place) => current.get(place) === held);
      const ended = { path, version: held, operation };
      const earlier = copyLeft.get(held);
      if (isDelete && lies.length === 0 && !event.stray)
        endings.push(earlier ?? { ...ended, kind: 'deleted' });
      else endings.push({ ...ended, kind: 'carried', to: renamedTo(operation, path, lies) });
      if (isDelete && lies.length > 0 && earlier === undefined)
        copyLeft.set(held, { ...ended, kind: 'deleted' });
      continue;
    }
    const opened = openAt(path, event.body);
    const version = livedVersion(event, opened);
    const { id } = version;
    const known = versions.get(id) ?? version;
    if (!isSame(known, version)) broken.push(`${id} is two versions, the other one at ${path}`);
    known.unreadable ||= event.stray;
    versions.set(id, known);
    // A version that a network delivers too late was bound long ago.
    const passed = held === id ? lying.get(path)?.bound : least.get(id);
    if (passed !== undefined && opened.bound <= passed && !event.stray)
      broken.push(`${id} at ${path} is bound no later than before: ${opened.bound}`);
    if (opened.bound < (least.get(id) ?? opened.bound + 1n)) least.set(id, opened.bound);
    const last = held === id ? lying.get(path) : undefined;
    const lies = { body: event.body, bound: opened.bound };
    if (operation !== undefined && last?.operation === operation && isWriteTo(operation, path))
      sealedAnew.push({ id, path, operation, attempts: [last, lies] });
    lying.set(path, { ...lies, operation });
    current.set(path, id);
    if (held !== undefined && held !== id && isEditOf(operation, path))
      endings.push({ kind: 'replaced', path, version: held, by: id, operation });
    placesOf(id).add(path);
  }

  // A retry on a new base is a new version, though nobody saw the one before.
  const tried = new Map(versions);
  for (const { path, body } of refused) {
    const version = livedVersion({ operation: undefined, stray: false }, openAt(path, body));
    const known = tried.get(version.id) ?? version;
    tried.set(version.id, known);
    if (!isSame(known, version)) broken.push(`${version.id} is two versions, one of them refused at ${path}`);
  }

  const stayed = new Set<string>();
  const ends = [
    ...endings.flatMap(({ kind, path, version, to }) =>
      kind === 'carried' && to === undefined ? [] : [[path, version] as const],
    ),
    ...deleted,
    ...current,
  ];
  for (const [to, version] of ends)
    for (const from of placesOf(version)) stayed.add(`renamed ${version} ${from} ${to}`);

  return {
    paths: [...new Set(landed.map(({ path }) => path))].sort(),
    versions,
    endings,
    sealedAnew,
    current,
    moves,
    stayed,
    broken,
    lives: (id) => [...current.values()].includes(id),
    unreadableToken: (token) =>
      [...versions.values()].some(({ unreadable, text }) => unreadable && text.includes(token)),
  };
}

function livedVersion(
  { operation, stray }: Pick<LandedVersion, 'operation' | 'stray'>,
  opened: OpenedObject,
): LivedVersion {
  const { previous, writer, mtime, content } = opened;
  return {
    id: toBase64url(opened.id),
    mtime,
    operation,
    unreadable: stray,
    writer: toBase64url(writer),
    text: new TextDecoder().decode(content),
    previous: equalBytes(previous, NO_ID) ? undefined : toBase64url(previous),
  };
}

/** Compares two versions, however often they were sealed and bound. */
function isSame(a: LivedVersion, b: LivedVersion): boolean {
  return a.text === b.text && a.mtime === b.mtime && a.previous === b.previous && a.writer === b.writer;
}

function isWriteTo(operation: Operation, path: string): boolean {
  const { command } = operation;
  return isEditOf(operation, path) || (command.command === 'create' && command.path === path);
}

/**
 * Tells whether an operation edits the path: one that finishes the rename of another process first writes at other
 * paths too.
 */
function isEditOf(operation: Operation | undefined, path: string): boolean {
  const command = operation?.command;
  return (command?.command === 'insert' || command?.command === 'str_replace') && command.path === path;
}

function isDeleteOf(operation: Operation | undefined, path: string): boolean {
  const command = operation?.command;
  return command?.command === 'delete' && (path === command.path || isBelow(path, command.path));
}

/** Answers the path to which a rename that went well took the file at the path, if it lies there. */
function renamedTo(
  operation: Operation | undefined,
  path: string,
  lies: readonly string[],
): string | undefined {
  const command = operation?.command;
  if (command?.command !== 'rename') return undefined;
  if (path !== command.old_path && !isBelow(path, command.old_path)) return undefined;
  const to = command.new_path + path.slice(command.old_path.length);
  return lies.includes(to) ? to : undefined;
}
