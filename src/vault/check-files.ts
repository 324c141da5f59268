import pLimit from 'p-limit';
import { MemoryError } from '../errors.ts';
import { ancestorsOf, joinPath, MEMORY_ROOT, type MemoryPath } from '../memory/path.ts';
import type { ETag, ListedObject, ObjectKey } from '../objects/object-store.ts';
import { toBase64url } from '../sealing/base64.ts';
import { logicalName } from '../sealing/logical-name.ts';
import { sealedSize, TOMBSTONE_BYTES } from '../sealing/size.ts';
import type { OpenVault } from './context.ts';
import { listObjects } from './list-objects.ts';
import { readSealed, type SealedVersion } from './read-file.ts';

/** What one look at the tree finds without knowing of renames. */
export type FileFinding =
  /** The object at the path is not what was sealed for it. */
  | { readonly kind: 'damaged'; readonly path: MemoryPath }
  /** Larger than the vault's file limit, and so not read. */
  | { readonly kind: 'too_large'; readonly path: MemoryPath }
  /** A file whose path is a directory, too. */
  | { readonly kind: 'clash'; readonly path: MemoryPath }
  /** Objects below the tree whose names no writer of this tenant made. */
  | { readonly kind: 'foreign'; readonly objects: number };

/** A file as it was read, at one of the places where its content lies. */
export interface Place {
  readonly path: MemoryPath;
  readonly key: ObjectKey;
  readonly etag: ETag;
  /** The server's clock, as precise as the server tells it; milliseconds since the epoch. */
  readonly lastModified: number;
  readonly origin: Uint8Array;
}

export interface CheckedFiles {
  /** Files that were read and are whole, and their content in bytes. */
  readonly files: number;
  readonly bytes: number;
  readonly findings: readonly FileFinding[];
  /** Places that hold one content between them, two or more each, the longest unchanged one first. */
  readonly groups: readonly (readonly Place[])[];
}

/**
 * Reads and opens every file of the tenant, side by side. Files that vanish meanwhile are not counted.
 *
 * @throws MemoryError what the store throws; what is wrong with a file is a finding.
 */
export async function checkFiles(vault: OpenVault): Promise<CheckedFiles> {
  const { named, foreign } = await listNamed(vault);
  const findings: FileFinding[] = [];
  const places = new Map<string, Place[]>();
  let [files, bytes, done] = [0, 0, 0];
  await eachSideBySide(vault, named, async ({ path, object }) => {
    const version = await readOrFault(vault, path, object.key);
    if (typeof version === 'string') findings.push({ kind: version, path });
    else if (version !== undefined) {
      files++;
      bytes += version.content.length;
      const id = toBase64url(version.contentId);
      places.set(id, [...(places.get(id) ?? []), placeOf(path, object, version)]);
    }
    vault.onProgress?.({ done: ++done, total: named.length });
  });
  findings.push(...findClashes(named.map(({ path }) => path)));
  findings.sort(byKindAndPath);
  if (foreign > 0) findings.push({ kind: 'foreign', objects: foreign });
  const groups = [...places.values()].filter((group) => group.length > 1).map(oldestFirst);
  return { files, bytes, findings, groups };
}

/** Runs `work` on every item; after a failure none is begun, and it is thrown when those under way have ended. */
export async function eachSideBySide<T>(
  vault: OpenVault,
  items: readonly T[],
  work: (item: T) => Promise<void>,
): Promise<void> {
  const limit = pLimit(vault.sideBySide);
  const failures: unknown[] = [];
  const runOne = async (item: T): Promise<void> => {
    if (failures.length > 0) return;
    await work(item).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(items.map((item) => limit(runOne, item)));
  if (failures.length > 0) throw failures[0];
}

interface NamedObject {
  readonly path: MemoryPath;
  readonly object: ListedObject;
}

/** Unlike a listing for the model it passes nothing over because of its size: what was cut short is still a file. */
async function listNamed(
  vault: OpenVault,
): Promise<{ readonly named: readonly NamedObject[]; readonly foreign: number }> {
  const prefix = vault.layout.data;
  const request = { prefix, maxObjects: Number.POSITIVE_INFINITY, sideBySide: true };
  const { objects } = await listObjects(vault, request);
  const named = objects.flatMap((object) => {
    const segments = vault.keyring.names.decodeRelative([], object.key.slice(prefix.length));
    // A tombstone is seen only where deletes have since been declared atomic: it is nobody's file.
    if (segments === undefined || object.size === TOMBSTONE_BYTES) return [];
    return [{ path: joinPath(MEMORY_ROOT, ...segments), object }];
  });
  return { named, foreign: objects.length - named.length };
}

/** Undefined: nothing is there any more. */
async function readOrFault(
  vault: OpenVault,
  path: MemoryPath,
  key: ObjectKey,
): Promise<SealedVersion | 'damaged' | 'too_large' | undefined> {
  const maxBytes = sealedSize(vault.maxFileBytes);
  try {
    return await readSealed(vault, { key, name: logicalName(path), maxBytes });
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    if (error.code === 'integrity') return 'damaged';
    if (error.code === 'limit_exceeded') return 'too_large';
    throw error;
  }
}

/** Listings often tell the time more precisely than the answer to a GET, which knows whole seconds. */
function placeOf(path: MemoryPath, listed: ListedObject, { stored, origin }: SealedVersion): Place {
  const { etag, lastModified } = listed.etag === stored.etag ? listed : stored;
  return { path, key: listed.key, etag, lastModified, origin };
}

function findClashes(paths: readonly MemoryPath[]): readonly FileFinding[] {
  const directories = new Set(paths.flatMap(ancestorsOf));
  return paths.filter((path) => directories.has(path)).map((path) => ({ kind: 'clash', path }));
}

function oldestFirst(group: readonly Place[]): readonly Place[] {
  return group.toSorted((a, b) => a.lastModified - b.lastModified || (a.path < b.path ? -1 : 1));
}

function byKindAndPath(a: FileFinding, b: FileFinding): number {
  const [left, right] = [a, b].map((finding) => [finding.kind, 'path' in finding ? finding.path : ''].join());
  return (left ?? '') < (right ?? '') ? -1 : 1;
}
