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

/** All that is known of the versions of a tenant's files. */
export interface Known {
  readonly files: readonly VersionFacts[];
  /** Versions that the history saved. */
  readonly saved: readonly VersionFacts[];
  readonly leaves: readonly Leave[];
  /** Versions that the checkpoint names. */
  readonly entries: readonly VersionFacts[];
}

/** What became of versions, as far as sealed records tell it: no bucket writer can make one. */
export interface Evidence {
  /** One name for all that a migration of keys made of a version: it seals some again. */
  sameAs(id: string): string;
  /** Wherever it lay. */
  versionsOf(id: string): readonly VersionFacts[];
  isSaved(id: string): boolean;
  /** Versions that name it as the one that they replaced. */
  successors(id: string): readonly VersionFacts[];
  leaves(id: string): readonly Leave[];
  /** The version and all that came of it. */
  descendants(id: string): ReadonlySet<string>;
}

export function createEvidence({ files, saved, leaves, entries }: Known): Evidence {
  const versions = [...files, ...saved, ...entries];
  const sameAs = joinSealedAgain(versions, leaves);
  const byId = Map.groupBy(versions, ({ id }) => sameAs(id));
  const byPrevious = Map.groupBy(versions, ({ previous }) => sameAs(previous));
  const leavesById = Map.groupBy(leaves, ({ version }) => sameAs(version));
  const savedIds = new Set(saved.map(({ id }) => sameAs(id)));
  const successors = (id: string): readonly VersionFacts[] => byPrevious.get(sameAs(id)) ?? [];
  return {
    sameAs,
    versionsOf: (id) => byId.get(sameAs(id)) ?? [],
    isSaved: (id) => savedIds.has(sameAs(id)),
    successors,
    leaves: (id) => leavesById.get(sameAs(id)) ?? [],
    descendants(id) {
      const found = new Set([sameAs(id)]);
      for (const each of found) for (const next of successors(each)) found.add(sameAs(next.id));
      return found;
    },
  };
}

/**
 * A migration that seals again keeps time, size, predecessor and writer, and the place, which renames join to others: of a version
 * that was sealed again twice the one between may be known by its rename alone.
 */
function joinSealedAgain(
  versions: readonly VersionFacts[],
  leaves: readonly Leave[],
): (id: string) => string {
  const [places, ids] = [createJoined<MemoryPath>(), createJoined<string>()];
  for (const { from, to } of leaves) if (to !== undefined) places.join(from, to);
  const alike = Map.groupBy(versions, (version) => `${sealingOf(version)} ${places.nameOf(version.path)}`);
  for (const [first, ...others] of alike.values()) {
    for (const other of others) if (first !== undefined) ids.join(first.id, other.id);
  }
  return ids.nameOf;
}

/** What a migration keeps that seals a version again. */
export function sealingOf({ mtime, size, previous, writer }: VersionFacts): string {
  return `${mtime} ${size} ${previous} ${writer}`;
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
