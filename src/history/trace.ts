import type { Touch } from '../tree/touches.ts';
import { endOf, type VersionEnd } from './entries.ts';
import { versionsInOrder } from './event-order.ts';
import type { Known } from './known.ts';
import type { TurnRun } from './read-runs.ts';
import { turnActor } from './turn-trace.ts';
import { type Untold, untoldOf } from './untold.ts';
import type { Version, VersionId } from './versions.ts';

/** A version that is traced, as far as it is still known. */
export interface TracedVersion {
  readonly path: string;
  readonly version: string;
  /** By its writer's clock; absent where the version is not kept. */
  readonly time?: Date;
  readonly writer?: string;
  /** What became of it; absent where the version is not kept. */
  readonly end?: VersionEnd;
}

/** A version that a turn wrote. `unknown`: nothing tells whether that was before or after what it read. */
export interface TracedWrite extends TracedVersion {
  readonly order: 'after' | 'unknown';
}

/** A turn that knew of what is traced. */
export interface TracedTurn {
  readonly turn: string;
  /** When its answer was stored, or what was saved of it last. */
  readonly time: Date;
  readonly state: 'answered' | 'unfinished';
  /** What it read of what is traced, the first first. */
  readonly read: readonly TracedVersion[];
  /** The turn before in its conversation, where that knew of it already. */
  readonly follows?: string;
  /** What it wrote from then on. */
  readonly written: readonly TracedWrite[];
  readonly renamed: readonly { readonly path: string; readonly to: string }[];
  readonly deleted: readonly string[];
}

/** What came of versions: the turns that read them, what those wrote then, who read that, and so on. */
export interface Trace {
  /** What was asked for, by time; what is not kept comes first. */
  readonly versions: readonly TracedVersion[];
  /** Later versions at the same paths that have the text of a traced one again, as after an undo or a restore; by time. */
  readonly again: readonly TracedVersion[];
  /** By the time of their answers. */
  readonly turns: readonly TracedTurn[];
  readonly untold: readonly Untold[];
}

/** Behind which of its touches a run knew of what is traced; -1: from its beginning. */
type Since = Map<TurnRun, number>;

export function traceVersions(known: Known, at: string, starts: readonly VersionId[]): Trace {
  const { runs } = known.turns;
  const { since, traced, again } = spread(known, starts);
  const told = createTeller(known, at);
  const byTurn = Map.groupBy(
    runs.filter((run) => since.has(run)),
    ({ turn }) => turn,
  );
  const turns = [...byTurn].map(([turn, some]) => tracedTurn(turn, some, { known, since, traced, told }));
  turns.sort((a, b) => a.time.getTime() - b.time.getTime());
  const versions = versionsInOrder(known.past, starts).map((version) => told(version));
  const brought = again.toSorted((a, b) => a.mtime - b.mtime).map(({ id }) => told(id));
  return { versions, again: brought, turns, untold: untoldOf(known, starts) };
}

interface Spread {
  readonly since: Since;
  readonly traced: ReadonlySet<VersionId>;
  readonly again: readonly Version[];
}

/**
 * From version to reader, and to what has its text again; from reader to what it wrote then and to the turns that follow it.
 */
function spread(known: Known, starts: readonly VersionId[]): Spread {
  const { runs } = known.turns;
  const touching = new Map<
    VersionId,
    { readonly run: TurnRun; readonly index: number; readonly kind: string }[]
  >();
  for (const run of runs) {
    for (const [index, touch] of run.list.entries()) {
      if (!('version' in touch)) continue;
      const some = touching.get(touch.version) ?? [];
      touching.set(touch.version, [...some, { run, index, kind: touch.kind }]);
    }
  }
  const followers = Map.groupBy(runs, ({ follows }) => follows);
  const laterWithText = findLater(known);
  const again: Version[] = [];
  const since: Since = new Map();
  const traced = new Set<VersionId>(starts);
  const waiting: (() => void)[] = [];
  const reachReaders = (version: VersionId): void => {
    for (const { run, index, kind } of touching.get(version) ?? []) if (kind === 'read') reachRun(run, index);
  };
  const reachAgain = (version: VersionId): void => {
    for (const later of laterWithText(version)) {
      if (traced.has(later.id)) continue;
      traced.add(later.id);
      again.push(later);
      waiting.push(() => reachReaders(later.id));
    }
  };
  const reachVersion = (version: VersionId, writer: TurnRun): void => {
    if (traced.has(version)) return;
    traced.add(version);
    waiting.push(() => {
      reachAgain(version);
      for (const { run, index } of touching.get(version) ?? []) {
        // Edits of two turns may be written together: each has seen the other's.
        if (run !== writer) reachRun(run, index);
      }
    });
  };
  const reachRun = (run: TurnRun, index: number): void => {
    const before = since.get(run);
    if (before !== undefined && before <= index) return;
    since.set(run, index);
    waiting.push(() => {
      for (const touch of run.list.slice(index + 1))
        if (touch.kind === 'written') reachVersion(touch.version, run);
      for (const { id } of unrecorded(known, run.turn)) reachVersion(id, run);
      for (const next of followers.get(run.id) ?? []) reachRun(next, -1);
    });
  };
  for (const version of starts) {
    reachReaders(version);
    reachAgain(version);
  }
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) next();
  return { since, traced, again };
}

