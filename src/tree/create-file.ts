import { MemoryError } from '../errors.ts';
import { type OpenedObject, seal } from '../format/object.ts';
import { fileKey, logicalName, type ObjectKey } from '../format/object-keys.ts';
import { MOST_KEPT_BYTES } from '../format/sizes.ts';
import { newVersion, type Version } from '../format/version.ts';
import { type MemoryPath, refuseTooDeep } from '../language/path.ts';
import type { ETag } from '../store/port.ts';
import { refuseTooLarge } from './admission/admission.ts';
import { untilDone } from './concurrency.ts';
import { type ConditionalWrite, type ConfirmedPut, confirmedPut } from './confirmed-put.ts';
import { drawId } from './draw-id.ts';
import { clashError, findClash } from './staying/clashes.ts';
import { headSized, keepWritten, recallStaying, sizedOf, untilStaysAs } from './staying/staying.ts';
import { notTakenBack, orTakeBack, takePutBack, type Written } from './staying/take-back.ts';
import { type Once, type Quota, type SizedVersion, uncancelled, type Work } from './tenant.ts';

/**
 * Creates the file, atomically: of racing creators exactly one succeeds. One PUT, then one check for each level of the
 * path, all at once.
 *
 * @throws MemoryError `already_exists` when a file is there, or above the path (`reason: 'below_file'`); `is_directory`
 * when a directory is there; `limit_exceeded`.
 */
export async function createFile(work: Work, path: MemoryPath, content: Uint8Array): Promise<ETag> {
  const key = fileKey(work.tenant.layout, work.keyring.names, path);
  return withinLimits(work, { key, replaced: undefined, size: content.length }, async () => {
    const { version, outcome } = await putText(work, path, { content, mode: 'create' });
    if ('conflict' in outcome) throw new MemoryError('already_exists', 'a file of that path exists');
    await refuseClash(work, { path, key, etag: outcome.etag, mark: { created: version.id } });
    keepWritten(work, path, outcome);
    return outcome.etag;
  });
}

/**
 * Creates the file or replaces its current version, always conditionally: a write by another process in between makes
 * it look again.
 *
 * @throws MemoryError `invalid_path` for a new file with too many segments; the errors of `createFile`, but
 * `already_exists` only for a file above the path.
 */
export async function overwriteFile(work: Work, path: MemoryPath, content: Uint8Array): Promise<ETag> {
  const key = fileKey(work.tenant.layout, work.keyring.names, path);
  let held = sizedOf(recallStaying(work, path));
  let written: ETag | undefined;
  const attempt = async (current: SizedVersion | undefined): Promise<'again' | undefined> => {
    if (current === undefined) refuseTooDeep(path);
    const mode: ConditionalWrite['mode'] = current === undefined ? 'create' : { ifMatch: current.etag };
    const { version, outcome } = await putText(work, path, {
      content,
      mode,
      replaced: toSave(work, current),
    });
    if ('conflict' in outcome) return 'again';
    if (current === undefined) {
      await refuseClash(work, { path, key, etag: outcome.etag, mark: { created: version.id } });
    }
    keepWritten(work, path, outcome);
    written = outcome.etag;
    return undefined;
  };
  await untilDone(work, async () => {
    const current = held ?? (await look(work, path));
    held = undefined;
    const file = { key, replaced: current?.size, size: content.length };
    return withinLimits(work, file, () => attempt(current));
  });
  if (written === undefined) throw new MemoryError('unavailable', 'a write ended without an outcome');
  return written;
}

/**
 * Replaces exactly the named version of the file. One PUT; one HEAD and a look for clashes more where that version may
 * still be taken back.
 *
 * @throws MemoryError `version_conflict` when another version, or none, is at the path.
 */
export async function replaceVersion(
  work: Work,
  path: MemoryPath,
  { content, version }: { readonly content: Uint8Array; readonly version: ETag },
): Promise<ETag> {
  const key = fileKey(work.tenant.layout, work.keyring.names, path);
  const replace = async (current?: SizedVersion): Promise<ETag> => {
    const text = { content, mode: { ifMatch: version }, replaced: toSave(work, current) };
    const { outcome } = await putText(work, path, text);
    if ('conflict' in outcome) throw replacedMeanwhile(work, key);
    keepWritten(work, path, outcome);
    return outcome.etag;
  };
  if (work.tenant.quota === undefined && work.saver === undefined) {
    await untilStaysAs(work, path, version);
    return replace();
  }
  // The version to be replaced: one request, unless this process has read or written it.
  const held = sizedOf(recallStaying(work, path));
  const current = held?.etag === version ? held : await look(work, path);
  if (current?.etag !== version) throw replacedMeanwhile(work, key);
  return withinLimits(work, { key, replaced: current.size, size: content.length }, () => replace(current));
}

