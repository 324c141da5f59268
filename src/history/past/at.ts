import { millisecondsOf } from '../../format/wrap.ts';
import { FOLLOWED_MS } from '../../keys/keyring.ts';
import type { MemoryPath } from '../../language/path.ts';
import type { Past, PastVersion, VersionId } from './past.ts';

/**
 * The reason why the history does not tell what a path held at a moment. `expired`: a version lay there that is not
 * kept. `unrecorded`: a version lay there once, but no record tells when it left or came. `too_early`: a version that
 * came there later may have been written over one that the history has not seen.
 */
interface Doubt {
  readonly reason: 'expired' | 'unrecorded' | 'too_early';
  readonly version: VersionId;
}

interface TreeAt {
  /** The version that lay at each path. */
  readonly files: ReadonlyMap<MemoryPath, PastVersion>;
  readonly doubts: ReadonlyMap<MemoryPath, Doubt>;
}

/** Milliseconds since the epoch. */
interface KeptMoment {
  readonly time: number;
  /** The time from which on every writer keeps the history; undefined where history is off, or the time is unknown. */
  readonly keptSince: number | undefined;
}

/** The time that a version lay at a path, by the clocks of writers. */
interface Stay {
  readonly version: PastVersion;
  readonly path: MemoryPath;
  readonly from: number;
  /** Infinity where the version lies there still. */
  readonly to: number;
  /** The version lay there at least until then; `to` where its end is known. */
  readonly certainTo: number;
}

/**
 * Finds the files of a moment. Only writes, renames and deletes before the moment count: the tree at 12:00:00.000 lacks
 * a write of 12:00:00.000. It goes version by version.
 */
export function* treeAt(past: Past, moment: KeptMoment): Generator<void, TreeAt> {
  const { time } = moment;
  const bornAt = createBirths(past);
  const stays = new Map<MemoryPath, Stay>();
  const doubts = new Map<MemoryPath, Doubt>();
  /** The versions that unrecorded renames brought to these paths, perhaps after the moment. */
  const unplaced = new Map<MemoryPath, Doubt>();
  /** The last time before the moment at which a version came to a path. */
  const arrivals = new Map<MemoryPath, number>();
  const unsure: Stay[] = [];
  for (const version of past.versions.values()) {
    yield;
    const lain = whereabouts(past, version, bornAt);
    for (const stay of lain.stays) {
      const { path, from, to, certainTo } = stay;
      if (from >= time) continue;
      arrivals.set(path, Math.max(from, arrivals.get(path) ?? 0));
      if (to < time) continue;
      if (certainTo < time) unsure.push(stay);
      else if ((stays.get(path)?.from ?? -1) <= from) stays.set(path, stay);
    }
    if (bornAt(version) < time) {
      for (const { path, before } of lain.unknown)
        if (time <= before) unplaced.set(path, { reason: 'unrecorded', version: version.id });
    } else {
      const unknown = unknownBefore(past, version, moment);
      if (unknown !== undefined) doubts.set(past.birthplace(version.id) ?? version.path, unknown);
    }
  }
  for (const { version, path, certainTo } of unsure) {
    yield;
    // A version came to the path later, so this one was gone.
    if ((arrivals.get(path) ?? 0) > certainTo) continue;
    doubts.set(path, { reason: 'unrecorded', version: version.id });
  }
  const files = new Map<MemoryPath, PastVersion>();
  for (const [path, { version }] of stays) {
    yield;
    doubts.delete(path);
    files.set(path, version);
  }
  // Another version may have lain at that path then. This one lay somewhere else, and it is unknown where unless it has
  // a stay.
  const placed = new Set([...stays.values()].map(({ version }) => version.id));
  for (const [path, doubt] of unplaced) {
    yield;
    if (!stays.has(path) || !placed.has(doubt.version)) doubts.set(path, doubt);
  }
  return { files, doubts };
}

/**
 * Tells why the version is unknown that another one, written after the moment, replaced; undefined where it is known.
 */
export function unknownBefore(past: Past, version: PastVersion, moment: KeptMoment): Doubt | undefined {
  const { id, previous } = version;
  if (previous !== undefined)
    return past.versions.has(previous) ? undefined : { reason: 'expired', version: previous };
  return isCreation(version, moment) ? undefined : { reason: 'too_early', version: id };
}

