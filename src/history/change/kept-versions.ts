import { type ErrorDetails, hasCode, MemoryError } from '../../errors.ts';
import { sameBytes, toBase64url } from '../../format/encoding.ts';
import {
  classKey,
  classLogicalName,
  type LogicalName,
  logicalName,
  type ObjectKey,
  parseClassKey,
  parseFileKey,
} from '../../format/object-keys.ts';
import { FACTS_BYTES, sealedSize } from '../../format/sizes.ts';
import type { MemoryPath } from '../../language/path.ts';
import type { KeptVersion, ObjectVersions } from '../../store/port.ts';
import { type RemovalRequest, removalFailure, removeVersions } from '../../store/remove-versions.ts';
import { eachConcurrently } from '../../tree/concurrency.ts';
import { openStored } from '../../tree/read-file.ts';
import type { Work } from '../../tree/tenant.ts';
import type { VersionId } from '../past/past.ts';
import { decodeHistoryRecord, isRecordOf, type WrapFacts } from '../save/history-record.ts';

/** A text that is being taken out, and the known places of it. */
export interface Sought {
  /** The version that the caller named. */
  readonly id: VersionId;
  /** Bytes of its text. */
  readonly size: number;
  /** The text; undefined where an earlier run has taken it out, until a copy of it is found. */
  readonly text: Uint8Array | undefined;
  /** The paths at which the file lay. */
  readonly paths: ReadonlySet<MemoryPath>;
  /** The versions of the file. */
  readonly versions: ReadonlySet<VersionId>;
  /** The versions of the file that have the text, each with a path at which it lay. */
  readonly gone: ReadonlyMap<VersionId, MemoryPath>;
  /** The ids of the records of the versions in `gone`. */
  readonly records: ReadonlySet<string>;
}

/**
 * Judges a version: `by_id`, it is in `gone`; `by_text`, another version of the file with the same text; `elsewhere`,
 * one with the same text that nothing joins to the file. After a rename that is yet to be written down the file lies at
 * an unknown path: there its predecessor joins it to the file.
 */
export function judgeText(
  { gone, paths, versions, text }: Sought,
  { id, path, previous }: Pick<WrapFacts, 'id' | 'path' | 'previous'>,
  content: Uint8Array,
): 'by_id' | 'by_text' | 'elsewhere' | 'other' {
  if (gone.has(toBase64url(id))) return 'by_id';
  if (text === undefined || text.length === 0 || !sameBytes(text, content)) return 'other';
  return paths.has(path) || versions.has(toBase64url(previous)) ? 'by_text' : 'elsewhere';
}

/** Tells by the size of a record in the store whether it may hold a text of `size` bytes. */
export function mayHoldText(stored: number, size: number): boolean {
  return stored >= sealedSize(size) && stored <= sealedSize(size + FACTS_BYTES);
}

/**
 * Removes those versions that a bucket keeps of records and files of the tenant and that hold a redacted text. A
 * version of the right size at a path of the file goes as well if no key opens it any longer. The versions of the named
 * version's own records go last: until then they tell the text to a later run. Returns how many versions went;
 * undefined where the server knows no versions.
 *
 * @throws MemoryError with `reason: 'versions_left'` where versions stay or could not be read: all others are gone,
 * except the own records while a later run needs their text. `details` counts what stays, `paths` and `counts` by the
 * paths of files.
 */
export async function removeKeptVersions(
  work: Work,
  versions: ObjectVersions,
  given: Sought,
): Promise<number | undefined> {
  const { layout } = work.tenant;
  const own = [...given.records].filter((id) => isRecordOf(id, given.id));
  const keyOf = (id: string): ObjectKey => classKey(layout, 'history', id);
  let { text } = given;
  // A bucket may keep what an earlier run has taken out.
  const search: RemovalRequest['judge'] = async (kept) => {
    const id = own.find((each) => keyOf(each) === kept.key);
    if (id === undefined || text !== undefined) return 'keep';
    const opened = await openKept(work, { versions, kept }, classLogicalName('history', id));
    const record = typeof opened === 'object' ? decodeHistoryRecord(opened.content) : undefined;
    if (record?.kind === 'replaced') text = record.text;
    return 'keep';
  };
  const searched = text === undefined ? own.map(keyOf) : [];
  const found = await removeFrom(work, { versions, places: searched, judge: search });
  if (found === 'no_versions') return undefined;
  const failures = text === undefined ? [...found.unlisted, ...found.left.map(({ error }) => error)] : [];
  const sought = { ...given, text };
  const looks = new Map<string, VersionFinding>();
  const last = new Set<string>();
  const judge: RemovalRequest['judge'] = async (kept) => {
    const look = await lookAt(work, { versions, kept, sought });
    looks.set(nameOf(kept), look);
    if (look.holds === 'gone') return 'gone';
    if (look.holds === 'no') return 'keep';
    const parsed = parseClassKey(layout, kept.key);
    if (parsed?.cls !== 'history' || !own.includes(parsed.id)) return 'remove';
    last.add(nameOf(kept));
    return 'later';
  };
  const places = [layout.data, `${layout.tenantPrefix}history/`];
  const others = await removeFrom(work, { versions, places, judge });
  if (others === 'no_versions') return undefined;

  const unlisted = [...failures, ...others.unlisted];
  const isTextNeeded =
    unlisted.length > 0 || others.left.some(({ kept }) => looks.get(nameOf(kept))?.holds !== 'by_id');
  const judgeOwn: RemovalRequest['judge'] = async (kept) => {
    if (!last.has(nameOf(kept))) return 'keep';
    if (isTextNeeded) throw neededToGoOn();
    return 'remove';
  };
  const ownPlaces = last.size === 0 ? [] : own.map(keyOf);
  const ownOnes = await removeFrom(work, { versions, places: ownPlaces, judge: judgeOwn });
  if (ownOnes === 'no_versions') return undefined;

  const left = [...others.left, ...ownOnes.left];
  const removed = others.removed + ownOnes.removed;
  const removal = { removed, left, unlisted: [...unlisted, ...ownOnes.unlisted] };
  const failure = removalFailure(removal, {
    done: 'the text is out of the history',
    of: 'files and records',
    actions: 's3:ListBucketVersions, s3:GetObjectVersion, s3:DeleteObjectVersion',
    details: countsByPath(left.map(({ kept }) => looks.get(nameOf(kept))?.path ?? pathOf(work, kept.key))),
  });
  if (failure !== undefined) throw failure;
  return removed;
}

