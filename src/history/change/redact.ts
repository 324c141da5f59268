import { hasReason, isDamaged, MemoryError } from '../../errors.ts';
import { sameBytes, toBase64url } from '../../format/encoding.ts';
import { fileKey, logicalName } from '../../format/object-keys.ts';
import { MAX_CONTENT_BYTES, sealedSize } from '../../format/sizes.ts';
import { NO_ID } from '../../format/wrap.ts';
import { MEMORY_ROOT, type MemoryPath, rebase } from '../../language/path.ts';
import { ageOf, type ETag, type ObjectVersions } from '../../store/port.ts';
import { eachConcurrently, throwing } from '../../tree/concurrency.ts';
import { type ListedEntry, listDirectory } from '../../tree/list-directory.ts';
import { readSealed, type SealedVersion, STAYS_AFTER_MS } from '../../tree/read-file.ts';
import { type ListedId, listIds } from '../../tree/records/list-ids.ts';
import { type RecordName, readRecord, type StoredRecord } from '../../tree/records/sealed-record.ts';
import { rewriteRecord } from '../../tree/records/update-record.ts';
import type { Work } from '../../tree/tenant.ts';
import type { Redaction } from '../past/entries.ts';
import type { Past, VersionId } from '../past/past.ts';
import { readMeantPast } from '../past/read.ts';
import { isRedactedElsewhere } from '../past/read-version.ts';
import { malformedRecord } from '../past/records.ts';
import { chosen } from '../past/version-name.ts';
import { nameActor, noted } from '../save/actors.ts';
import {
  decodeHistoryRecord,
  encodeHistoryRecord,
  type HistoryRecord,
  historyHash,
  isRecordOf,
  pathHashOfRecord,
  WHOLE_TREE,
} from '../save/history-record.ts';
import { judgeText, mayHoldText, removeKeptVersions, type Sought } from './kept-versions.ts';
import { byPath } from './plan.ts';

/*
 * Other processes write while a text is taken out, and each of them moves it: an overwrite or a delete from a file into
 * a record, a rename from file to file, a restore from a record into a file. A pass therefore looks at the files, then
 * the records, then the files again, and passes follow until one finds nothing new. The record of the named version
 * goes last: until then its text tells a later run what else must go. A process that read the text before that looks
 * for the record again once it has written the text (`write-back.ts`); a write before that look is found by one more
 * pass here.
 */

/** A text that is being taken out, and its known places so far, which grow while others write. */
interface Erasure extends Sought {
  text: Uint8Array | undefined;
  readonly path: MemoryPath;
  readonly paths: Set<MemoryPath>;
  readonly versions: Set<VersionId>;
  readonly gone: Map<VersionId, MemoryPath>;
  readonly records: Set<string>;
  /** The record of the named version that goes last; undefined until one is found that has the text. */
  last: Copy | 'gone' | undefined;
  /** The records that existed at the beginning; later ones are read whatever their path is. */
  readonly before: ReadonlySet<string>;
  /** The objects that were looked at and lack the text, by key or id; undefined stands for any ETag. */
  readonly seen: Map<string, ETag | undefined>;
  /**
   * True: some record has lost the text already; a process that writes the text back finds that, and takes its write
   * back.
   */
  isBegun: boolean;
  /** The number of records out of which the text was taken. */
  count: number;
  /**
   * The end of the wait for others, by the clock that is never set (milliseconds); undefined before the wait begins.
   */
  waitsUntil: number | undefined;
}

/** A record as it lies in the store. */
interface Copy {
  readonly id: string;
  readonly etag: ETag;
  readonly record: HistoryRecord;
}

type Moved = Extract<HistoryRecord, { kind: 'moved' }>;

/**
 * The findings of a pass. `new`: the text, or a sign that it moved. `unjoined`: the text where no record joins it to
 * the file yet. `held`: the text in a file out of which another process is about to take it back.
 */
type PassFindings = Set<'new' | 'unjoined' | 'held'>;

/** The most passes that may find something. */
const PASSES = 64;
/**
 * The time in which a process that wrote a redacted text has taken it back, and one that renamed or replaced a file has
 * written down the record that joins the new one to it; milliseconds.
 */
const WAITED_MS = 10_000;
const LOOK_AGAIN_MS = 500;

/**
 * Takes the text of a version out of the history: out of its record, out of those of other versions of the file with
 * the same text, and out of what a bucket with versioning keeps of them. The facts stay, with who did it and when.
 * Writes of other processes meanwhile are found as well. A caller repeats a run that was cut off; it continues.
 *
 * Costs as much as `list` of the path without the actors; a GET for the version, and for each file and each later
 * record of its size; a PUT for each record that has the text; four LISTs for each 1,000 files and three for each 1,000
 * records, and as many more as others move the text meanwhile. With versions one LIST more for each 1,000 of them, and
 * a GET for each that may hold the text.
 *
 * @throws MemoryError `not_found`; `invalid_command` (`reason: 'current'`) while files hold the text: `paths` and
 * `versions` name them; `access_denied` where the bucket's versions may not be removed: the record is redacted then,
 * and another run continues; `unavailable` where others move the text at every look; `integrity` where an older object
 * was put back.
 */
