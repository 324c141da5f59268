import type { Past, VersionId } from './versions.ts';

/** For each version whose text an earlier one of its file had: the newest of those. */
export function earlierWithSameText({ versions, successors }: Past): ReadonlyMap<VersionId, VersionId> {
  const earlier = new Map<VersionId, VersionId>();
  for (const first of versions.values()) {
    if (first.previous !== undefined && versions.has(first.previous)) continue;
    const byText = new Map<string, VersionId>();
    for (let at: typeof first | undefined = first; at !== undefined; at = successors.get(at.id)) {
      if (at.textHash === undefined) continue;
      const before = byText.get(at.textHash);
      if (before !== undefined) earlier.set(at.id, before);
      byText.set(at.textHash, at.id);
    }
  }
  return earlier;
}