function replacedMeanwhile({ tenant }: Work, key: ObjectKey): MemoryError {
  tenant.cache.drop(key);
  return new MemoryError(
    'version_conflict',
    'The file is no longer the version that was named: read it again.',
    { retry: 'never' },
  );
}

/** Looks at the current version: reads it where the history is to save it, otherwise one HEAD. */
function look(work: Work, path: MemoryPath): Promise<SizedVersion | undefined> {
  return work.saver?.readToSave(work, path) ?? headSized(work, path);
}

/** Answers the version that is to be saved; without history a write names none that it replaces. */
function toSave({ saver }: Work, current: SizedVersion | undefined): SizedVersion['version'] {
  return saver && current?.version;
}

/** A text that was judged, and the condition under which it is written. */
interface NewText {
  readonly content: Uint8Array;
  readonly mode: ConditionalWrite['mode'];
  /** The version that it replaces, where that was read. */
  readonly replaced?: Omit<OpenedObject, 'origin' | 'drawnUnder'> | undefined;
  /** The calls that made the text; the one of the work unless given. */
  readonly onces?: readonly Once[] | undefined;
}

/**
 * Puts a text into a file. Where the tenant keeps history, this saves the replaced version first; when the write then
 * fails, it looks again at what it saved, even after the caller has cancelled. When both fail, the first error is
 * thrown.
 *
 * @throws MemoryError the errors of `textWrite` and `confirmedPut`.
 */
export async function putText(
  work: Work,
  path: MemoryPath,
  { content, mode, replaced, onces }: NewText,
): Promise<{ readonly version: Version; readonly outcome: ConfirmedPut }> {
  const lookAgain = async (): Promise<void> => {
    if (replaced !== undefined) await work.saver?.savedInVain(uncancelled(work), path, replaced);
  };
  const put = async () => {
    if (replaced !== undefined) await work.saver?.saveReplaced(work, path, replaced);
    const { version, write } = textWrite(work, path, content, { replaced, onces });
    return { version, outcome: await confirmedPut(work, { ...write, mode }) };
  };
  const written = await put().catch(async (error: unknown) => {
    await lookAgain().catch(() => {});
    throw error;
  });
  if ('conflict' in written.outcome) {
    work.tenant.cache.drop(fileKey(work.tenant.layout, work.keyring.names, path));
    await lookAgain();
  }
  return written;
}

/** Runs a write, with room for it where the tenant is limited. */
function withinLimits<T>(
  work: Work,
  file: Parameters<Quota['within']>[1],
  write: () => Promise<T>,
): Promise<T> {
  return work.tenant.quota?.within(work, file, write) ?? write();
}

/**
 * Makes a version of a text that was judged, and the write of it to `path`: every attempt seals that one version.
 *
 * @param replaced the version whose text it replaces, where that was read.
 * @param onces the calls that made the text; the one of the work unless given.
 * @throws MemoryError `limit_exceeded`.
 */
export function textWrite(
  work: Work,
  path: MemoryPath,
  content: Uint8Array,
  {
    replaced,
    onces,
  }: {
    readonly replaced?: Pick<OpenedObject, 'id' | 'bound'> | undefined;
    readonly onces?: readonly Once[] | undefined;
  } = {},
): { readonly version: Version; readonly write: Omit<ConditionalWrite, 'mode'> } {
  const { tenant, keyring } = work;
  const { maxFileBytes, random } = tenant;
  // History could not keep a longer text when it is replaced.
  const most = work.saver === undefined ? maxFileBytes : Math.min(maxFileBytes, MOST_KEPT_BYTES);
  refuseTooLarge({ maxFileBytes: most }, content);
  const version = newVersion({
    mtime: tenant.stamps.now(),
    previous: replaced?.id,
    writer: work.saver?.writerOf(work),
    random: () => drawId(work, { onces, replaced: replaced?.id }),
  });
  const name = logicalName(path);
  return {
    version,
    write: {
      key: fileKey(tenant.layout, keyring.names, path),
      seal: (stamp) => seal({ ...stamp, keys: keyring.keys, name, version, content, random }),
      after: replaced?.bound,
    },
  };
}

async function refuseClash(work: Work, written: Written): Promise<void> {
  const clash = await orTakeBack(work, written, () => findClash(work, written.path));
  if (clash === undefined) return;
  const undone = await takePutBack(work, written);
  if (undone === 'built_on') return;
  // Another process may have renamed the file, and its content then stays at another place.
  throw undone === 'gone' ? notTakenBack(undefined) : clashError(clash);
}
