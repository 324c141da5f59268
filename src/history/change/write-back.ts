import { hasCode, hasReason, MemoryError } from '../../errors.ts';
import { sameBytes, toBase64url } from '../../format/encoding.ts';
import type { MemoryPath } from '../../language/path.ts';
import type { ETag, ObjectVersions } from '../../store/port.ts';
import { type FileVersion, readFile } from '../../tree/read-file.ts';
import { type CallOptions, type KeptCall, openWork, type Tenant, type Work } from '../../tree/tenant.ts';
import type { Tree } from '../../tree/tree.ts';
import type { PastVersion, VersionId } from '../past/past.ts';
import { isRedactedElsewhere, recordOf, takenOut } from '../past/read-version.ts';
import { readHistoryRecord } from '../past/records.ts';
import { redactWritten } from './redact.ts';

/** The means to write texts back, and the call on whose behalf they are written. */
export interface Writing {
  readonly tenant: Tenant;
  readonly tree: Tree;
  readonly call: KeptCall;
  /** The versions that a bucket keeps beside the current objects. */
  readonly versions?: ObjectVersions | undefined;
}

/** A text of the history that is to be written into a file. */
interface WrittenBack {
  readonly path: MemoryPath;
  readonly text: Uint8Array;
  /** The version that has the text. */
  readonly version: Pick<PastVersion, 'id' | 'path' | 'bound' | 'text' | 'record'>;
  /** The file at the path now; undefined where the path holds no file. */
  readonly replaced: FileVersion | undefined;
}

/**
 * Writes the text of an earlier version into its file as a new version, or creates the file. Then looks once more
 * whether that text was redacted since the read. If so, it undoes the write, and redacts the written version. Costs the
 * requests of the write and a GET; where the text came from another file that has changed since, a LIST for each 1,000
 * records as well.
 *
 * @throws MemoryError `not_found` (`reason: 'redacted'`) where it was taken back; `outcome_unknown` (`reason:
 * 'redacted'`) where it may stay, with the `paths` and `versions` that may have it; what the tree throws.
 */
export async function writeBack(writing: Writing, written: WrittenBack): Promise<void> {
  const { tenant, tree } = writing;
  const { path, text, version, replaced } = written;
  const { call, sealed } = noting(writing.call, text.length);
  const isTakenOut = async (): Promise<boolean> => {
    const work = await openWork(tenant, {});
    return work !== undefined && isRedacted(work, version);
  };
  let etag: ETag | undefined;
  try {
    etag =
      replaced === undefined
        ? await tree.create(path, text, { ...call, wasThere: true })
        : await tree.replace(path, { content: text, version: replaced.etag }, call);
  } catch (error) {
    if (!hasCode(error, 'outcome_unknown') || !(await isTakenOut())) throw error;
  }
  if (etag !== undefined && !(await isTakenOut())) return;
  try {
    await takeBack(writing, { path, text, replaced, etag, ...sealed });
  } catch (cause) {
    const { paths = [path], versions = [] } = cause instanceof MemoryError ? cause.details : {};
    throw new MemoryError(
      'outcome_unknown',
      'The text of that version was taken out of the history while it was written back, and may lie in a file: edit or delete that file, then redact the version that held it.',
      { details: { reason: 'redacted', paths, versions }, cause },
    );
  }
  throw takenOut();
}

/** The version that was written, as far as it is known: its name, and its bytes of content. */
interface NotedVersion {
  id?: VersionId;
  size: number;
}

/** Makes a call that notes the version which is written on its behalf. */
function noting<C extends CallOptions>(
  call: C,
  size: number,
): { readonly call: C; readonly sealed: NotedVersion } {
  const sealed: NotedVersion = { size };
  const noted: CallOptions = {
    onTouch(touch) {
      if (touch.kind === 'written') sealed.id = touch.version;
      call.onTouch?.(touch);
    },
    onRedacted(findings, bytes) {
      sealed.size = bytes;
      call.onRedacted?.(findings, bytes);
    },
  };
  return { call: { ...call, ...noted }, sealed };
}

/**
 * Tells whether the text of a version was redacted since it was read: by its record, or where a rename took it
 * elsewhere, by the names of all records. A file that still holds the version shows that its text was not redacted.
 */
async function isRedacted(work: Work, version: WrittenBack['version']): Promise<boolean> {
  const { id, path, text } = version;
  if (text === 'current') {
    const file = await readFile(work, path);
    if (file !== undefined && toBase64url(file.id) === id) return false;
  }
  const found = await readHistoryRecord(work, recordOf(work, version));
  return found === undefined ? isRedactedElsewhere(work, id) : found.kind === 'redacted';
}

/**
 * Takes back a write, and takes its text out of the record that this leaves. Runs to its end though the call is
 * cancelled.
 */
async function takeBack(
  writing: Writing,
  written: Omit<WrittenBack, 'version'> & NotedVersion & { readonly etag: ETag | undefined },
): Promise<void> {
  const { tenant, versions } = writing;
  const { path, text, replaced } = written;
  const { actor } = writing.call;
  const { call, sealed } = noting({ actor }, replaced?.content.length ?? 0);
  const work = await openWork(tenant, call);
  if (work === undefined) return;
  // Without an answer only the file tells whether it was written.
  const found = written.etag === undefined ? await readFile(work, path) : undefined;
  const isFound = found !== undefined && sameBytes(found.content, text);
  const etag = isFound ? found.stored.etag : written.etag;
  const id = isFound ? toBase64url(found.id) : written.id;
  if (etag === undefined || id === undefined) return;
  let back = await undoAt(writing.tree, { path, etag, replaced }, call);
  for (let round = 1; ; round++) {
    try {
      await redactWritten(work, { id, path, text, size: written.size }, versions);
      break;
    } catch (error) {
      if (!hasReason(error, 'current') || round === ROUNDS) throw error;
      // Another process renamed the file first: the version lies elsewhere.
      for (const place of error.details['paths'] as readonly MemoryPath[]) {
        const there = await readFile(work, place);
        if (there === undefined || toBase64url(there.id) !== id) continue;
        back = await undoAt(writing.tree, { path: place, etag: there.stored.etag, replaced }, call);
      }
    }
  }
  if (replaced === undefined || back === undefined) return;
  // Another process may have redacted the replaced version while it was in no file.
  const former = { id: toBase64url(replaced.id), path, bound: replaced.bound } as const;
  if (!(await isRedacted(work, { ...former, text: 'kept', record: undefined }))) return;
  await takeBack(writing, { text: replaced.content, replaced: undefined, ...back, ...sealed });
}

/** The most looks for the written version at the paths to which renames brought it. */
const ROUNDS = 8;

/** Puts back the text that the file had, or deletes the file; undefined where it put no text back. */
async function undoAt(
  tree: Tree,
  { path, etag, replaced }: Pick<WrittenBack, 'path' | 'replaced'> & { readonly etag: ETag },
  call: CallOptions,
): Promise<{ readonly path: MemoryPath; readonly etag: ETag } | undefined> {
  try {
    if (replaced === undefined) await tree.remove(path, { ...call, version: etag });
    else {
      const former = { content: replaced.content, version: etag };
      return { path, etag: await tree.replace(path, former, { ...call, wasAdmitted: true }) };
    }
  } catch (error) {
    // Another process was first; the redaction that follows finds the version wherever that process put it.
    if (!hasCode(error, 'version_conflict', 'not_found')) throw error;
  }
  return undefined;
}
