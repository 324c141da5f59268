import { hasCode, MemoryError } from '../errors.ts';
import { MAX_KEYRING_BYTES } from '../format/keyring-bytes.ts';
import type { OpenedObject } from '../format/object.ts';
import { logicalName, parseFileKey } from '../format/object-keys.ts';
import { sealedSize, TOMBSTONE_BYTES } from '../format/sizes.ts';
import { isTombstone } from '../format/tombstone.ts';
import { ancestorsOf, type MemoryPath, segmentsOf } from '../language/path.ts';
import type { ListedObject } from '../store/port.ts';
import { readOnly } from '../store/read-only.ts';
import { throwIfAborted } from '../time.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { pagesBelow } from '../tree/list-objects.ts';
import { readSealed } from '../tree/read-file.ts';
import type { Call, Session, Work } from '../tree/session.ts';
import { beginFolder, type NewFolder } from './new-folder.ts';

export interface RestoreRequest extends Call {
  /** Where to: a folder that does not exist yet, or is empty. */
  readonly to: string;
}

/** A file that is not in the restored tree, and why. */
export type RestoreFinding =
  /** Its object is not what was sealed for this path. */
  | { readonly kind: 'damaged'; readonly path: MemoryPath }
  /** Larger than the work's file limit, and so not read. */
  | { readonly kind: 'too_large'; readonly path: MemoryPath }
  /** The store refuses to hand out its object. */
  | { readonly kind: 'unreadable'; readonly path: MemoryPath }
  /** It was listed, and gone when it was to be read. */
  | { readonly kind: 'vanished'; readonly path: MemoryPath }
  /** Its path is a directory, too; what lies in that is restored. */
  | { readonly kind: 'clash'; readonly path: MemoryPath }
  /** The file system of the target refuses its name, by `code`. */
  | { readonly kind: 'unwritable'; readonly path: MemoryPath; readonly code: string }
  /** Objects among the files whose names no writer of this tenant made. */
  | { readonly kind: 'foreign'; readonly objects: number };

export interface RestoreReport {
  /** Files that were restored, and their content in bytes. */
  readonly files: number;
  readonly bytes: number;
  /** Ordered by kind and path. */
  readonly findings: readonly RestoreFinding[];
}

/**
 * Opens every file of the tenant, checks it and writes its content below the new folder `to`, under its path below
 * `/memories` and with its time. What is wrong with a file is a finding; the others are restored. The folder is there
 * with everything or not at all: a run that was cut off is simply run again. Nothing is written to the store.
 *
 * @throws MemoryError `key_unavailable` when the store has no keyring of the tenant; `misconfigured` when something
 * lies at `to`; what the store, the keyring and the file system throw.
 */
export async function restoreTree(context: Session, request: RestoreRequest): Promise<RestoreReport> {
  const { to, signal, onProgress } = request;
  const source: Session = { ...context, store: readOnly(context.store) };
  await requireKeyring(source, signal);
  const keyring = await context.keyrings.load({ signal });
  if (keyring === undefined) throw noKeyring();
  const work: Work = { session: source, keyring, call: { signal, onProgress } };

  const folder = await beginFolder(to);
  try {
    const report = await fill(folder, work);
    throwIfAborted(signal);
    await folder.finish();
    return report;
  } catch (error) {
    // What cannot be removed now is removed by the next run; why this one failed matters more.
    await folder.abandon().catch(() => {});
    throw error;
  }
}

/** Asked for first, so that a copy without it is told apart from a memory that was never written to. */
async function requireKeyring({ store, layout }: Session, signal: AbortSignal | undefined): Promise<void> {
  // Not a HEAD: to that a bucket that does not exist looks the same.
  const found = await store.get(layout.keyring, { maxBytes: MAX_KEYRING_BYTES, signal }).catch(tooLarge);
  if (found === undefined) throw noKeyring();
}

/** It is there; whoever opens it says what is wrong with it. */
function tooLarge(error: unknown): 'too_large' {
  if (hasCode(error, 'limit_exceeded')) return 'too_large';
  throw error;
}

function noKeyring(): MemoryError {
  return new MemoryError(
    'key_unavailable',
    'There is no keyring of the tenant: the object keyrings/<tenant>, beside the folder tenants, is missing.',
  );
}

async function fill(folder: NewFolder, work: Work): Promise<RestoreReport> {
  const { listed, foreign } = await listFiles(work);
  const directories = new Set(listed.flatMap(({ path }) => ancestorsOf(path)));
  const findings: RestoreFinding[] = [];
  let [files, bytes, done] = [0, 0, 0];
  const restoreOne = async (file: ListedFile): Promise<void> => {
    const { path } = file;
    const opened = directories.has(path) ? 'clash' : await openOrFault(work, file);
    if (typeof opened === 'string') findings.push({ kind: opened, path });
    else if (opened !== undefined) {
      throwIfAborted(work.call.signal);
      const { content, mtime } = opened;
      const refusal = await folder.write({ segments: segmentsOf(path), content, mtime });
      if (refusal === undefined) {
        files++;
        bytes += content.length;
      } else findings.push({ kind: 'unwritable', path, code: refusal.refused });
    }
    work.call.onProgress?.({ done: ++done, total: listed.length });
  };
  await eachConcurrently(work.session, listed, restoreOne, ({ object }) => object.size);
  findings.sort(byKindAndPath);
  if (foreign > 0) findings.push({ kind: 'foreign', objects: foreign });
  return { files, bytes, findings };
}

interface ListedFile {
  readonly path: MemoryPath;
  readonly object: ListedObject;
}

/** Nothing is passed over because of its size: what was cut short is still a file. */
async function listFiles(
  work: Work,
): Promise<{ readonly listed: readonly ListedFile[]; readonly foreign: number }> {
  const prefix = work.session.layout.data;
  const listed: ListedFile[] = [];
  let foreign = 0;
  for await (const { objects } of pagesBelow(work, { prefix })) {
    for (const object of objects) {
      const path = parseFileKey(work.session.layout, work.keyring.names, object.key);
      if (path === undefined) foreign++;
      else listed.push({ path, object });
    }
  }
  return { listed, foreign };
}

/** Undefined: a deletion was under way there, and its mark was copied along. */
async function openOrFault(
  work: Work,
  { path, object: { key, size } }: ListedFile,
): Promise<OpenedObject | 'damaged' | 'too_large' | 'unreadable' | 'vanished' | undefined> {
  try {
    if (size === TOMBSTONE_BYTES) {
      const stored = await work.session.store.get(key, {
        maxBytes: TOMBSTONE_BYTES,
        signal: work.call.signal,
      });
      if (typeof stored === 'object' && isTombstone(stored.body)) return undefined;
    }
    const maxBytes = sealedSize(work.session.maxFileBytes);
    return (await readSealed(work, { key, name: logicalName(path), maxBytes })) ?? 'vanished';
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    if (error.code === 'integrity') return 'damaged';
    if (error.code === 'limit_exceeded') return 'too_large';
    if (error.code === 'access_denied') return 'unreadable';
    throw error;
  }
}

function byKindAndPath(a: RestoreFinding, b: RestoreFinding): number {
  const [left, right] = [a, b].map((finding) => [finding.kind, 'path' in finding ? finding.path : ''].join());
  return (left ?? '') < (right ?? '') ? -1 : 1;
}
