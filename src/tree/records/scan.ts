import { MemoryError } from '../../errors.ts';
import { readHeader } from '../../format/header.ts';
import {
  classLogicalName,
  isScratchKey,
  type LogicalName,
  logicalName,
  type ObjectClass,
  type ObjectKey,
  parseClassKey,
  parseFileKey,
} from '../../format/object-keys.ts';
import { FACTS_BYTES, sealedSize, TOMBSTONE_BYTES } from '../../format/sizes.ts';
import type { SealingKeys } from '../../format/wrap.ts';
import type { LoadedKeyring } from '../../keys/keyring-cache.ts';
import type { MemoryPath } from '../../language/path.ts';
import type { ListedObject } from '../../store/port.ts';
import { throwIfAborted } from '../../time.ts';
import { eachConcurrently } from '../concurrency.ts';
import { pagesBelow } from '../list-objects.ts';
import { readSealed, type SealedVersion } from '../read-file.ts';
import type { Work } from '../tenant.ts';

interface NamedObject {
  readonly name: LogicalName;
  readonly object: ListedObject;
}

/** An object that a writer of this tenant may have sealed as a file, by the look of its name. */
export interface FileRecord extends NamedObject {
  readonly cls: 'data';
  readonly path: MemoryPath;
}

/** The same for any object of the tenant; nothing is authenticated. */
export type ListedRecord = FileRecord | (NamedObject & { readonly cls: ObjectClass });

interface RecordListing<R extends ListedRecord = ListedRecord> {
  /** In the store's order. */
  readonly records: readonly R[];
  /** Objects among the files whose names no writer of this tenant made. */
  readonly foreign: number;
  /** Objects beside the files that belong to no class, and tombstones whose process is gone. */
  readonly orphan: number;
}

/** The process that placed a tombstone is gone when it is older, in milliseconds by the server's clock. */
const STALE_TOMBSTONE_MS = 3_600_000;

/**
 * Every object below the tenant's prefix, of whatever size: what was cut short is still a file. Scratch
 * objects and tombstones of deletes that may be under way are passed over. One LIST for each 1,000 objects.
 */
export async function listRecords(work: Work): Promise<RecordListing> {
  const records: ListedRecord[] = [];
  let [foreign, orphan] = [0, 0];
  for await (const { objects, servedAt } of pagesBelow(work, { prefix: work.tenant.layout.tenantPrefix })) {
    for (const object of objects) {
      const kind = classify(work, object, servedAt);
      if (kind === 'foreign') foreign++;
      else if (kind === 'orphan') orphan++;
      else if (kind !== undefined) records.push(kind);
    }
  }
  return { records, foreign, orphan };
}

/** Undefined: nothing that is meant to last. */
function classify(
  work: Work,
  object: ListedObject,
  servedAt: number,
): ListedRecord | 'foreign' | 'orphan' | undefined {
  const { layout } = work.tenant;
  const { key, size, lastModified } = object;
  if (isScratchKey(layout, key)) return undefined;
  // Seen only where deletes have been declared atomic since: elsewhere the store hides them.
  if (size === TOMBSTONE_BYTES) return servedAt - lastModified > STALE_TOMBSTONE_MS ? 'orphan' : undefined;
  if (key.startsWith(layout.data)) return fileRecord(work, object) ?? 'foreign';
  const parsed = parseClassKey(layout, key);
  if (parsed === undefined) return 'orphan';
  return { cls: parsed.cls, name: classLogicalName(parsed.cls, parsed.id), object };
}

/** Every object among the files, tombstones too, as `listRecords` tells them. */
export async function listFileRecords(work: Work): Promise<RecordListing<FileRecord>> {
  const { layout } = work.tenant;
  const records: FileRecord[] = [];
  let foreign = 0;
  for await (const { objects } of pagesBelow(work, { prefix: layout.data })) {
    for (const object of objects) {
      const record = fileRecord(work, object);
      if (record === undefined) foreign++;
      else records.push(record);
    }
  }
  return { records, foreign, orphan: 0 };
}

