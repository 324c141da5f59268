import { MemoryError } from '../errors.ts';
import { type OpenedObject, seal } from '../format/object.ts';
import { fileKey, logicalName, type ObjectKey } from '../format/object-keys.ts';
import { MOST_KEPT_BYTES } from '../format/sizes.ts';
import { newVersion, type Version } from '../format/version.ts';
import { type MemoryPath, refuseTooDeep } from '../language/path.ts';
import type { ETag } from '../store/port.ts';
import { refuseTooLarge } from './admission/admission.ts';
import { untilSettled } from './concurrency.ts';
import { type ConditionalWrite, type ConfirmedPut, confirmedPut } from './confirmed-put.ts';
import { clashError, findClash } from './settled/clashes.ts';
import { headSized, keepWritten, recallSettled, sizedOf, untilSettledAs } from './settled/settled.ts';
import { notTakenBack, orTakeBack, undoPut, type Written } from './settled/take-back.ts';
import { type Quota, type SizedVersion, uncancelled, type Work } from './tenant.ts';

/**
 * Creates the file, atomically: of racing creators exactly one succeeds. One PUT, then as many checks at once
 * as the path is deep.
 *
 * @throws MemoryError `already_exists` when a file is there, or above the path (`reason: 'below_file'`);
 * `is_directory` when a directory is there; `limit_exceeded`.
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
 * Creates the file or replaces what is there, always conditionally, so that no write passes another unseen.
 *
 * @throws MemoryError `invalid_path` for a new file with too many segments; what `createFile` throws.
 */
export async function overwriteFile(work: Work, path: MemoryPath, content: Uint8Array): Promise<ETag> {
  const key = fileKey(work.tenant.layout, work.keyring.names, path);
  let held = sizedOf(recallSettled(work, path));
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
  await untilSettled(work, async () => {
    const current = held ?? (await look(work, path));
    held = undefined;
    const file = { key, replaced: current?.size, size: content.length };
    return withinLimits(work, file, () => attempt(current));
  });
  if (written === undefined) throw new MemoryError('unavailable', 'a write ended without an outcome');
  return written;
}

/**
 * Replaces exactly that version of the file. One PUT; a HEAD and a look for clashes more where it may be taken back.
 *
 * @throws MemoryError `version_conflict` when it is not there.
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
    await untilSettledAs(work, path, version);
    return replace();
  }
  // What is replaced; a request where it was neither read nor written here.
  const held = sizedOf(recallSettled(work, path));
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

/** What lies there now: read where it is to be saved, otherwise a HEAD. */
function look(work: Work, path: MemoryPath): Promise<SizedVersion | undefined> {
  return work.saver?.readToSave(work, path) ?? headSized(work, path);
}

/** Answers the version that is to be saved; without history a write names none that it replaces. */
function toSave({ saver }: Work, current: SizedVersion | undefined): SizedVersion['version'] {
  return saver && current?.version;
}

/** A text that was judged, and what it takes the place of. */
interface NewText {
  readonly content: Uint8Array;
  readonly mode: ConditionalWrite['mode'];
  /** The version that it replaces, where that was read. */
  readonly replaced?: Omit<OpenedObject, 'origin' | 'drawnUnder'> | undefined;
}

/**
 * Puts a text into a file. Where the tenant keeps history, it saves first what is replaced, and where the write then comes to
 * nothing, it looks again at what was saved, though the caller has cancelled. Of two failures the first is told.
 *
 * @throws MemoryError what `textWrite` and `confirmedPut` throw.
 */
export async function putText(
  work: Work,
  path: MemoryPath,
  { content, mode, replaced }: NewText,
): Promise<{ readonly version: Version; readonly outcome: ConfirmedPut }> {
  const lookAgain = async (): Promise<void> => {
    if (replaced !== undefined) await work.saver?.savedInVain(uncancelled(work), path, replaced);
  };
  const put = async () => {
    if (replaced !== undefined) await work.saver?.saveReplaced(work, path, replaced);
    const { version, write } = textWrite(work, path, content, replaced);
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
 * Makes a text that was judged a version, and the write of it to `path`: every attempt seals that one version.
 *
 * @param replaced the version whose text it replaces, where that was read.
 * @throws MemoryError `limit_exceeded`.
 */
export function textWrite(
  work: Work,
  path: MemoryPath,
  content: Uint8Array,
  replaced?: Pick<OpenedObject, 'id' | 'bound'>,
): { readonly version: Version; readonly write: Omit<ConditionalWrite, 'mode'> } {
  const { tenant, keyring } = work;
  const { maxFileBytes, random } = tenant;
  // What is longer could not be kept when it is replaced.
  const most = work.saver === undefined ? maxFileBytes : Math.min(maxFileBytes, MOST_KEPT_BYTES);
  refuseTooLarge({ maxFileBytes: most }, content);
  const version = newVersion({
    mtime: tenant.stamps.now(),
    previous: replaced?.id,
    writer: work.saver?.writerOf(work),
    random,
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
  const undone = await undoPut(work, written);
  if (undone === 'built_on') return;
  // Another process may have renamed it, and the content stays at another place.
  throw undone === 'gone' ? notTakenBack(undefined) : clashError(clash);
}
