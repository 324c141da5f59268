import type { MemoryPath } from '../../language/path.ts';
import { dateOf } from '../../time.ts';
import type { Touch } from '../../tree/touches.ts';
import { turnActor } from '../../turns/turn-trace.ts';
import { endOf, type VersionEnd } from '../past/entries.ts';
import { push } from '../past/model.ts';
import { inOrder, versionsInOrder } from '../past/order.ts';
import type { Past, PastVersion, VersionId } from '../past/past.ts';
import type { KnownTurns } from './known.ts';
import type { TurnRun } from './read-runs.ts';
import { type Untold, untoldOf } from './untold.ts';

/** A traced version, as far as it is still known. */
export interface TracedVersion {
  readonly path: string;
  readonly version: string;
  /** The time of the write, by its writer's clock; absent where the version is not kept. */
  readonly time?: Date;
  readonly writer?: string;
  /** The fate of the version; absent where it is not kept. */
  readonly end?: VersionEnd;
}

/**
 * A version that a turn wrote. `unknown`: no record tells whether the turn wrote it before or after it read a traced
 * one.
 */
export interface TracedWrite extends TracedVersion {
  readonly order: 'after' | 'unknown';
}

/** A turn that knew of a traced version. */
export interface TracedTurn {
  readonly turn: string;
  /** The time at which its answer was stored, or its last progress. */
  readonly time: Date;
  readonly state: 'answered' | 'unfinished';
  /** The traced versions that it read, in that order. */
  readonly read: readonly TracedVersion[];
  /** The turn before in its conversation, where that one knew of a traced version already. */
  readonly follows?: string;
  /** The versions that it wrote from then on. */
  readonly written: readonly TracedWrite[];
  readonly renamed: readonly { readonly path: string; readonly to: string }[];
  readonly deleted: readonly string[];
}

/**
 * The consequences of versions: the turns that read them, the versions that those wrote then, the turns that read
 * these, and so on.
 */
export interface Trace {
  /** The versions that the caller asked for, by time; those that are not kept come first. */
  readonly versions: readonly TracedVersion[];
  /**
   * Later versions at the same paths that have the text of a traced one again, as after an undo or a restore; by time.
   */
  readonly again: readonly TracedVersion[];
  /** The turns by the time of their answers. */
  readonly turns: readonly TracedTurn[];
  readonly untold: readonly Untold[];
}

/**
 * The index, for each run, of the touch by which it came to know of a traced version; -1: it knew from its beginning.
 */
type KnownSince = Map<TurnRun, number>;

/** Traces versions, item by item: each run and each version is met once, however many there are. */
export function* traceVersions(
  known: KnownTurns,
  at: string,
  starts: readonly VersionId[],
): Generator<void, Trace> {
  const index = yield* indexOf(known);
  const { since, traced, again } = yield* spread(index, starts);
  const told = createTeller(known, at);
  const turns: TracedTurn[] = [];
  for (const [turn, all] of index.byTurn) {
    yield;
    const runs = all.filter((run) => since.has(run));
    if (runs.length === 0) continue;
    turns.push(tracedTurn(turn, runs, { index, since, traced, told }));
  }
  const byTime = yield* inOrder(turns, (a, b) => a.time.getTime() - b.time.getTime());
  const versions = (yield* versionsInOrder(known.past, starts)).map((version) => told(version));
  const brought = again.toSorted((a, b) => a.mtime - b.mtime).map(({ id }) => told(id));
  return { versions, again: brought, turns: byTime, untold: yield* untoldOf(known, starts) };
}

/** One touch of a version by a run. */
interface Touching {
  readonly run: TurnRun;
  readonly index: number;
  readonly kind: Touch['kind'];
}

/** The indexes of runs and versions that a trace asks. */
interface Index {
  readonly touching: ReadonlyMap<VersionId, readonly Touching[]>;
  readonly byTurn: ReadonlyMap<string, readonly TurnRun[]>;
  readonly byId: ReadonlyMap<string, TurnRun>;
  readonly followers: ReadonlyMap<string | undefined, readonly TurnRun[]>;
  /**
   * Finds the versions of a turn that none of its runs names: the turn died, or lost an answer, before it saved the
   * touch.
   */
  unrecorded(turn: string): readonly PastVersion[];
  /**
   * Finds the later versions with the same text where a version lies or was saved. Each is answered once, to the
   * version that asks first.
   */
  takeLater(id: VersionId): readonly PastVersion[];
}

