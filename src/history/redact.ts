import { hasReason, isDamaged, MemoryError } from '../errors.ts';
import { sameBytes, toBase64url } from '../format/encoding.ts';
import { fileKey, logicalName } from '../format/object-keys.ts';
import { MAX_CONTENT_BYTES, sealedSize } from '../format/sizes.ts';
import { NO_ID } from '../format/wrap.ts';
import { MEMORY_ROOT, type MemoryPath, rebase } from '../language/path.ts';
import { ageOf, type ETag, type ObjectVersions } from '../store/port.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { type ListedEntry, listDirectory } from '../tree/list-directory.ts';
import { type ListedId, listIds } from '../tree/list-ids.ts';
import { readSealed, SETTLED_MS, type SealedVersion } from '../tree/read-file.ts';
import { readRecord, writeRecord } from '../tree/sealed-record.ts';
import type { Work } from '../tree/session.ts';
import { nameActor, noted } from './actors.ts';
import type { Redaction } from './entries.ts';
import {
  decodeHistoryRecord,
  encodeHistoryRecord,
  type HistoryRecord,
  historyHash,
  isRecordOf,
  pathHashOfRecord,
  WHOLE_TREE,
} from './history-record.ts';
import { judgeText, mayHoldText, removeKeptVersions, type Sought } from './kept-versions.ts';
import type { Past, VersionId } from './past/past.ts';
import { readMeantPast } from './past/read.ts';
import { malformedRecord } from './past/records.ts';
import { byPath } from './plan.ts';
import { isRedactedElsewhere } from './read-version.ts';
import { chosen } from './version-name.ts';

/*
 * Others write while a text is taken out, and each of them moves it: an overwrite or a delete from a file into a record, a
 * rename from file to file, a restore from a record into a file. So the files are looked at, then the records, then the files
 * again, until such a pass finds nothing that is new. The record that was named goes last of all: until then its text tells a
 * run that goes on what else is to go. Whoever read the text before that looks for the record again when it has written the
 * text (`write-back.ts`); what it wrote before that look is found by one more pass here.
 */

