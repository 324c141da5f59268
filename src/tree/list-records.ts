import {
  classLogicalName,
  isScratchKey,
  type LogicalName,
  logicalName,
  type ObjectClass,
  parseClassKey,
  parseFileKey,
} from '../format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../format/sizes.ts';
import type { MemoryPath } from '../language/path.ts';
import type { ListedObject } from '../store/port.ts';
import { pagesBelow } from './list-objects.ts';
import type { Work } from './session.ts';

/** An object that a writer of this tenant may have sealed, by the look of its name; nothing is authenticated. */
export type ListedRecord = { readonly name: LogicalName; readonly object: ListedObject } & (
  | { readonly cls: 'data'; readonly path: MemoryPath }
  | { readonly cls: ObjectClass }
);

export interface RecordListing {
  /** In the store's order. */
  readonly records: readonly ListedRecord[];
  /** Objects among the files whose names no writer of this tenant made. */
  readonly foreign: number;
  /** Objects beside the files that belong to no class, and tombstones that nobody will remove any more. */
  readonly orphans: number;
}

/** The process that placed a tombstone is gone when it is older, in milliseconds by the server's clock. */
const STALE_TOMBSTONE_MS = 3_600_000;

/**
 * Every object below the tenant's prefix, of whatever size: what was cut short is still somebody's file. Scratch
 * objects and tombstones of deletes that may be under way are passed over. One LIST for each 1,000 objects.
 */
export async function listRecords(work: Work): Promise<RecordListing> {
  const records: ListedRecord[] = [];
  let [foreign, orphans] = [0, 0];
  for await (const { objects, servedAt } of pagesBelow(work, { prefix: work.session.layout.tenantPrefix })) {
    for (const object of objects) {
      const kind = classify(work, object, servedAt);
      if (kind === 'foreign') foreign++;
      else if (kind === 'orphan') orphans++;
      else if (kind !== undefined) records.push(kind);
    }
  }
  return { records, foreign, orphans };
}

/** Undefined: nothing that is meant to last. */
function classify(
  { session: { layout }, keyring }: Work,
  object: ListedObject,
  servedAt: number,
): ListedRecord | 'foreign' | 'orphan' | undefined {
  const { key, size, lastModified } = object;
  if (isScratchKey(layout, key)) return undefined;
  // Seen only where deletes have been declared atomic since: elsewhere the store hides them.
  if (size === TOMBSTONE_BYTES) return servedAt - lastModified > STALE_TOMBSTONE_MS ? 'orphan' : undefined;
  if (key.startsWith(layout.data)) {
    const path = parseFileKey(layout, keyring.names, key);
    if (path === undefined) return 'foreign';
    return { cls: 'data', path, name: logicalName(path), object };
  }
  const parsed = parseClassKey(layout, key);
  if (parsed === undefined) return 'orphan';
  return { cls: parsed.cls, name: classLogicalName(parsed.cls, parsed.id), object };
}
