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
  const byId = groupBy(versions, ({ id }) => sameAs(id));
  const byPrevious = groupBy(versions, ({ previous }) => sameAs(previous));
  const leavesById = groupBy(leaves, ({ version }) => sameAs(version));
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

/** A migration that seals again keeps time, size, predecessor and writer, and the place. */
function joinSealedAgain(
  versions: readonly VersionFacts[],
  leaves: readonly Leave[],
): (id: string) => string {
  const places = new Map<string, Set<MemoryPath>>();
  const addPlace = (id: string, path: MemoryPath | undefined): void => {
    const known = places.get(id) ?? new Set();
    if (path !== undefined) places.set(id, known.add(path));
  };
  for (const { id, path } of versions) addPlace(id, path);
  for (const { version, from, to } of leaves) for (const path of [from, to]) addPlace(version, path);
  const first = new Map<string, string>();
  const nameOf = (id: string): string => {
    let name = id;
    for (let next = first.get(name); next !== undefined; next = first.get(name)) name = next;
    return name;
  };
  const alike = groupBy(
    versions,
    ({ mtime, size, previous, writer }) => `${mtime} ${size} ${previous} ${writer}`,
  );
  for (const group of alike.values()) {
    const ids = [...new Set(group.map(({ id }) => id))];
    const byPlace = new Map<MemoryPath, string>();
    for (const id of ids) {
      for (const path of places.get(id) ?? []) {
        const other = nameOf(byPlace.get(path) ?? id);
        byPlace.set(path, id);
        if (other !== nameOf(id)) first.set(nameOf(id), other);
      }
    }
  }
  return nameOf;
}

function groupBy<T, K>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