/** A text that is taken out, and what is known of it so far. All of it grows while others write. */
interface Erasure extends Sought {
  text: Uint8Array | undefined;
  readonly path: MemoryPath;
  readonly paths: Set<MemoryPath>;
  readonly versions: Set<VersionId>;
  readonly gone: Map<VersionId, MemoryPath>;
  readonly records: Set<string>;
  /** The record of the named version that goes last; undefined until one is found that has the text. */
  last: Copy | 'gone' | undefined;
  /** Records that were there before; those written since are read whatever path they are of. */
  readonly before: ReadonlySet<string>;
  /** What was looked at and does not have the text, by key or id; undefined stands for any ETag. */
  readonly seen: Map<string, ETag | undefined>;
  /** Whether the text is out of a record already: whoever writes it back finds that, and takes it back. */
  isBegun: boolean;
  /** Records out of which the text was taken. */
  count: number;
  /** Until when others are waited for, by the session's clock; undefined while nobody is. */
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
 * What a pass has found. `unjoined`: the text where nothing joins it to the file yet. `held`: the text in a file out of which
 * somebody is about to take it back.
 */
type Found = Set<'new' | 'unjoined' | 'held'>;

/** How many passes may find something. */
const PASSES = 64;
/**
 * Within that time whoever writes a redacted text back has taken it back, and whoever renames or replaces a file has written
 * down what joins the new one to it; milliseconds.
 */
const WAITED_MS = 10_000;
const LOOK_AGAIN_MS = 500;
/** How often a record that a migration or another redaction has written meanwhile is read again. */
const ROUNDS = 8;

/**
 * Takes the text of a version out of the history: out of its record, out of those of other versions of the file that have
 * the same text, and out of what a bucket with versioning keeps of them. The facts stay, with who did it and when. May be
 * repeated: a run that was cut off continues. What other processes write meanwhile is found as well.
 *
 * What `list` of the path costs without the actors; a GET for the version, and for each file and each later record of its
 * size; a PUT for each record that has the text; four LISTs for each 1,000 files and three for each 1,000 records, and as many
 * more as others move the text meanwhile. With versions one LIST more for each 1,000 of them, and a GET for each that may
 * hold the text.
 *
 * @throws MemoryError `not_found`; `invalid_command` (`reason: 'current'`) while files hold the text: `paths` and `versions`
 * name them; `access_denied` where the bucket's versions may not be removed: the record is redacted then, and another run
 * continues; `unavailable` where others move the text at every look; `integrity` where an older object was put back.
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
    // A run that was cut off may have redacted these, and left what a bucket kept of them.
    if (each.text === 'redacted' && isAlike) addGone(erasure, each.record, each);
    const isOther = !isAlike || (version.textHash !== undefined && each.textHash !== version.textHash);
    if (each.text === 'kept' && isOther) erasure.seen.set(each.record, undefined);
  }
  const versionsRemoved = await erase(work, erasure, versions);
  return { path, version: version.id, records: erasure.count, versionsRemoved };
}

/** The same of a version that was written a moment ago from a text that was redacted before, and that is in no file now. */
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

/** Is asked before the past is read, so that what the past does not know of shows. */
async function idsNow(work: Work): Promise<ReadonlySet<string>> {
  return new Set((await listIds(work, 'history')).map(({ id }) => id));
}

function newErasure(named: Pick<Erasure, 'id' | 'path' | 'size' | 'text' | 'before'>): Erasure {
  const { id, path, size, text, before } = named;
  return {
    ...{ id, path, size, text, before, isBegun: false, count: 0, last: undefined, waitsUntil: undefined },
    ...{ paths: new Set([path]), versions: new Set([id]), gone: new Map([[id, path]]) },
    ...{ records: new Set(), seen: new Map() },
  };
}

/** Takes up where the file lay and as which versions. */
function learn({ paths, versions }: Erasure, { versions: known, leaves }: Past): void {
  for (const { id, path } of known.values()) {
    versions.add(id);
    paths.add(path);
  }
  for (const { from, to } of leaves) for (const path of [from, to ?? from]) paths.add(path);
}

/** Takes the text out, and answers how many versions of a bucket went. */
async function erase(
  work: Work,
  erasure: Erasure,
  versions: ObjectVersions | undefined,
): Promise<number | undefined> {
  await takeOutAll(work, erasure);
  const { layout, cache } = work.session;
  for (const each of erasure.paths) cache.drop(fileKey(layout, work.keyring.names, each));
  return versions && removeKeptVersions(work, versions, erasure);
}

async function takeOutAll(work: Work, erasure: Erasure): Promise<void> {
  for (let pass = 1; pass <= PASSES; pass++) {
    const found: Found = new Set();
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

async function waitForOthers({ session: { clock, pause }, call }: Work, erasure: Erasure): Promise<void> {
  erasure.waitsUntil ??= clock() + WAITED_MS;
  await pause(LOOK_AGAIN_MS, call.signal);
}

/** Whether those that were waited for have had their time: what nothing joins to the file now is another one with the same text. */
function isOver({ session }: Work, { waitsUntil }: Erasure): boolean {
  return waitsUntil !== undefined && session.clock() >= waitsUntil;
}

/**
 * Looks at files of the size: a rename that was cut off may have left one where no record tells of it.
 *
 * @throws MemoryError `invalid_command` while one of them holds the text; once a record is redacted, where another version
 * holds it still after 10 s.
 */
async function lookAtFiles(work: Work, erasure: Erasure, found: Found): Promise<void> {
  const { files } = await listDirectory(work, MEMORY_ROOT, { concurrent: true });
  const holding: Holding[] = [];
  const lookAtOne = async ({ path, key, size }: ListedEntry): Promise<void> => {
    const file = await unlessDamaged(
      readSealed(work, { key, name: logicalName(path), maxBytes: sealedSize(size) }),
    );
    if (file === 'damaged') return;
    if (file === undefined) {
      // A rename took it elsewhere, or it is in a record now.
      found.add('new');
      return;
    }
    const verdict = judgeText(erasure, { ...file, path }, file.content);
    if (verdict === 'by_id' || verdict === 'by_text') holding.push({ path, id: toBase64url(file.id) });
    else if (verdict === 'elsewhere' && mayBeJoined(file) && !isOver(work, erasure)) found.add('unjoined');
    else erasure.seen.set(key, file.stored.etag);
  };
  const alike = files.filter(({ key, etag, size }) => size === erasure.size && isNew(erasure, key, etag));
  await eachConcurrently(work.session, alike, lookAtOne, ({ size }) => size);
  if (holding.length === 0) return;
  // Nobody takes back a rename that was cut off.
  const isItself = holding.some(({ id }) => id === erasure.id);
  if (isItself || !erasure.isBegun || isOver(work, erasure)) throw stillCurrent(holding);
  found.add('held');
}

/** A file that was renamed a moment ago, or edited behind a rename, may be joined to the one that was redacted soon. */
function mayBeJoined({ stored, origin, previous }: SealedVersion): boolean {
  const isCreated = sameBytes(origin, NO_ID) && sameBytes(previous, NO_ID);
  return !isCreated && ageOf(stored) <= SETTLED_MS;
}

function isNew({ seen }: Erasure, name: string, etag: ETag): boolean {
  return !seen.has(name) || (seen.get(name) ?? etag) !== etag;
}

/** Looks at the records that may have the text, and at those of renames that were written since. */
async function lookAtRecords(work: Work, erasure: Erasure, found: Found): Promise<void> {
  const listed = (await listIds(work, 'history')).filter(({ id, object }) => isNew(erasure, id, object.etag));
  const isSince = ({ id }: ListedId): boolean => !erasure.before.has(id);
  const lookAtOne = ({ id }: ListedId): Promise<void> => lookAtRecord(work, erasure, { id, found });
  const whole = historyHash(work, WHOLE_TREE);
  // In their order: one rename goes on from where another went.
  for (const each of listed) if (each.id.startsWith(whole) && isSince(each)) await lookAtOne(each);
  const hashes = new Set([...erasure.paths].map((path) => historyHash(work, path)));
  const mayHold = (each: ListedId): boolean =>
    (isSince(each) || hashes.has(pathHashOfRecord(each.id))) && mayHoldText(each.object.size, erasure.size);
  const asked = listed.filter(
    (each) => !each.id.startsWith(whole) && (isRecordOf(each.id, erasure.id) || mayHold(each)),
  );
  await eachConcurrently(work.session, asked, lookAtOne, ({ object }) => object.size);
}

/** Takes the text out of a record that has it, unless that is the one that goes last. */
async function lookAtRecord(
  work: Work,
  erasure: Erasure,
  { id, found }: { readonly id: string; readonly found: Found },
): Promise<void> {
  // What cannot be opened is another version's by its id, or must be looked at first.
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
  // Known by their ids alone until now.
  erasure.seen.clear();
  erasure.seen.set(id, etag);
}

/** A rename that was written down since the past was read may have brought the file to another path. */
function followMove({ paths }: Erasure, { from, to, files }: Moved, found: Found): void {
  for (const [path] of files) {
    const next = rebase(path, from, to);
    if (!paths.has(path) || paths.has(next)) continue;
    paths.add(next);
    found.add('new');
  }
}

/** Passes over damage, which a verification tells; an older object that was put back while this runs is told at once. */
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
  if (!gone.has(id)) gone.set(id, path);
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

/** Undefined: it has expired. */
async function readCopy(work: Work, id: string): Promise<Copy | undefined> {
  const stored = await readRecord(work, { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES });
  if (stored === undefined) return undefined;
  const record = decodeHistoryRecord(stored.content);
  if (record === undefined) throw malformedRecord();
  return { id, etag: stored.etag, record };
}

/** Takes the text out of a record that was written in vain, where another record says that the version was redacted before. */
export async function redactSavedInVain(work: Work, record: string, version: Uint8Array): Promise<void> {
  if (!(await isRedactedElsewhere(work, toBase64url(version)))) return;
  const copy = await readCopy(work, record);
  if (copy !== undefined) await redactCopy(work, copy);
}

/** Undefined: it has expired, or another process has redacted it. */
async function redactCopy(work: Work, found: Copy): Promise<ETag | undefined> {
  await nameActor(work);
  let copy: Copy | undefined = found;
  for (let round = 0; round < ROUNDS; round++) {
    if (copy?.record.kind !== 'replaced') return undefined;
    const { id, etag, record }: Copy = copy;
    const content = encodeHistoryRecord({ kind: 'redacted', ...noted(work), version: record.version });
    const written = await writeRecord(work, { cls: 'history', id }, { content, base: etag });
    if ('etag' in written) return written.etag;
    copy = await readCopy(work, id);
  }
  throw new MemoryError('unavailable', 'Another process wrote a record of the history at every attempt.');
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
    'A file holds that text now, so it cannot be taken out of the history: edit or delete the file first, redact the version of it that is named, then this one again. A file that a rename left at two places is made one by "verify --repair".',
    { details: { reason: 'current', paths, versions } },
  );
}