function fileRecord({ tenant: { layout }, keyring }: Work, object: ListedObject): FileRecord | undefined {
  const path = parseFileKey(layout, keyring.names, object.key);
  return path && { cls: 'data', path, name: logicalName(path), object };
}

/**
 * Calls `visit` for each record, as many at once as the tenant's bounds allow, and reports progress. After a failure
 * or an abort no record is begun.
 */
export async function eachRecord<R extends ListedRecord>(
  work: Work,
  records: readonly R[],
  visit: (record: R) => Promise<void>,
): Promise<void> {
  const { signal, onProgress } = work.call;
  let done = 0;
  const visitOne = async (record: R): Promise<void> => {
    throwIfAborted(signal);
    await visit(record);
    onProgress?.({ done: ++done, total: records.length });
  };
  await eachConcurrently(work.tenant, records, visitOne, ({ object }) => object.size);
}

/** What a record turned out to be. A key version is that of the tenant key which the object names. */
export type Inspection =
  | { readonly state: 'whole'; readonly version: SealedVersion; readonly keyVersion: number }
  /** Not what was sealed under its name. */
  | { readonly state: 'damaged'; readonly keyVersion: number | undefined }
  /** It names a tenant key that the keyring does not hold. */
  | { readonly state: 'unknown_key' }
  /** Larger than the limit, and so not read. */
  | { readonly state: 'too_large' };

/** Content of objects beside the tree that is read in any case, in bytes. */
const BESIDE_THE_TREE_BYTES = 16_777_216;

/**
 * Reads and opens a record: one GET, one more when it is refused. Undefined: nothing is there any more.
 *
 * @throws MemoryError what the store and the keyring throw.
 */
export async function inspectRecord(work: Work, record: ListedRecord): Promise<Inspection | undefined> {
  const { cls, name, object } = record;
  const { key } = object;
  const limit =
    cls === 'data'
      ? work.tenant.maxFileBytes
      : Math.max(work.tenant.maxFileBytes + FACTS_BYTES, BESIDE_THE_TREE_BYTES);
  const maxBytes = sealedSize(limit);
  try {
    const version = await readSealed(work, { key, name, maxBytes });
    if (version === undefined) return undefined;
    const keyVersion = versionOf(version.keys, version.stored.body);
    // Undefined: its key was retired between the two lines above.
    return keyVersion === undefined ? { state: 'unknown_key' } : { state: 'whole', version, keyVersion };
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    if (error.code === 'limit_exceeded') return { state: 'too_large' };
    if (error.details['reason'] === 'unknown_key') {
      // Withheld, which only a flood of made-up keys brings about: nothing whole is to be named for that.
      const keyring = error.code === 'unavailable' ? await newerKeyring(work) : undefined;
      return keyring === undefined ? { state: 'unknown_key' } : inspectRecord({ ...work, keyring }, record);
    }
    if (error.code !== 'integrity') throw error;
    return { state: 'damaged', keyVersion: await namedVersion(work, key, maxBytes) };
  }
}

/** Undefined: it is the one that this work began with. */
async function newerKeyring({
  tenant: { keyrings },
  keyring,
  call: { signal },
}: Work): Promise<LoadedKeyring | undefined> {
  const newest = await keyrings.look({ signal });
  return newest === undefined || newest.epoch === keyring.epoch ? undefined : newest;
}

/** The version of the key that a refused object names, as far as it can be told. */
async function namedVersion(work: Work, key: ObjectKey, maxBytes: number): Promise<number | undefined> {
  const stored = await work.tenant.store.get(key, { maxBytes, signal: work.call.signal });
  return typeof stored === 'object' ? versionOf(work.keyring.keys, stored.body) : undefined;
}

function versionOf(keys: SealingKeys, object: Uint8Array): number | undefined {
  const header = readHeader(object);
  return header && keys.find(header.keyId)?.version;
}
