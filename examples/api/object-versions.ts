import type { KeptVersion, ObjectKey, ObjectVersions } from 'sealed-memory';

/** Counts the bytes of the versions that a bucket keeps of an object beside the current one. */
export async function bytesBehind(versions: ObjectVersions, key: ObjectKey): Promise<number> {
  let bytes = 0;
  for await (const page of versions.list(key)) {
    const older: readonly KeptVersion[] = page.filter(({ isCurrent }) => !isCurrent);
    bytes += older.reduce((sum, { size = 0 }) => sum + size, 0);
  }
  return bytes;
}
