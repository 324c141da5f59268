import { sealingOf } from '../history/sealed-again.ts';
import type { MemoryPath } from '../language/path.ts';
import type { VersionFacts } from './checkpoint-record.ts';

/** That a version went away from a place, by a record of the history. */
export interface Leave {
  readonly version: string;
  readonly from: MemoryPath;
  /** Undefined: it was deleted. */
  readonly to: MemoryPath | undefined;
  /** By the clock of the process that did it; milliseconds since the epoch. */
  readonly at: number;
  /** With a directory: written down before it was done. */
  readonly isOfDirectory: boolean;
}

/** A version whose text may be at hand. */
export interface ReadVersion extends VersionFacts {
  /** Undefined: the text was taken out. */
  readonly textHash: string | undefined;
}

/** A version as the history saved it: where it lay then, and as it was bound there. */
export interface SavedVersion extends ReadVersion {
  /** By the clock of the process that did; milliseconds since the epoch. Undefined: the text was taken out. */
  readonly savedAt: number | undefined;
}

/** All that is known of the versions of a tenant's files. */
export interface Known {
  readonly files: readonly ReadVersion[];
  readonly saved: readonly SavedVersion[];
  readonly leaves: readonly Leave[];
  /** Versions that the checkpoint names. */
  readonly entries: readonly VersionFacts[];
  /** Ids of those of them that all were current at one moment. */
  readonly atOnce: ReadonlySet<string>;
  /** Ids of versions that had been replaced or deleted by then. */
  readonly ended: ReadonlySet<string>;
}

/** What became of versions, as far as sealed records tell it: no bucket writer can make one. */
export interface Evidence {
  /** One name for all that a migration of keys made of a version: it seals some again. */
  sameAs(id: string): string;
  /** Wherever it lay. */
  versionsOf(id: string): readonly VersionFacts[];
  /** Those, and what a migration may have sealed again elsewhere: nothing tells of a rename that was cut off. */
  alike(version: VersionFacts): readonly VersionFacts[];
  /** By processes that were about to replace or delete it. */
  saved(id: string): readonly SavedVersion[];
  /** Whether one of these was about to replace or delete it where it is, and as it is bound there. */
  isAsSaved(version: Pick<VersionFacts, 'id' | 'path' | 'bound'>): boolean;
  /** Versions that name it as the one that they replaced. */
  successors(id: string): readonly VersionFacts[];
  leaves(id: string): readonly Leave[];
  /** Of versions known by these alone, in places that renames join to this one: they may be what was sealed again there. */
  unknownLeaves(path: MemoryPath): readonly Leave[];
  /** The version and all that came of it. */
  descendants(id: string): ReadonlySet<string>;
}

export function createEvidence(known: Known): Evidence {
  const { files, saved, leaves, entries } = known;
  const versions = [...files, ...saved, ...entries];
  const places = createJoined<MemoryPath>();
  for (const { from, to } of leaves) if (to !== undefined) places.join(from, to);
  const sameAs = joinSealedAgain(versions, known, places.nameOf);
  const byId = Map.groupBy(versions, ({ id }) => sameAs(id));
  const bySealing = Map.groupBy(versions, sealingOf);
  const byPrevious = Map.groupBy(versions, ({ previous }) => sameAs(previous));
  const leavesById = Map.groupBy(leaves, ({ version }) => sameAs(version));
  const unknown = leaves.filter(({ version }) => !byId.has(sameAs(version)));
  const unknownByPlace = Map.groupBy(unknown, ({ from }) => places.nameOf(from));
  const savedById = Map.groupBy(saved, ({ id }) => sameAs(id));
  const savedOf = (id: string): readonly SavedVersion[] => savedById.get(sameAs(id)) ?? [];
  const successors = (id: string): readonly VersionFacts[] => byPrevious.get(sameAs(id)) ?? [];
  return {
    sameAs,
    versionsOf: (id) => byId.get(sameAs(id)) ?? [],
    alike: (version) => bySealing.get(sealingOf(version)) ?? [],
    saved: savedOf,
    isAsSaved: ({ id, path, bound }) =>
      savedOf(id).some((each) => each.path === path && each.bound === bound),
    successors,
    leaves: (id) => leavesById.get(sameAs(id)) ?? [],
    unknownLeaves: (path) => unknownByPlace.get(places.nameOf(path)) ?? [],
    descendants(id) {
      const found = new Set([sameAs(id)]);
      for (const each of found) for (const next of successors(each)) found.add(sameAs(next.id));
      return found;
    },
  };
}

/**
 * A migration that seals again keeps time, size, text, predecessor and writer, and the place, which renames join to others: of a
 * version that was sealed again twice the one between may be known by its rename alone. Two new files may have all of these in
 * common but the text; where one of the texts is gone, they are two if the checkpoint tells them apart.
 */
function joinSealedAgain(
  versions: readonly VersionFacts[],
  known: Known,
  placeOf: (path: MemoryPath) => MemoryPath,
): (id: string) => string {
  const { files, saved } = known;
  const ids = createJoined<string>();
  const textOf = new Map<string, string>();
  for (const { id, textHash } of [...files, ...saved]) if (textHash !== undefined) textOf.set(id, textHash);
  const alike = Map.groupBy(versions, (version) => `${sealingOf(version)} ${placeOf(version.path)}`);
  for (const group of alike.values()) {
    const byText = Map.groupBy(group, ({ id }) => textOf.get(id));
    const sameVersions = [...byText].flatMap(([text, same]) => (text === undefined ? [] : [[...same]]));
    for (const version of byText.get(undefined) ?? []) {
      const fit = sameVersions.filter((same) => mayBeOf(same, version, known));
      const own = fit.find((same) => same.some(({ path }) => path === version.path)) ?? fit[0];
      if (own === undefined) sameVersions.push([version]);
      else own.push(version);
    }
    for (const [first, ...others] of sameVersions) {
      for (const other of others) if (first !== undefined) ids.join(first.id, other.id);
    }
  }
  return ids.nameOf;
}

/** Whether a version whose text is gone may be the one that `sort` has: unless one of both had ended, or both were current. */
function mayBeOf(
  sort: readonly VersionFacts[],
  { id, path }: VersionFacts,
  { atOnce, ended }: Known,
): boolean {
  const isApart = (other: VersionFacts): boolean =>
    other.id !== id && (atOnce.has(other.id) || ended.has(other.id));
  if (!atOnce.has(id) || !sort.some(isApart)) return true;
  // A rename that was cut off leaves two of one version, and each is sealed again where it lies.
  return sort.some((other) => !isApart(other) && other.path === path);
}

/** Names that stand for one another. */
function createJoined<T>(): { join(left: T, right: T): void; readonly nameOf: (name: T) => T } {
  const next = new Map<T, T>();
  const nameOf = (name: T): T => {
    let found = name;
    for (let at = next.get(found); at !== undefined; at = next.get(found)) found = at;
    if (found !== name) next.set(name, found);
    return found;
  };
  return {
    join(left, right) {
      const [from, to] = [nameOf(right), nameOf(left)];
      if (from !== to) next.set(from, to);
    },
    nameOf,
  };
}