export async function redactVersion(
  work: Work,
  { path: given, beginning }: { readonly path: MemoryPath; readonly beginning: string },
  versions: ObjectVersions | undefined,
): Promise<Redaction> {
  const before = await idsNow(work);
  const { path, past } = await readMeantPast(work, given);
  const version = chosen(past, beginning);
  if (version.text === 'current') throw stillCurrent([version]);
  const erasure = newErasure({ ...version, before, text: undefined });
  learn(erasure, past);
  erasure.paths.add(path);
  if (version.record !== undefined)
    await lookAtRecord(work, erasure, { id: version.record, found: new Set() });
  if (version.text === 'kept' && erasure.text === undefined && !erasure.isBegun)
    throw new MemoryError('not_found', 'The version has expired meanwhile.');
  for (const each of past.versions.values()) {
    if (each.record === undefined) continue;
    const isAlike = each.size === version.size;
    // An earlier run that was cut off may have redacted these records, and left their versions in the bucket.
    if (each.text === 'redacted' && isAlike) addGone(erasure, each.record, each);
    const isOther = !isAlike || (version.textHash !== undefined && each.textHash !== version.textHash);
    if (each.text === 'kept' && isOther) erasure.seen.set(each.record, undefined);
  }
  const versionsRemoved = await erase(work, erasure, versions);
  return { path, version: version.id, records: erasure.count, versionsRemoved };
}

/** Redacts a version that was written a moment ago from a redacted text, and that has left its file since. */
export async function redactWritten(
  work: Work,
  written: Pick<Erasure, 'id' | 'path' | 'size' | 'text'>,
  versions: ObjectVersions | undefined,
): Promise<void> {
  const erasure = newErasure({ ...written, before: await idsNow(work) });
  erasure.isBegun = true;
  learn(erasure, (await readMeantPast(work, written.path)).past);
  await erase(work, erasure, versions);
}

/**
 * Lists the ids of all records. Callers ask before they read the past, so that records the past lacks are known as
 * later ones.
 */
async function idsNow(work: Work): Promise<ReadonlySet<string>> {
  return new Set((await listIds(work, 'history')).map(({ id }) => id));
}

function newErasure(named: Pick<Erasure, 'id' | 'path' | 'size' | 'text' | 'before'>): Erasure {
  const { id, path, size, text, before } = named;
  return {
    id,
    path,
    size,
    text,
    before,
    paths: new Set([path]),
    versions: new Set([id]),
    gone: new Map([[id, path]]),
    records: new Set(),
    last: undefined,
    seen: new Map(),
    isBegun: false,
    count: 0,
    waitsUntil: undefined,
  };
}

/** Adds the paths and the versions of the file that a past knows. */
function learn({ paths, versions }: Erasure, { versions: known, leaves }: Past): void {
  for (const { id, path } of known.values()) {
    versions.add(id);
    paths.add(path);
  }
  for (const { from, to } of leaves) for (const path of [from, to ?? from]) paths.add(path);
}

/** Takes the text out of records and of a bucket's versions, and answers how many versions went. */
async function erase(
  work: Work,
  erasure: Erasure,
  versions: ObjectVersions | undefined,
): Promise<number | undefined> {
  await takeOutAll(work, erasure);
  const { layout, cache } = work.tenant;
  for (const each of erasure.paths) cache.drop(fileKey(layout, work.keyring.names, each));
  return versions && removeKeptVersions(work, versions, erasure);
}

async function takeOutAll(work: Work, erasure: Erasure): Promise<void> {
  for (let pass = 1; pass <= PASSES; pass++) {
    const found: PassFindings = new Set();
    await lookAtFiles(work, erasure, found);
    await lookAtRecords(work, erasure, found);
    await lookAtFiles(work, erasure, found);
    if (found.has('unjoined') || found.has('held')) await waitForOthers(work, erasure);
    else erasure.waitsUntil = undefined;
    if (found.has('unjoined')) learn(erasure, (await readMeantPast(work, erasure.path)).past);
    if (found.size > 0) continue;
    const { last } = erasure;
    if (last === undefined || last === 'gone') return;
    erasure.last = 'gone';
    await redactFound(work, erasure, last);
  }
  throw new MemoryError(
    'unavailable',
    'Other processes moved the text at every look, and some of it may be left: redact the version again.',
  );
}