/** The later versions that lay where a version lies or was saved, and have its text. */
function findLater({ past }: Known): (id: VersionId) => readonly Version[] {
  const byText = Map.groupBy(past.versions.values(), ({ textHash }) => textHash);
  const places = (id: VersionId): ReadonlySet<string> => past.places.get(id) ?? new Set();
  return (id) => {
    const version = past.versions.get(id);
    if (version?.textHash === undefined) return [];
    const alike = byText.get(version.textHash) ?? [];
    return alike.filter((other) => {
      const isLater = other.id !== id && other.mtime > version.mtime;
      return isLater && [...places(other.id)].some((path) => places(id).has(path));
    });
  };
}

/** Versions of a turn that none of its runs names: it died, or was not told, before that was saved. */
function unrecorded({ past, turns, writerOf }: Known, turn: string): readonly Version[] {
  const named = new Set<VersionId>();
  for (const run of turns.runs) {
    if (run.turn !== turn) continue;
    for (const touch of run.list) if (touch.kind === 'written') named.add(touch.version);
  }
  const writer = writerOf(turnActor(turn));
  return [...past.versions.values()].filter((version) => version.writer === writer && !named.has(version.id));
}

type Teller = (version: VersionId, touched?: string) => TracedVersion;

/** Tells of versions what is known; of one that is not kept, the path where it was touched. */
function createTeller({ past, actors }: Known, at: string): Teller {
  return (id, touched = at) => {
    const version = past.versions.get(id);
    if (version === undefined) return { path: touched, version: id };
    const { path, mtime, writer } = version;
    return {
      ...{ path, version: id, time: new Date(mtime) },
      ...(writer !== undefined && { writer: actors.get(writer) ?? writer }),
      end: endOf(past, version),
    };
  };
}

function tracedTurn(
  turn: string,
  runs: readonly TurnRun[],
  {
    known,
    since,
    traced,
    told,
  }: {
    readonly known: Known;
    readonly since: Since;
    readonly traced: ReadonlySet<VersionId>;
    readonly told: Teller;
  },
): TracedTurn {
  const read = new Map<VersionId, TracedVersion>();
  const written = new Map<VersionId, TracedWrite>();
  const later: Touch[] = [];
  for (const run of runs) {
    const from = since.get(run) ?? run.list.length;
    for (const [index, touch] of run.list.entries()) {
      if (touch.kind === 'read' && traced.has(touch.version) && !written.has(touch.version)) {
        read.set(touch.version, read.get(touch.version) ?? told(touch.version, touch.path));
      }
      if (index <= from) continue;
      later.push(touch);
      if (touch.kind === 'written') {
        written.set(touch.version, { ...told(touch.version, touch.path), order: 'after' });
      }
    }
  }
  for (const { id } of unrecorded(known, turn)) written.set(id, { ...told(id), order: 'unknown' });
  const before = runs.flatMap(({ follows }) =>
    known.turns.runs.filter((run) => run.id === follows && since.has(run)),
  );
  return {
    turn,
    time: new Date(Math.max(...runs.map(({ time }) => time))),
    state: runs.some(({ isAnswered }) => isAnswered) ? 'answered' : 'unfinished',
    read: [...read.values()],
    ...(before[0] !== undefined && { follows: before[0].turn }),
    written: [...written.values()],
    renamed: later.flatMap((touch) => (touch.kind === 'renamed' ? { path: touch.path, to: touch.to } : [])),
    deleted: later.flatMap((touch) => (touch.kind === 'deleted' ? touch.path : [])),
  };
}
