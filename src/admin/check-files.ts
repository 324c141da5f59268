import { toBase64url } from '../format/encoding.ts';
import type { LogicalName, ObjectKey } from '../format/object-keys.ts';
import { ancestorsOf, type MemoryPath } from '../language/path.ts';
import type { ETag, ListedObject } from '../store/port.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { type ListedRecord, listRecords } from '../tree/list-directory.ts';
import type { SealedVersion } from '../tree/read-file.ts';
import { isRegister } from '../tree/rename/register.ts';
import type { Work } from '../tree/session.ts';
import { type Inspection, inspectRecord } from './inspect-record.ts';

/** What one look at everything that is stored finds without knowing of renames. */
export type FileFinding =
  /** The object at the path is not what was sealed for it. */
  | { readonly kind: 'damaged'; readonly path: MemoryPath }
  /** The same beside the tree, or larger than any record there. */
  | { readonly kind: 'damaged_record'; readonly name: LogicalName }
  /** An object, a file or not, names a tenant key that the keyring does not hold. */
  | { readonly kind: 'unknown_key'; readonly name: LogicalName }
  /** Larger than the work's file limit, and so not read. */
  | { readonly kind: 'too_large'; readonly path: MemoryPath }
  /** A file whose path is a directory, too. */
  | { readonly kind: 'clash'; readonly path: MemoryPath }
  /** Objects among the files whose names no writer of this tenant made, and objects beside them that nobody needs. */
  | { readonly kind: 'foreign' | 'orphan'; readonly objects: number };

/** How many objects name a tenant key. */
export interface KeyVersionCount {
  readonly version: number;
  readonly objects: number;
  /** New objects are sealed with it. */
  readonly active: boolean;
}

/** A file as it was read, at one of the places where its content lies. */
export interface Place {
  readonly path: MemoryPath;
  readonly key: ObjectKey;
  readonly etag: ETag;
  /** The server's clock, as precise as the server tells it; milliseconds since the epoch. */
  readonly lastModified: number;
  /** Bytes as stored. */
  readonly size: number;
  readonly origin: Uint8Array;
}

export interface CheckedFiles {
  /** Files that were read and are whole, and their content in bytes. */
  readonly files: number;
  readonly bytes: number;
  readonly findings: readonly FileFinding[];
  /** Places that hold one content between them, two or more each, the longest unchanged one first. */
  readonly groups: readonly (readonly Place[])[];
  /** Of all objects, files or not, ascending; the active one in any case. */
  readonly keyVersions: readonly KeyVersionCount[];
}

/**
 * Reads and opens every object of the tenant, side by side: the files, and what lies beside them. Objects that vanish
 * meanwhile are not counted. What is wrong with the register of renames is for others to say.
 *
 * @throws MemoryError what the store throws; what is wrong with an object is a finding.
 */
export async function checkFiles(work: Work): Promise<CheckedFiles> {
  const { records, foreign, orphans } = await listRecords(work);
  const active = work.keyring.keys.active.version;
  const findings: FileFinding[] = [];
  const places = new Map<string, Place[]>();
  const counts = new Map([[active, 0]]);
  let [files, bytes, done] = [0, 0, 0];
  const checkOne = async (record: ListedRecord): Promise<void> => {
    const inspection = await inspectRecord(work, record);
    if (inspection !== undefined) {
      const finding = findingOf(record, inspection);
      if (finding !== undefined) findings.push(finding);
      const keyVersion = 'keyVersion' in inspection ? inspection.keyVersion : undefined;
      if (keyVersion !== undefined) counts.set(keyVersion, (counts.get(keyVersion) ?? 0) + 1);
    }
    if (inspection?.state === 'whole' && record.cls === 'data') {
      const { version } = inspection;
      files++;
      bytes += version.content.length;
      const id = toBase64url(version.contentId);
      places.set(id, [...(places.get(id) ?? []), placeOf(record.path, record.object, version)]);
    }
    work.call.onProgress?.({ done: ++done, total: records.length });
  };
  await eachConcurrently(work.session, records, checkOne, ({ object }) => object.size);
  findings.push(...findClashes(records.flatMap((record) => (record.cls === 'data' ? [record.path] : []))));
  findings.sort(byKindAndName);
  if (foreign > 0) findings.push({ kind: 'foreign', objects: foreign });
  if (orphans > 0) findings.push({ kind: 'orphan', objects: orphans });
  const groups = [...places.values()].filter((group) => group.length > 1).map(oldestFirst);
  const keyVersions = [...counts]
    .map(([version, objects]) => ({ version, objects, active: version === active }))
    .sort((a, b) => a.version - b.version);
  return { files, bytes, findings, groups, keyVersions };
}

function findingOf(record: ListedRecord, { state }: Inspection): FileFinding | undefined {
  if (state === 'whole' || isRegister(record.name)) return undefined;
  if (state === 'unknown_key') return { kind: state, name: record.name };
  if (record.cls !== 'data') return { kind: 'damaged_record', name: record.name };
  return { kind: state, path: record.path };
}

/** Listings often tell the time more precisely than the answer to a GET, which knows whole seconds. */
function placeOf(path: MemoryPath, listed: ListedObject, { stored, origin }: SealedVersion): Place {
  const { etag, lastModified } = listed.etag === stored.etag ? listed : stored;
  return { path, key: listed.key, etag, lastModified, size: stored.size, origin };
}

function findClashes(paths: readonly MemoryPath[]): readonly FileFinding[] {
  const directories = new Set(paths.flatMap(ancestorsOf));
  return paths.filter((path) => directories.has(path)).map((path) => ({ kind: 'clash', path }));
}

function oldestFirst(group: readonly Place[]): readonly Place[] {
  return group.toSorted((a, b) => a.lastModified - b.lastModified || (a.path < b.path ? -1 : 1));
}

function byKindAndName(a: FileFinding, b: FileFinding): number {
  const [left, right] = [a, b].map((finding) =>
    [finding.kind, 'path' in finding ? finding.path : 'name' in finding ? finding.name : ''].join(),
  );
  return (left ?? '') < (right ?? '') ? -1 : 1;
}