async function waitForOthers({ tenant: { monotonic, pause }, call }: Work, erasure: Erasure): Promise<void> {
  erasure.waitsUntil ??= monotonic() + WAITED_MS;
  await pause(LOOK_AGAIN_MS, call.signal);
}

/** Tells whether others have had their time: a text that is still unjoined to the file belongs to another file. */
function isOver({ tenant }: Work, { waitsUntil }: Erasure): boolean {
  return waitsUntil !== undefined && tenant.monotonic() >= waitsUntil;
}

/**
 * Looks at files of the size: a rename that was cut off may have left one where no record tells of it.
 *
 * @throws MemoryError `invalid_command` while one of them holds the text; once a record is redacted, where another
 * version holds it still after 10 s.
 */
async function lookAtFiles(work: Work, erasure: Erasure, found: PassFindings): Promise<void> {
  const { files } = await listDirectory(work, MEMORY_ROOT, { concurrent: true });
  const holding: Holding[] = [];
  const lookAtOne = async ({ path, key, size }: ListedEntry): Promise<void> => {
    const file = await unlessDamaged(
      readSealed(work, { key, name: logicalName(path), maxBytes: sealedSize(size) }),
    );
    if (file === 'damaged') return;
    if (file === undefined) {
      // A rename took the file elsewhere, or its text is in a record now.
      found.add('new');
      return;
    }
    const verdict = judgeText(erasure, { ...file, path }, file.content);
    if (verdict === 'by_id' || verdict === 'by_text') holding.push({ path, id: toBase64url(file.id) });
    else if (verdict === 'elsewhere' && mayBeJoined(file) && !isOver(work, erasure)) found.add('unjoined');
    else erasure.seen.set(key, file.stored.etag);
  };
  const alike = files.filter(({ key, etag, size }) => size === erasure.size && isNew(erasure, key, etag));
  await eachConcurrently(work.tenant, alike, lookAtOne, ({ size }) => size);
  if (holding.length === 0) return;
  // The version itself is in a file where a rename was cut off: no process takes that back.
  const isItself = holding.some(({ id }) => id === erasure.id);
  if (isItself || !erasure.isBegun || isOver(work, erasure)) throw stillCurrent(holding);
  found.add('held');
}

/**
 * Tells whether a record may soon join a file to the redacted one: the file was renamed a moment ago, or edited after a
 * rename.
 */
function mayBeJoined({ stored, origin, previous }: SealedVersion): boolean {
  const isCreated = sameBytes(origin, NO_ID) && sameBytes(previous, NO_ID);
  return !isCreated && ageOf(stored) <= STAYS_AFTER_MS;
}

function isNew({ seen }: Erasure, name: string, etag: ETag): boolean {
  return !seen.has(name) || (seen.get(name) ?? etag) !== etag;
}

/** Looks at the records that may have the text, and at those of renames that were written since. */
async function lookAtRecords(work: Work, erasure: Erasure, found: PassFindings): Promise<void> {
  const listed = (await listIds(work, 'history')).filter(({ id, object }) => isNew(erasure, id, object.etag));
  const isSince = ({ id }: ListedId): boolean => !erasure.before.has(id);
  const lookAtOne = ({ id }: ListedId): Promise<void> => lookAtRecord(work, erasure, { id, found });
  const whole = historyHash(work, WHOLE_TREE);
  // The records go in their order: one rename goes on from where another went.
  for (const each of listed) if (each.id.startsWith(whole) && isSince(each)) await lookAtOne(each);
  const hashes = new Set([...erasure.paths].map((path) => historyHash(work, path)));
  const mayHold = (each: ListedId): boolean =>
    (isSince(each) || hashes.has(pathHashOfRecord(each.id))) && mayHoldText(each.object.size, erasure.size);
  const asked = listed.filter(
    (each) => !each.id.startsWith(whole) && (isRecordOf(each.id, erasure.id) || mayHold(each)),
  );
  await eachConcurrently(work.tenant, asked, lookAtOne, ({ object }) => object.size);
}

