/** What tells a version apart. */
interface Sealed {
  readonly path: string;
  readonly mtime: number;
  /** Undefined: the text was taken out. */
  readonly textHash: string | undefined;
  readonly previous: string | undefined;
  readonly writer: string | undefined;
  readonly text: string;
}

/**
 * Leaves away versions that are the same as another one: a migration of keys may seal a version again after it was saved,
 * and the earlier one is no other version. What has an end of its own stays.
 */
export function leaveSealedAgain(versions: Map<string, Sealed>, hasEnd: (id: string) => boolean): void {
  const alike = new Map<string, number>();
  for (const version of versions.values()) {
    const likeness = likenessOf(version);
    alike.set(likeness, (alike.get(likeness) ?? 0) + 1);
  }
  for (const [id, version] of versions) {
    if (version.text === 'current' || version.textHash === undefined || hasEnd(id)) continue;
    const likeness = likenessOf(version);
    const count = alike.get(likeness) ?? 0;
    if (count < 2) continue;
    versions.delete(id);
    alike.set(likeness, count - 1);
  }
}

function likenessOf({ path, mtime, textHash, previous, writer }: Sealed): string {
  return JSON.stringify([path, mtime, textHash, previous, writer]);
}
