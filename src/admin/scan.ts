import { MemoryError } from '../errors.ts';
import { readHeader } from '../format/header.ts';
import {
  classLogicalName,
  isScratchKey,
  type LogicalName,
  logicalName,
  type ObjectClass,
  type ObjectKey,
  parseClassKey,
  parseFileKey,
} from '../format/object-keys.ts';
import { FACTS_BYTES, sealedSize, TOMBSTONE_BYTES } from '../format/sizes.ts';
import type { SealingKeys } from '../format/wrap.ts';
import type { LoadedKeyring } from '../keys/keyring-cache.ts';
import type { MemoryPath } from '../language/path.ts';
import type { ListedObject } from '../store/port.ts';
import { throwIfAborted } from '../time.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { pagesBelow } from '../tree/list-objects.ts';
import { readSealed, type SealedVersion } from '../tree/read-file.ts';
import type { Work } from '../tree/tenant.ts';

interface NamedObject {
  readonly name: LogicalName;
  readonly object: ListedObject;
}

/** An object that a writer of this tenant may have sealed as a file, by the look of its name. */
export interface FileRecord extends NamedObject {
  readonly cls: 'data';
  readonly path: MemoryPath;
}

/** Any object of the tenant, by the look of its name; its content is not authenticated. */
export type ListedRecord = FileRecord | (NamedObject & { readonly cls: ObjectClass });

interface RecordListing<R extends ListedRecord = ListedRecord> {
  /** The records in the store's order. */
  readonly records: readonly R[];
  /** Objects among the files whose names no writer of this tenant made. */
  readonly foreign: number;
  /** Objects beside the files that belong to no class, and tombstones whose process is gone. */
  readonly orphan: number;
}

/** The age from which the process that placed a tombstone is gone, in milliseconds by the server's clock. */
const STALE_TOMBSTONE_MS = 3_600_000;

/**
 * Lists every object below the tenant's prefix, of whatever size: a file that was cut short is still a file. Scratch
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

/** Tells the kind of a listed object; undefined for one that is not meant to last. */
function classify(
  work: Work,
  object: ListedObject,
  servedAt: number,
): ListedRecord | 'foreign' | 'orphan' | undefined {
  const { layout } = work.tenant;
  const { key, size, lastModified } = object;
  if (isScratchKey(layout, key)) return undefined;
  // A tombstone shows only where deletes have been declared atomic since: elsewhere the store hides it.
  if (size === TOMBSTONE_BYTES) return servedAt - lastModified > STALE_TOMBSTONE_MS ? 'orphan' : undefined;
  if (key.startsWith(layout.data)) return fileRecord(work, object) ?? 'foreign';
  const parsed = parseClassKey(layout, key);
  if (parsed === undefined) return 'orphan';
  return { cls: parsed.cls, name: classLogicalName(parsed.cls, parsed.id), object };
}

/**
 * Lists every object among the files, tombstones too, in the form of `listRecords`. One LIST for each 1,000 objects.
 */
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
 * Calls `visit` for each record, within the tenant's bounds on how many at once, and reports progress. After a failure
 * or an abort it begins no further record.
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

/** The result of reading a record. A key version is that of the tenant key which the object names. */
export type Inspection =
  | { readonly state: 'whole'; readonly version: SealedVersion; readonly keyVersion: number }
  /** The object's bytes are not those that a writer sealed under its name. */
  | { readonly state: 'damaged'; readonly keyVersion: number | undefined }
  /** The object names a tenant key that the keyring does not hold. */
  | { readonly state: 'unknown_key' }
  /** The object is larger than the limit, and so was not read. */
  | { readonly state: 'too_large' };

/** The most content of objects beside the tree that is read whatever the file limit is, in bytes. */
const BESIDE_THE_TREE_BYTES = 16_777_216;

/**
 * Reads and opens a record: one GET, one more when it is refused. Undefined: the object is gone.
 *
 * @throws MemoryError the errors of the store and the keyring.
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
    // The version is unknown when its key was retired between the two lines above.
    return keyVersion === undefined ? { state: 'unknown_key' } : { state: 'whole', version, keyVersion };
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    if (error.code === 'limit_exceeded') return { state: 'too_large' };
    if (error.details['reason'] === 'unknown_key') {
      // A search was withheld, which only a flood of made-up keys causes: a whole object must not be reported for that.
      const keyring = error.code === 'unavailable' ? await newerKeyring(work) : undefined;
      return keyring === undefined ? { state: 'unknown_key' } : inspectRecord({ ...work, keyring }, record);
    }
    if (error.code !== 'integrity') throw error;
    return { state: 'damaged', keyVersion: await namedVersion(work, key, maxBytes) };
  }
}

/** Loads the newest keyring; undefined: it is the one with which this work began. */
async function newerKeyring({
  tenant: { keyrings },
  keyring,
  call: { signal },
}: Work): Promise<LoadedKeyring | undefined> {
  const newest = await keyrings.look({ signal });
  return newest === undefined || newest.epoch === keyring.epoch ? undefined : newest;
}

/** Tells the version of the key that a refused object names, as far as it can be told. */
async function namedVersion(work: Work, key: ObjectKey, maxBytes: number): Promise<number | undefined> {
  const stored = await work.tenant.store.get(key, { maxBytes, signal: work.call.signal });
  return typeof stored === 'object' ? versionOf(work.keyring.keys, stored.body) : undefined;
}

function versionOf(keys: SealingKeys, object: Uint8Array): number | undefined {
  const header = readHeader(object);
  return header && keys.find(header.keyId)?.version;
}