function* indexOf({ past, turns, writerOf }: KnownTurns): Generator<void, Index> {
  const touching = new Map<VersionId, Touching[]>();
  const byId = new Map<string, TurnRun>();
  const byTurn = new Map<string, TurnRun[]>();
  const followers = new Map<string | undefined, TurnRun[]>();
  for (const run of turns.runs) {
    yield;
    byId.set(run.id, run);
    push(byTurn, run.turn, run);
    push(followers, run.follows, run);
    for (const [index, touch] of run.list.entries())
      if ('version' in touch) push(touching, touch.version, { run, index, kind: touch.kind });
  }
  const byWriter = new Map<string, PastVersion[]>();
  const byTextAt = new Map<string, PastVersion[]>();
  const nameAt = (path: string, textHash: string): string => `${textHash} ${path}`;
  for (const version of past.versions.values()) {
    yield;
    const { id, writer, textHash } = version;
    if (writer !== undefined) push(byWriter, writer, version);
    if (textHash === undefined) continue;
    for (const path of placesOf(past, id)) push(byTextAt, nameAt(path, textHash), version);
  }
  for (const some of byTextAt.values()) {
    yield;
    some.sort((a, b) => a.mtime - b.mtime);
  }
  const unrecorded = new Map<string, readonly PastVersion[]>();
  return {
    touching,
    byTurn,
    byId,
    followers,
    unrecorded(turn) {
      const known = unrecorded.get(turn);
      if (known !== undefined) return known;
      const lists = (byTurn.get(turn) ?? []).flatMap(({ list }) => list);
      const named = new Set(lists.flatMap((touch) => (touch.kind === 'written' ? [touch.version] : [])));
      const own = byWriter.get(writerOf(turnActor(turn))) ?? [];
      const found = own.filter(({ id }) => !named.has(id));
      unrecorded.set(turn, found);
      return found;
    },
    takeLater(id) {
      const version = past.versions.get(id);
      if (version?.textHash === undefined) return [];
      const later: PastVersion[] = [];
      for (const path of placesOf(past, id)) {
        const alike = byTextAt.get(nameAt(path, version.textHash)) ?? [];
        for (let last = alike.at(-1); last !== undefined && last.mtime > version.mtime; last = alike.at(-1)) {
          later.push(last);
          alike.pop();
        }
      }
      return later;
    },
  };
}

function placesOf(past: Past, id: VersionId): ReadonlySet<MemoryPath> {
  const saved = past.bindings(id).filter((binding) => binding.isThere || binding.saved !== undefined);
  return new Set(saved.map(({ path }) => path));
}

interface Spread {
  readonly since: KnownSince;
  readonly traced: ReadonlySet<VersionId>;
  readonly again: readonly PastVersion[];
}

/**
 * Goes from each version to its readers and to later versions with its text, and from each reader to the versions that
 * it wrote then and to the turns that follow it.
 */
function* spread(
  { touching, followers, unrecorded, takeLater }: Index,
  starts: readonly VersionId[],
): Generator<void, Spread> {
  const again: PastVersion[] = [];
  const since: KnownSince = new Map();
  const traced = new Set<VersionId>(starts);
  const waiting: (() => void)[] = [];
  const reachReaders = (version: VersionId): void => {
    for (const { run, index, kind } of touching.get(version) ?? []) if (kind === 'read') reachRun(run, index);
  };
  const reachAgain = (version: VersionId): void => {
    for (const later of takeLater(version)) {
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
        // The edits of two turns may share one version: each turn has seen the other's.
        if (run !== writer) reachRun(run, index);
      }
    });
  };
  const reachRun = (run: TurnRun, index: number): void => {
    const before = since.get(run);
    if (before !== undefined && before <= index) return;
    since.set(run, index);
    waiting.push(() => {
      for (const touch of run.list.slice(index + 1, before === undefined ? undefined : before + 1))
        if (touch.kind === 'written') reachVersion(touch.version, run);
      if (before !== undefined) return;
      for (const { id } of unrecorded(run.turn)) reachVersion(id, run);
      for (const next of followers.get(run.id) ?? []) reachRun(next, -1);
    });
  };
  for (const version of starts) {
    yield;
    reachReaders(version);
    reachAgain(version);
  }
  // The list grows on the way.
  for (const reach of waiting) {
    reach();
    yield;
  }
  return { since, traced, again };
}

type Teller = (version: VersionId, touched?: string) => TracedVersion;

/** Makes the function that describes a version; one that is not kept gets the path where a turn touched it. */
function createTeller({ past, actors }: KnownTurns, at: string): Teller {
  return (id, touched = at) => {
    const version = past.versions.get(id);
    if (version === undefined) return { path: touched, version: id };
    const { path, mtime, writer } = version;
    return {
      path,
      version: id,
      time: dateOf(mtime),
      ...(writer !== undefined && { writer: actors.get(writer) ?? writer }),
      end: endOf(past, version),
    };
  };
}

function tracedTurn(
  turn: string,
  runs: readonly TurnRun[],
  {
    index,
    since,
    traced,
    told,
  }: {
    readonly index: Index;
    readonly since: KnownSince;
    readonly traced: ReadonlySet<VersionId>;
    readonly told: Teller;
  },
): TracedTurn {
  const read = new Map<VersionId, TracedVersion>();
  const written = new Map<VersionId, TracedWrite>();
  const later: Touch[] = [];
  for (const run of runs) {
    const from = since.get(run) ?? run.list.length;
    for (const [step, touch] of run.list.entries()) {
      if (touch.kind === 'read' && traced.has(touch.version) && !written.has(touch.version)) {
        read.set(touch.version, read.get(touch.version) ?? told(touch.version, touch.path));
      }
      if (step <= from) continue;
      later.push(touch);
      if (touch.kind === 'written') {
        written.set(touch.version, { ...told(touch.version, touch.path), order: 'after' });
      }
    }
  }
  for (const { id } of index.unrecorded(turn)) written.set(id, { ...told(id), order: 'unknown' });
  const before = runs.flatMap(({ follows = '' }) => {
    const run = index.byId.get(follows);
    return run !== undefined && since.has(run) ? [run] : [];
  });
  return {
    turn,
    time: dateOf(Math.max(...runs.map(({ time }) => time))),
    state: runs.some(({ isAnswered }) => isAnswered) ? 'answered' : 'unfinished',
    read: [...read.values()],
    ...(before[0] !== undefined && { follows: before[0].turn }),
    written: [...written.values()],
    renamed: later.flatMap((touch) => (touch.kind === 'renamed' ? { path: touch.path, to: touch.to } : [])),
    deleted: later.flatMap((touch) => (touch.kind === 'deleted' ? touch.path : [])),
  };
}
