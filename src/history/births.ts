import { chainOf } from './chain.ts';
import type { Past, Version, VersionId } from './versions.ts';

/** When a version was written, by the clocks of writers: no version is older than the one that it replaced. */
export function createBirths(past: Past): (version: Version) => number {
  const known = new Map<VersionId, number>();
  return (version) => {
    const chain = chainOf(past, version, (id) => known.has(id));
    for (const { id, previous, mtime } of chain.toReversed()) {
      const before = previous === undefined ? undefined : known.get(previous);
      known.set(id, Math.max(before ?? 0, mtime));
    }
    return known.get(version.id) ?? version.mtime;
  };
}