/**
 * Tells whether a version without a predecessor was the first of its file. A process without history leaves out both
 * predecessor and writer, also where it replaces a file. After an operator has turned the history on, all processes
 * follow within an hour; for a moment before that, a version is sure to be new only from then on.
 */
function isCreation(
  { writer, mtime }: PastVersion,
  { time, keptSince = Number.POSITIVE_INFINITY }: KeptMoment,
): boolean {
  if (writer !== undefined) return true;
  const turnedOn = keptSince - FOLLOWED_MS;
  return mtime >= (time < turnedOn ? keptSince : turnedOn);
}

/** The known places of one version, each for itself. */
interface Whereabouts {
  readonly stays: readonly Stay[];
  /** Paths to which renames without a record brought the version: at some time before `before`. */
  readonly unknown: readonly { readonly path: MemoryPath; readonly before: number }[];
}

/** Finds the places of a version: goes from binding to binding, by their bounds. */
function whereabouts(
  past: Past,
  version: PastVersion,
  bornAt: (version: PastVersion) => number,
): Whereabouts {
  const { id } = version;
  const born = bornAt(version);
  const stays: Stay[] = [];
  const unknown: { readonly path: MemoryPath; readonly before: number }[] = [];
  /** The paths at which the version has not ended yet, each with the time when it came. */
  const present = new Map<MemoryPath, number>();
  const end = (path: MemoryPath, from: number, at: number): void => {
    const to = Math.max(from, at);
    stays.push({ version, path, from, to, certainTo: to });
    present.delete(path);
  };
  const leaves = past.leavesOf(id);
  for (const binding of past.bindings(id)) {
    const { path, bound, isRenamed } = binding;
    const isFirst = present.size === 0 && stays.length === 0;
    if (isFirst && !isRenamed) present.set(path, born);
    else if (!present.has(path)) {
      // A rename without a record has brought it, from the paths where it is gone and was not replaced.
      const at = Math.max(born, millisecondsOf(bound));
      for (const [other, since] of present) if (!endsThere(past, id, other)) end(other, since, at);
      present.set(path, at);
      unknown.push({ path, before: at });
    }
    for (const leave of leaves) {
      if (leave.from !== path || leave.bound !== bound) continue;
      const since = present.get(path) ?? born;
      // One that came back later had left, though it was read as a file before.
      const isBack = leaves.some(({ to, bound: later }) => to === path && later > bound);
      if (!binding.isThere || isBack) end(path, since, leave.at);
      if (leave.to !== undefined) present.set(leave.to, Math.max(since, leave.at));
    }
  }
  for (const [path, from] of present)
    stays.push({ version, path, from, ...lastOf(past, version, { path, from, bornAt }) });
  return { stays, unknown };
}

/** Tells whether the version lies at that path still, or was replaced there. */
function endsThere({ files, successors, birthplace }: Past, id: VersionId, path: MemoryPath): boolean {
  return files.get(path)?.id === id || successors(id).some((next) => birthplace(next.id) === path);
}

/** Finds the end of a stay that no leave ends. */
function lastOf(
  past: Past,
  { id }: PastVersion,
  stay: {
    readonly path: MemoryPath;
    readonly from: number;
    readonly bornAt: (version: PastVersion) => number;
  },
): Pick<Stay, 'to' | 'certainTo'> {
  const { path, from, bornAt } = stay;
  const forever = { to: Number.POSITIVE_INFINITY, certainTo: Number.POSITIVE_INFINITY };
  if (past.files.get(path)?.id === id) return forever;
  const successors = past.successors(id);
  const successor = successors.find((next) => past.birthplace(next.id) === path) ?? successors[0];
  if (successor !== undefined) {
    const to = Math.max(from, bornAt(successor));
    return { to, certainTo: to };
  }
  const own = past.bindings(id).filter((binding) => binding.path === path);
  return { ...forever, certainTo: Math.max(from, ...own.map(({ saved }) => saved?.at ?? 0)) };
}

/**
 * Finds when versions were written, by the clocks of writers: each is at least as young as the one that it replaced.
 */
function createBirths(past: Past): (version: PastVersion) => number {
  const known = new Map<VersionId | undefined, number>();
  return (version) => {
    let born = 0;
    const chain = [version, ...past.ancestors(version.id, (id) => known.has(id))];
    for (const { id, previous, mtime } of chain.reverse()) {
      born = Math.max(known.get(previous) ?? 0, mtime);
      known.set(id, born);
    }
    return born;
  };
}
