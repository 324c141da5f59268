import { hasCode, MemoryError } from '../../errors.ts';
import { MAX_KEYRING_BYTES } from '../../format/keyring-bytes.ts';
import type { ObjectKey } from '../../format/object-keys.ts';
import { sealedSize, TOMBSTONE_BYTES } from '../../format/sizes.ts';
import { isTombstone } from '../../format/tombstone.ts';
import { directoriesOf, type MemoryPath, segmentsOf } from '../../language/path.ts';
import { KEYS_PER_REQUEST, type ObjectStore } from '../../store/port.ts';
import { throwIfAborted } from '../../time.ts';
import { readSealed, type SealedVersion } from '../../tree/read-file.ts';
import { type CallOptions, openWork, type Tenant, type Work } from '../../tree/tenant.ts';
import { countFindings, type Finding, sortFindings } from '../findings.ts';
import { eachRecord, type FileRecord, listFileRecords } from '../scan.ts';
import { beginFolder, type NewFolder } from './new-folder.ts';

export interface ExportOptions extends CallOptions {
  /** The folder to write to, which is missing or empty. */
  readonly to: string;
}

export interface ExportReport {
  /** The number of files that were exported, and the bytes of their content. */
  readonly files: number;
  readonly bytes: number;
  /** Reasons why files are missing from the folder, and other findings on the way. */
  readonly findings: readonly Finding[];
}

/**
 * Opens every file of the tenant, checks it and writes its content below the new folder `to`, under its path below
 * `/memories` and with its time. A file that is damaged or refused becomes a finding; the others are exported, those
 * that another process renames meanwhile under their old path, the new one or both. The folder appears with everything or not at all: a run that was cut off is simply run again. The export only reads the
 * store.
 *
 * @throws MemoryError `key_unavailable` when the store has no keyring of the tenant; `misconfigured` when `to` is
 * occupied; the errors of the store, the keyring and the file system.
 */
export async function exportTree(
  tenant: Tenant,
  request: ExportOptions,
  begin: (to: string) => Promise<NewFolder> = beginFolder,
): Promise<ExportReport> {
  const { to, signal } = request;
  const source: Tenant = { ...tenant, store: readOnly(tenant.store) };
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
    // The next run removes the rest; the error of this one matters more.
    await folder.abandon().catch(() => {});
    throw error;
  }
}

/** Makes the reading half of a store, which refuses every change. Closing it leaves the store open. */
function readOnly(store: ObjectStore): ObjectStore {
  const refuse = async (): Promise<never> => {
    throw new MemoryError('read_only', 'The object store is used for reading only.');
  };
  const { changeAll: _, ...reading } = store;
  return { ...reading, put: refuse, delete: refuse, [Symbol.asyncDispose]: async () => {} };
}

/**
 * Refuses a store without the tenant's keyring. It runs first, to distinguish a copy without it from a memory that was
 * never written to.
 *
 * @throws MemoryError `key_unavailable`.
 */
async function requireKeyring({ store, layout }: Tenant, signal: AbortSignal | undefined): Promise<void> {
  // A GET, because a HEAD cannot tell a missing object from a missing bucket.
  const found = await store.get(layout.keyring, { maxBytes: MAX_KEYRING_BYTES, signal }).catch(tooLarge);
  if (found === undefined) throw noKeyring();
}

/** Counts a keyring that is too large as present; opening it tells the damage. */
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

/** The most often that files are listed while other processes rename, write or delete some. */
const ROUNDS = 8;

/**
 * Writes each file that a listing shows. Where one was gone or another version when it was read, or the listing had
 * several pages, a rename may have taken a file to a place that the listing had passed already: it lists again until no
 * new one shows.
 */
async function fill(folder: NewFolder, work: Work): Promise<ExportReport> {
  const findings: Finding[] = [];
  const [known, vanished] = [new Set<ObjectKey>(), new Set<MemoryPath>()];
  let [files, bytes] = [0, 0];
  let counts: readonly Finding[] = [];
  for (let round = 1, isWhole = false; round <= ROUNDS && !isWhole; round++) {
    const { records, ...counted } = await listFileRecords(work);
    counts = countFindings(counted);
    const directories = directoriesOf(records.map(({ path }) => path));
    const unread = records.filter(({ object }) => !known.has(object.key));
    isWhole = round === 1 ? records.length < KEYS_PER_REQUEST : unread.length === 0;
    for (const { object } of unread) known.add(object.key);
    await eachRecord(work, unread, async (file) => {
      const { path } = file;
      const opened = directories.has(path) ? 'clash' : await openFile(work, file);
      if (opened === 'tombstone') return;
      if (opened === 'vanished') {
        isWhole = false;
        vanished.add(path);
        known.delete(file.object.key);
      } else if (typeof opened === 'string') findings.push({ kind: opened, path });
      else {
        vanished.delete(path);
        throwIfAborted(work.call.signal);
        const { content, mtime, stored } = opened;
        if (stored.etag !== file.object.etag) isWhole = false;
        const refusal = await folder.write({ segments: segmentsOf(path), content, mtime });
        if (refusal === undefined) {
          files++;
          bytes += content.length;
        } else findings.push({ kind: 'unwritable', path, code: refusal.refused });
      }
    });
  }
  for (const path of vanished) findings.push({ kind: 'vanished', path });
  return { files, bytes, findings: sortFindings([...findings, ...counts]) };
}

/**
 * A file's content, or the reason why it is not exported. `tombstone`: a deletion was under way there, and its mark was
 * copied along.
 */
type OpenedFile = SealedVersion | 'damaged' | 'too_large' | 'unreadable' | 'vanished' | 'tombstone';

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