/** Takes the text out of a record that has it, unless it is the record that goes last. */
async function lookAtRecord(
  work: Work,
  erasure: Erasure,
  { id, found }: { readonly id: string; readonly found: PassFindings },
): Promise<void> {
  // A damaged record of another version is passed over; one that may be this version's ends the run.
  const reading = readCopy(work, id);
  const copy = await (isRecordOf(id, erasure.id) ? reading : unlessDamaged(reading));
  if (copy === undefined || copy === 'damaged') return;
  const { etag, record } = copy;
  erasure.seen.set(id, etag);
  if (record.kind === 'moved') followMove(erasure, record, found);
  if (record.kind === 'moved' || record.kind === 'deleted') return;
  const version = { id: toBase64url(record.version.id), path: record.version.path };
  const isNamed = version.id === erasure.id;
  if (record.kind === 'redacted') {
    if (!isNamed) return;
    addGone(erasure, id, version);
    erasure.isBegun = true;
    return;
  }
  const verdict = judgeText(erasure, record.version, record.text);
  if (verdict === 'elsewhere' && !isOver(work, erasure)) {
    erasure.seen.delete(id);
    found.add('unjoined');
  }
  if (verdict === 'elsewhere' || verdict === 'other') return;
  found.add('new');
  addGone(erasure, id, version);
  if (!isNamed || erasure.last !== undefined) return redactFound(work, erasure, copy);
  erasure.last = copy;
  if (erasure.text !== undefined) return;
  erasure.text = record.text;
  // Until now the texts could be known by their ids alone: all are looked at again.
  erasure.seen.clear();
  erasure.seen.set(id, etag);
}

/** Adds the path to which a rename since the past was read has brought the file. */
function followMove({ paths }: Erasure, { from, to, files }: Moved, found: PassFindings): void {
  for (const [path] of files) {
    const next = rebase(path, from, to);
    if (!paths.has(path) || paths.has(next)) continue;
    paths.add(next);
    found.add('new');
  }
}

/** Passes over damage, which a verification names. An older object that was put back meanwhile still ends the run. */
async function unlessDamaged<T>(reading: Promise<T>): Promise<T | 'damaged'> {
  try {
    return await reading;
  } catch (error) {
    if (isDamaged(error) && !hasReason(error, 'put_back')) return 'damaged';
    throw error;
  }
}

function addGone(
  { gone, records, versions, paths }: Erasure,
  record: string,
  { id, path }: { readonly id: VersionId; readonly path: MemoryPath },
): void {
  gone.set(id, path);
  versions.add(id);
  paths.add(path);
  records.add(record);
}

async function redactFound(work: Work, erasure: Erasure, copy: Copy): Promise<void> {
  const etag = await redactCopy(work, copy);
  if (etag === undefined) return;
  erasure.seen.set(copy.id, etag);
  erasure.count++;
  erasure.isBegun = true;
}

/** Reads a record of the history; undefined where it has expired. */
async function readCopy(work: Work, id: string): Promise<Copy | undefined> {
  const stored = await readRecord(work, nameOf(id));
  return stored && { id, etag: stored.etag, record: recordIn(stored) };
}

function nameOf(id: string): RecordName {
  return { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES };
}

function recordIn({ content }: Pick<StoredRecord, 'content'>): HistoryRecord {
  const record = decodeHistoryRecord(content);
  if (record === undefined) throw malformedRecord();
  return record;
}

/**
 * Takes the text out of a record that was written in vain, where another record says that the version was redacted
 * before: any record, or one whose id has the `beginning`.
 */
export async function redactSavedInVain(
  work: Work,
  {
    record,
    version,
    beginning,
  }: {
    readonly record: string;
    readonly version: Uint8Array;
    readonly beginning: string | undefined;
  },
): Promise<void> {
  if (!(await isRedactedElsewhere(work, toBase64url(version), { beginning, but: record }))) return;
  const copy = await readCopy(work, record);
  if (copy !== undefined) await redactCopy(work, copy);
}

/** Takes the text out of a record. Undefined: the record has expired, or another process was first. */
async function redactCopy(work: Work, copy: Copy): Promise<ETag | undefined> {
  await nameActor(work, 'delete');
  const redacted = ({ record }: Pick<Copy, 'record'>): { readonly content: Uint8Array } | undefined => {
    if (record.kind !== 'replaced') return undefined;
    return { content: encodeHistoryRecord({ kind: 'redacted', ...noted(work), version: record.version }) };
  };
  const known = redacted(copy);
  if (known === undefined) return undefined;
  const { id, etag } = copy;
  return rewriteRecord(
    work,
    nameOf(id),
    { ...known, base: etag },
    (found) => found && redacted({ record: recordIn(found) }),
    throwing('unavailable', 'Another process wrote a record of the history at every attempt.'),
  );
}

/** A file that holds the text, and as which version. */
interface Holding {
  readonly path: MemoryPath;
  readonly id: VersionId;
}

function stillCurrent(holding: readonly Holding[]): MemoryError {
  const named = [...holding].sort(byPath);
  const [paths, versions] = [named.map(({ path }) => path), named.map(({ id }) => id)];
  return new MemoryError(
    'invalid_command',
    'A file holds that text now, so it cannot be taken out of the history: edit or delete the file first, redact this version again, then the version of the file that is named. A file that a rename left at two places is made one by "verify --repair".',
    { details: { reason: 'current', paths, versions } },
  );
}