function removeFrom(
  work: Work,
  request: Pick<RemovalRequest, 'versions' | 'judge'> & { readonly places: readonly string[] },
): ReturnType<typeof removeVersions> {
  const { versions, judge, places } = request;
  const { signal } = work.call;
  return removeVersions({
    versions,
    judge,
    signal,
    listings: places.map((place) => () => versions.below(place, { signal })),
    each: (page, removeOne) => {
      const texts = page.filter(({ size }) => size !== undefined);
      return eachConcurrently(work.tenant, texts, removeOne, ({ size = 0 }) => size);
    },
  });
}

/** Makes a name for one version among all of the bucket. */
function nameOf({ key, versionId }: KeptVersion): string {
  return `${key} ${versionId}`;
}

function neededToGoOn(): MemoryError {
  return new MemoryError('access_denied', 'A record stays, because only its text tells what else is to go.');
}

function pathOf({ tenant, keyring }: Work, key: ObjectKey): MemoryPath | undefined {
  return parseFileKey(tenant.layout, keyring.names, key);
}

/** Counts the versions that stay by path; versions whose path is unknown are left out. */
function countsByPath(found: readonly (MemoryPath | undefined)[]): ErrorDetails {
  const counts = new Map<MemoryPath, number>();
  for (const path of found) if (path !== undefined) counts.set(path, (counts.get(path) ?? 0) + 1);
  const paths = [...counts.keys()].sort();
  return { paths, counts: paths.map((path) => counts.get(path) ?? 0) };
}

interface LookRequest {
  readonly versions: ObjectVersions;
  readonly kept: KeptVersion;
  readonly sought: Sought;
}

/** The finding about one version. */
interface VersionFinding {
  /**
   * `by_id`: the redacted text, which a later run recognises without having the text; `by_text`: only a comparison of
   * texts shows it; `no`: another text; `gone`: the version is gone.
   */
  readonly holds: 'by_id' | 'by_text' | 'no' | 'gone';
  /** The path of its file; undefined where it cannot be told. */
  readonly path?: MemoryPath | undefined;
}

async function lookAt(work: Work, look: LookRequest): Promise<VersionFinding> {
  const { key } = look.kept;
  const parsed = parseClassKey(work.tenant.layout, key);
  if (parsed?.cls === 'history') return lookAtRecord(work, look, parsed.id);
  const path = pathOf(work, key);
  return path === undefined ? { holds: 'no' } : lookAtFile(work, look, path);
}

async function lookAtRecord(work: Work, look: LookRequest, id: string): Promise<VersionFinding> {
  const { kept, sought } = look;
  const [, path] = [...sought.gone].find(([version]) => isRecordOf(id, version)) ?? [];
  if (sought.records.has(id)) return { holds: 'by_id', path };
  if (!mayHoldText(kept.size ?? 0, sought.size)) return { holds: 'no' };
  const opened = await openKept(work, look, classLogicalName('history', id));
  if (opened === 'gone') return { holds: 'gone' };
  if (opened === 'unopened') return { holds: path === undefined ? 'no' : 'by_id', path };
  const record = decodeHistoryRecord(opened.content);
  return record?.kind === 'replaced' ? lookAtText(sought, record.version, record.text) : { holds: 'no' };
}

async function lookAtFile(work: Work, look: LookRequest, path: MemoryPath): Promise<VersionFinding> {
  const { kept, sought } = look;
  if (sealedSize(sought.size) !== kept.size) return { holds: 'no' };
  const opened = await openKept(work, look, logicalName(path));
  if (opened === 'gone') return { holds: 'gone' };
  if (opened === 'unopened') return { holds: sought.paths.has(path) ? 'by_id' : 'no', path };
  return lookAtText(sought, { ...opened, path }, opened.content);
}

function lookAtText(
  sought: Sought,
  version: Parameters<typeof judgeText>[1],
  content: Uint8Array,
): VersionFinding {
  const verdict = judgeText(sought, version, content);
  return { holds: verdict === 'by_id' || verdict === 'by_text' ? verdict : 'no', path: version.path };
}

/** Reads and opens a version of a bucket. `unopened`: none of the keys opens it. */
async function openKept(
  work: Work,
  { versions, kept }: Pick<LookRequest, 'versions' | 'kept'>,
  name: LogicalName,
) {
  const body = await versions.get(kept.key, kept.versionId, { signal: work.call.signal });
  if (body === undefined) return 'gone';
  if (body.length !== kept.size) throw otherBytes();
  try {
    return await openStored(work, name, { body });
  } catch (error) {
    if (!hasCode(error, 'integrity')) throw error;
    return 'unopened';
  }
}

/**
 * Makes the error for an answer of something else, such as a proxy with a page of its own: it must not pass for an
 * unopened version.
 */
function otherBytes(): MemoryError {
  return new MemoryError(
    'misconfigured',
    'The object store answers with other bytes than the version has: check what lies before it.',
  );
}
