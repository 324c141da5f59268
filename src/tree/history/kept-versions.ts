import { hasCode, MemoryError } from '../../errors.ts';
import { toBase64url } from '../../format/encoding.ts';
import {
  classKey,
  classLogicalName,
  type LogicalName,
  logicalName,
  parseClassKey,
  parseFileKey,
} from '../../format/object-keys.ts';
import { sealedSize } from '../../format/sizes.ts';
import type { MemoryPath } from '../../language/path.ts';
import type { KeptVersion, ObjectVersions } from '../../store/port.ts';
import { eachConcurrently } from '../concurrency.ts';
import { openStored } from '../read-file.ts';
import type { Work } from '../session.ts';
import { decodeHistoryRecord, type VersionFacts } from './history-record.ts';
import { holdsRedacted, type Redacted } from './same-text.ts';

/** What a record of the history says beside the text takes up to so many bytes. */
const FACTS_BYTES = 65_536;
const ID_CHARACTERS = 8;

/**
 * Removes what a bucket keeps beside the current objects of the tenant and that holds a text which was redacted: records,
 * and files wherever they lay. What lies at a place of the file, has the size and cannot be opened any more goes as well.
 * `ids` are those of its records, `own` those of the version itself: what is kept of them goes last, for it tells the text to
 * a run that goes on. Returns how many versions went; undefined where the server knows no versions.
 *
 * @throws MemoryError `access_denied` where versions may not be listed, read or removed.
 */
export async function removeKeptVersions(
  work: Work,
  versions: ObjectVersions,
  given: Redacted & { readonly ids: ReadonlySet<string>; readonly own: ReadonlySet<string> },
): Promise<number | undefined> {
  const { layout } = work.session;
  const { signal } = work.call;
  const last = new Map<string, KeptVersion>();
  let removed = 0;
  const remove = async ({ key, versionId }: KeptVersion): Promise<void> => {
    await versions.remove(key, versionId, { signal });
    removed += 1;
  };
  try {
    const redacted = { ...given, text: given.text ?? (await findText(work, versions, given.own)) };
    const removeOne = async (kept: KeptVersion): Promise<void> => {
      if (!(await holdsText(work, { versions, kept, redacted }))) return;
      const parsed = parseClassKey(layout, kept.key);
      if (parsed?.cls === 'history' && given.own.has(parsed.id))
        last.set(`${kept.key} ${kept.versionId}`, kept);
      else await remove(kept);
    };
    // Until a whole listing shows none: pages shift while their versions go.
    for (let before = -1; removed !== before; ) {
      before = removed;
      for (const place of [layout.data, `${layout.tenantPrefix}history/`]) {
        for await (const page of versions.below(place, { signal })) {
          const older = page.filter(({ isCurrent, size }) => !isCurrent && size !== undefined);
          await eachConcurrently(work.session, older, removeOne, ({ size = 0 }) => size);
        }
      }
    }
    await eachConcurrently(work.session, [...last.values()], remove);
  } catch (error) {
    // A server that knows no versions.
    if (hasCode(error, 'misconfigured')) return undefined;
    if (!hasCode(error, 'access_denied')) throw error;
    throw new MemoryError(
      'access_denied',
      'the text is out of the history, but older versions that the bucket keeps may not be listed, read or removed: allow that (s3:ListBucketVersions, s3:GetObjectVersion, s3:DeleteObjectVersion; an object lock must have run out) and run this again',
      { cause: error },
    );
  }
  return removed;
}

/** The text that was in these records, where a bucket keeps one of them as it was. */
async function findText(
  work: Work,
  versions: ObjectVersions,
  ids: ReadonlySet<string>,
): Promise<Uint8Array | undefined> {
  for (const id of ids) {
    const key = classKey(work.session.layout, 'history', id);
    for await (const page of versions.below(key, { signal: work.call.signal })) {
      for (const kept of page) {
        if (kept.isCurrent || kept.size === undefined) continue;
        const opened = await openKept(work, { versions, kept }, classLogicalName('history', id));
        const record = opened && decodeHistoryRecord(opened.content);
        if (record?.kind === 'replaced') return record.text;
      }
    }
  }
  return undefined;
}

interface Look {
  readonly versions: ObjectVersions;
  readonly kept: KeptVersion;
  readonly redacted: Redacted & { readonly ids: ReadonlySet<string> };
}

async function holdsText(work: Work, look: Look): Promise<boolean> {
  const { key } = look.kept;
  const parsed = parseClassKey(work.session.layout, key);
  if (parsed?.cls === 'history') return recordHoldsText(work, look, parsed.id);
  const path = parseFileKey(work.session.layout, work.keyring.names, key);
  return path !== undefined && fileHoldsText(work, look, path);
}

async function recordHoldsText(work: Work, look: Look, id: string): Promise<boolean> {
  const { kept, redacted } = look;
  if (redacted.ids.has(id)) return true;
  if (!redacted.gone.some(({ size }) => isAbout(kept.size, size))) return false;
  const opened = await openKept(work, look, classLogicalName('history', id));
  if (opened === undefined) return redacted.gone.some((version) => isIdOf(id, version));
  const record = decodeHistoryRecord(opened.content);
  return record?.kind === 'replaced' && holdsRedacted(redacted, record.version, record.text);
}

/** The end of an id is the beginning of the version's own. */
function isIdOf(id: string, { contentId }: VersionFacts): boolean {
  return toBase64url(contentId).startsWith(id.slice(id.length - ID_CHARACTERS));
}

function isAbout(stored: number | undefined, size: number): boolean {
  return stored !== undefined && stored >= sealedSize(size) && stored <= sealedSize(size + FACTS_BYTES);
}

async function fileHoldsText(work: Work, look: Look, path: MemoryPath): Promise<boolean> {
  const { kept, redacted } = look;
  if (!redacted.gone.some(({ size }) => sealedSize(size) === kept.size)) return false;
  const opened = await openKept(work, look, logicalName(path));
  if (opened === undefined) return redacted.paths.has(path);
  return holdsRedacted(redacted, { ...opened, path, size: opened.content.length }, opened.content);
}

/** Undefined: no key opens it any more, or it is gone. */
async function openKept(work: Work, { versions, kept }: Pick<Look, 'versions' | 'kept'>, name: LogicalName) {
  const body = await versions.get(kept.key, kept.versionId, { signal: work.call.signal });
  if (body === undefined) return undefined;
  try {
    return await openStored(work, name, { body });
  } catch (error) {
    if (!hasCode(error, 'integrity')) throw error;
    return undefined;
  }
}
