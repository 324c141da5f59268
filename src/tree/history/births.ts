import type { Past, Version, VersionId } from './versions.ts';

/** When a version was written, by the clocks of writers: no version is older than the one that it replaced. */
export function createBirths({ versions }: Past): (version: Version) => number {
  const known = new Map<VersionId, number>();
  return (version) => {
    const chain = new Set<Version>();
    for (let at: Version | undefined = version; at !== undefined && !known.has(at.id) && !chain.has(at); ) {
      chain.add(at);
      at = at.previous === undefined ? undefined : versions.get(at.previous);
    }
    for (const { id, previous, mtime } of [...chain].reverse()) {
      const before = previous === undefined ? undefined : known.get(previous);
      known.set(id, Math.max(before ?? 0, mtime));
    }
    return known.get(version.id) ?? version.mtime;
  };
}
