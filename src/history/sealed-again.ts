/** What a migration of keys keeps, beside place and text, that seals a version again: it has a content id of its own then. */
interface Kept {
  readonly mtime: number;
  /** Bytes of content. */
  readonly size: number;
  readonly previous: string | undefined;
  readonly writer: string | undefined;
}

/** What tells a version apart, but for the places where it lies or was saved. */
interface Sealed extends Kept {
  /** Undefined: the text was taken out. */
  readonly textHash: string | undefined;
  readonly text: string;
}

interface Told {
  readonly places: ReadonlyMap<string, ReadonlySet<string>>;
  hasEnd(id: string): boolean;
}

/**
 * Leaves away versions that are the same as another one at the same place: a migration of keys may seal a version again after
 * it was saved, and the earlier one is no other version. What has an end of its own stays.
 */
export function leaveSealedAgain(versions: Map<string, Sealed>, { places, hasEnd }: Told): void {
  const alike = Map.groupBy(versions.keys(), (id) => likenessOf(versions.get(id)));
  for (const ids of alike.values()) {
    for (const id of ids) {
      const version = versions.get(id);
      if (version === undefined || version.text === 'current') continue;
      if (version.textHash === undefined || hasEnd(id)) continue;
      const own = [...(places.get(id) ?? [])];
      const isAgain = (other: string): boolean =>
        other !== id && versions.has(other) && own.some((place) => places.get(other)?.has(place));
      if (ids.some(isAgain)) versions.delete(id);
    }
  }
}

function likenessOf(version: Sealed | undefined): string {
  return version === undefined ? '' : `${sealingOf(version)} ${version.textHash}`;
}

/** The same for a version and what migrations made of it; for few other versions, which place and text tell apart. */
export function sealingOf({ mtime, size, previous, writer }: Kept): string {
  return `${mtime} ${size} ${previous} ${writer}`;
}
