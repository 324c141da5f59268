import { hasCode, MemoryError } from '../../errors.ts';
import { MAX_KEYRING_BYTES } from '../../format/keyring-bytes.ts';
import type { OpenedObject } from '../../format/object.ts';
import { sealedSize, TOMBSTONE_BYTES } from '../../format/sizes.ts';
import { isTombstone } from '../../format/tombstone.ts';
import { directoriesOf, segmentsOf } from '../../language/path.ts';
import type { ObjectStore } from '../../store/port.ts';
import { throwIfAborted } from '../../time.ts';
import { readSealed } from '../../tree/read-file.ts';
import { eachRecord, type FileRecord, listFileRecords } from '../../tree/records/scan.ts';
import { type Call, openWork, type Tenant, type Work } from '../../tree/tenant.ts';
import { countFindings, type Finding, sortFindings } from '../findings.ts';
import { beginFolder, type NewFolder } from './new-folder.ts';

export interface ExportRequest extends Call {
  /** Where to: a folder that does not exist yet, or is empty. */
  readonly to: string;
}

export interface ExportReport {
  /** Files that were exported, and their content in bytes. */
  readonly files: number;
  readonly bytes: number;
  /** Why a file is not in the folder, and what else was come upon. */
  readonly findings: readonly Finding[];
}

/**
 * Opens every file of the tenant, checks it and writes its content below the new folder `to`, under its path below
 * `/memories` and with its time. What is wrong with a file is a finding; the others are exported. The folder is there
 * with everything or not at all: a run that was cut off is simply run again. Nothing is written to the store.
 *
 * @throws MemoryError `key_unavailable` when the store has no keyring of the tenant; `misconfigured` when something
 * lies at `to`; what the store, the keyring and the file system throw.
 */
export async function exportTree(
  context: Tenant,
  request: ExportRequest,
  begin: (to: string) => Promise<NewFolder> = beginFolder,
): Promise<ExportReport> {
  const { to, signal } = request;
  const source: Tenant = { ...context, store: readOnly(context.store) };
  await requireKeyring(source, signal);
  const work = await openWork(source, request);
  if (work === undefined) throw noKeyring();

  const folder = await begin(to);
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

/** The reading half of a store: nothing reaches it that would change it. Closing this leaves the store open. */
function readOnly(store: ObjectStore): ObjectStore {
  const refuse = async (): Promise<never> => {
    throw new MemoryError('read_only', 'The object store is used for reading only.');
  };
  const { changeAll: _, ...reading } = store;
  return { ...reading, put: refuse, delete: refuse, [Symbol.asyncDispose]: async () => {} };
}

/** Asked for first, to distinguish a copy without it from a memory that was never written to. */
async function requireKeyring({ store, layout }: Tenant, signal: AbortSignal | undefined): Promise<void> {
  // Not a HEAD: to that a bucket that does not exist looks the same.
  const found = await store.get(layout.keyring, { maxBytes: MAX_KEYRING_BYTES, signal }).catch(tooLarge);
  if (found === undefined) throw noKeyring();
}

/** It is there; opening it says what is wrong with it. */
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

async function fill(folder: NewFolder, work: Work): Promise<ExportReport> {
  const { records, ...counted } = await listFileRecords(work);
  const directories = directoriesOf(records.map(({ path }) => path));
  const findings: Finding[] = [];
  let [files, bytes] = [0, 0];
  await eachRecord(work, records, async (file) => {
    const { path } = file;
    const opened = directories.has(path) ? 'clash' : await openFile(work, file);
    if (opened === 'tombstone') return;
    if (typeof opened === 'string') findings.push({ kind: opened, path });
    else {
      throwIfAborted(work.call.signal);
      const { content, mtime } = opened;
      const refusal = await folder.write({ segments: segmentsOf(path), content, mtime });
      if (refusal === undefined) {
        files++;
        bytes += content.length;
      } else findings.push({ kind: 'unwritable', path, code: refusal.refused });
    }
  });
  findings.push(...countFindings(counted));
  return { files, bytes, findings: sortFindings(findings) };
}

/** A file's content, or why it is not exported. `tombstone`: a deletion was under way there, and its mark was copied along. */
type OpenedFile = OpenedObject | 'damaged' | 'too_large' | 'unreadable' | 'vanished' | 'tombstone';

async function openFile(work: Work, { name, object: { key, size } }: FileRecord): Promise<OpenedFile> {
  try {
    if (size === TOMBSTONE_BYTES) {
      const stored = await work.tenant.store.get(key, {
        maxBytes: TOMBSTONE_BYTES,
        signal: work.call.signal,
      });
      if (typeof stored === 'object' && isTombstone(stored.body)) return 'tombstone';
    }
    const maxBytes = sealedSize(work.tenant.maxFileBytes);
    return (await readSealed(work, { key, name, maxBytes })) ?? 'vanished';
  } catch (error) {
    if (!(error instanceof MemoryError)) throw error;
    if (error.code === 'integrity') return 'damaged';
    if (error.code === 'limit_exceeded') return 'too_large';
    if (error.code === 'access_denied') return 'unreadable';
    throw error;
  }
}
