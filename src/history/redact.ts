import { hasReason, isDamaged, MemoryError } from '../errors.ts';
import { sameBytes, toBase64url } from '../format/encoding.ts';
import { fileKey, logicalName } from '../format/object-keys.ts';
import { MAX_CONTENT_BYTES, sealedSize } from '../format/sizes.ts';
import { NO_ID } from '../format/wrap.ts';
import { MEMORY_ROOT, type MemoryPath, rebase } from '../language/path.ts';
import { ageOf, type ETag, type ListedObject, type ObjectVersions } from '../store/port.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { type ListedEntry, listDirectory } from '../tree/list-directory.ts';
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
  idBytes,
  isRecordOf,
  pathHashOfRecord,
  type VersionFacts,
  WHOLE_TREE,
} from './history-record.ts';
import { removeKeptVersions } from './kept-versions.ts';
import { textHashOf } from './past/collect.ts';
import type { Past, Version, VersionId } from './past/past.ts';
import { readMeantPast } from './past/read.ts';
import { type ListedId, listIds, malformedRecord } from './past/records.ts';
import { isRedactedElsewhere } from './read-version.ts';
import { type GoneVersion, holdsRedacted } from './same-text.ts';
import { chosen } from './version-name.ts';

/*
 * Others write while a text is taken out, and each of them moves it: an overwrite or a delete from a file into a record, a
 * rename from file to file, a restore from a record into a file. So the files are looked at, then the records, then the files
 * again, until such a pass finds nothing that is new. The record that was named goes last of all: until then its text tells a
 * run that goes on what else is to go. Whoever read the text before that looks for the record again when it has written the
 * text (`write-back.ts`); what it wrote before that look is found by one more pass here.
 */

/** A text that is taken out, wherever it lies, and what is known of that so far. All of it grows while others write. */
export interface Erasure {
  /** The version that was named. */
  readonly id: VersionId;
  /** Of the text, in bytes. */
  readonly size: number;
  /** Undefined where an earlier run has taken it out, until a record is found that has it still. */
  text: Uint8Array | undefined;
  /** Where the version lay, and where the file did. */
  readonly path: MemoryPath;
  readonly paths: Set<MemoryPath>;
  /** The versions of the file, and of them those that have the text. */
  readonly versions: Set<VersionId>;
  readonly gone: GoneVersion[];
  /** Records of those: of all of them, and of the one that was named. */
  readonly ids: Set<string>;
  readonly own: Set<string>;
  /** The record that goes last; undefined once it went. */
  last: SavedCopy | undefined;
  /** Whether another record is to go last when one of the named version is found. */
  mayBeLast: boolean;
  /** What was looked at and does not have the text, by key or id; undefined stands for any ETag. */
  readonly seen: Map<string, ETag | undefined>;
  /** Records of renames and of deletes that need not be read: the past was read after them. */
  readonly events: Set<string>;
  /** Records out of which the text was taken. */
  count: number;
  /** Whether the text is out of a record already: whoever writes it back finds that, and takes it back. */
  isBegun: boolean;
  /** Records that were there before; those written since are read whatever path they are of. Undefined: none is. */
  readonly before: ReadonlySet<string> | undefined;
  /** Until when something with the text that nothing joins to the file may turn out to be of it; by the session's clock. */
  undecidedUntil: number | undefined;
}

/** A record that holds a version, as it lies in the store. */
interface SavedCopy {
  readonly id: string;
  readonly etag: ETag;
  readonly record: Extract<HistoryRecord, { kind: 'replaced' | 'redacted' }>;
}

/** How often a record that a migration or another redaction has written meanwhile is read again. */
const ROUNDS = 8;
/** How many passes may find something new. */
const PASSES = 64;

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
  // Before the past is read, so that what it does not know of shows.
  const before = new Set((await listIds(work, 'history')).map(({ id }) => id));
  const { path, past } = await readMeantPast(work, given);
  const version = chosen(past, beginning);
  const erasure = await begin(work, { path, past, version, before });
  const versionsRemoved = await erase(work, erasure, versions);
  return { path, version: version.id, records: erasure.count, versionsRemoved };
}

async function begin(
  work: Work,
  {
    path,
    past,
    version,
    before,
  }: {
    readonly path: MemoryPath;
    readonly past: Past;
    readonly version: Version;
    readonly before: ReadonlySet<string>;
  },
): Promise<Erasure> {
  if (version.text === 'current') throw stillCurrent([version]);
  const named =
    version.text === 'kept' && version.record !== undefined
      ? await readCopy(work, version.record)
      : undefined;
  if (version.text === 'kept' && named === undefined)
    throw new MemoryError('not_found', 'The version has expired meanwhile.');
  const text = named?.record.kind === 'replaced' ? named.record.text : undefined;
  const facts = factsOf(version);
  const isBegun = version.text === 'redacted';
  const erasure = newErasure({ facts, text, isBegun, before });
  learn(erasure, past);
  erasure.paths.add(path);
  const hash = text && textHashOf(text);
  for (const each of past.versions.values()) {
    if (each.record === undefined) continue;
    // A run that was cut off may have redacted these, and left what a bucket kept of them.
    const wasRedacted = each.text === 'redacted' && each.size === version.size;
    if (each.id === version.id || wasRedacted) addGone(erasure, factsOf(each), each.record);
    else if (each.text === 'kept' && hash !== undefined && each.textHash !== hash)
      erasure.seen.set(each.record, undefined);
  }
  if (text !== undefined) erasure.last = named;
  if (named !== undefined) erasure.seen.set(named.id, named.etag);
  return erasure;
}

/** What is known at the beginning of a version whose text is to be taken out. */
export function newErasure({
  facts,
  text,
  isBegun,
  before,
}: Pick<Erasure, 'text' | 'isBegun' | 'before'> & { readonly facts: GoneVersion }): Erasure {
  const id = toBase64url(facts.id);
  return {
    ...{ id, text, size: facts.size, path: facts.path, gone: [facts] },
    ...{ paths: new Set([facts.path]), versions: new Set([id]) },
    ...{ ids: new Set(), own: new Set(), last: undefined, mayBeLast: text === undefined },
    ...{ seen: new Map(), events: new Set(before), count: 0, isBegun, before, undecidedUntil: undefined },
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

/**
 * Takes the text out, and answers how many versions of a bucket went.
 *
 * @throws MemoryError as `redactVersion`.
 */
export async function erase(
  work: Work,
  erasure: Erasure,
  versions: ObjectVersions | undefined,
): Promise<number | undefined> {
  await untilNothingIsNew(work, erasure);
  if (erasure.last !== undefined) {
    const { last } = erasure;
    erasure.last = undefined;
    erasure.mayBeLast = false;
    await redactFound(work, erasure, last);
    await untilNothingIsNew(work, erasure);
  }
  const { layout, cache } = work.session;
  for (const each of erasure.paths) cache.drop(fileKey(layout, work.keyring.names, each));
  return versions && removeKeptVersions(work, versions, erasure);
}

async function untilNothingIsNew(work: Work, erasure: Erasure): Promise<void> {
  for (let pass = 1; pass <= PASSES; pass++) {
    const found: Found[] = [await lookAtFiles(work, erasure), await lookAtRecords(work, erasure)];
    if (!found.some((each) => each !== 'nothing')) found.push(await lookAtFiles(work, erasure));
    if (found.includes('undecided')) await learnMore(work, erasure);
    else if (!found.includes('new')) return;
  }
  throw new MemoryError(
    'unavailable',
    'Other processes moved the text at every look, and some of it may be left: redact the version again.',
  );
}

/** `undecided`: the text lies where nothing joins it to the file yet. */
type Found = 'new' | 'undecided' | 'nothing';

/** Between a rename and its record, and between a version and the record of the one that it replaced, a moment passes. */
const UNDECIDED_MS = 10_000;

/** Reads again what is known of the file. What nothing joins to it in 10 s is another file with the same text. */
async function learnMore(work: Work, erasure: Erasure): Promise<void> {
  const { clock, pause } = work.session;
  erasure.undecidedUntil ??= clock() + UNDECIDED_MS;
  learn(erasure, (await readMeantPast(work, erasure.path)).past);
  await pause(LOOK_AGAIN_MS, work.call.signal);
}

/** What a version is to the text: it has it, has not, or has it where nothing joins it to the file yet. */
function judge(
  work: Work,
  erasure: Erasure,
  {
    facts,
    content,
  }: { readonly facts: Pick<VersionFacts, 'id' | 'path' | 'previous'>; readonly content: Uint8Array },
): 'holds' | 'undecided' | 'other' {
  if (holdsRedacted(erasure, facts, content)) return 'holds';
  const { text, undecidedUntil = Number.POSITIVE_INFINITY } = erasure;
  if (text === undefined || text.length === 0 || !sameBytes(text, content)) return 'other';
  return work.session.clock() < undecidedUntil ? 'undecided' : 'other';
}

/** What writes a text back takes it back within that time, once it is redacted; milliseconds. */
const TAKEN_BACK_MS = 10_000;
const LOOK_AGAIN_MS = 200;

/**
 * Files are looked at by their sizes: a rename that was cut off may have left one where no record tells of it. `new`: one
 * vanished between the listing and the look.
 *
 * @throws MemoryError `invalid_command` while one of them holds the text; once a record is redacted, where another version
 * holds it still after 10 s.
 */
async function lookAtFiles(work: Work, erasure: Erasure): Promise<Found> {
  const { clock, pause } = work.session;
  const deadline = clock() + TAKEN_BACK_MS;
  for (;;) {
    const { found, holding } = await readFiles(work, erasure);
    if (holding.length === 0) return found;
    // Nobody takes back a rename that was cut off.
    const isItself = holding.some(({ id }) => id === erasure.id);
    if (isItself || !erasure.isBegun || clock() >= deadline) throw stillCurrent(holding);
    await pause(LOOK_AGAIN_MS, work.call.signal);
  }
}

async function readFiles(
  work: Work,
  erasure: Erasure,
): Promise<{ readonly found: Found; readonly holding: readonly Holding[] }> {
  const { files } = await listDirectory(work, MEMORY_ROOT, { concurrent: true });
  let found: Found = 'nothing';
  const holding: Holding[] = [];
  const lookAtOne = async ({ path, key, size }: ListedEntry): Promise<void> => {
    const file = await readSealed(work, { key, name: logicalName(path), maxBytes: sealedSize(size) }).catch(
      (error: unknown) => {
        if (!isPassedOver(error)) throw error;
        return 'damaged' as const;
      },
    );
    if (file === 'damaged') return;
    if (file === undefined) {
      // A rename took it elsewhere, or it is in a record now.
      if (found === 'nothing') found = 'new';
      return;
    }
    const verdict = judge(work, erasure, { facts: { ...file, path }, content: file.content });
    if (verdict === 'holds') holding.push({ path, id: toBase64url(file.id) });
    else if (verdict === 'other' || !mayBeJoined(file)) erasure.seen.set(key, file.stored.etag);
    else found = 'undecided';
  };
  const alike = files.filter(({ key, etag, size }) => size === erasure.size && isNew(erasure, key, etag));
  await eachConcurrently(work.session, alike, lookAtOne, ({ size }) => size);
  return { found, holding };
}

/** A file that was renamed a moment ago, or edited behind a rename, may be joined to the one that was redacted soon. */
function mayBeJoined({ stored, origin, previous }: SealedVersion): boolean {
  const isCreated = sameBytes(origin, NO_ID) && sameBytes(previous, NO_ID);
  return !isCreated && ageOf(stored) <= SETTLED_MS;
}

function isNew({ seen }: Erasure, name: string, etag: ETag): boolean {
  return !seen.has(name) || (seen.get(name) ?? etag) !== etag;
}

/** Redacts the records that have the text, but for the one that goes last. `new`: there were some, or another path. */
async function lookAtRecords(work: Work, erasure: Erasure): Promise<Found> {
  let found: Found = 'nothing';
  const listed = await listIds(work, 'history');
  const whole = historyHash(work, WHOLE_TREE);
  for (const { id } of listed) {
    if (!id.startsWith(whole) || erasure.events.has(id)) continue;
    if ((await lookAtEvent(work, erasure, id)) === 'new') found = 'new';
  }
  const hashes = new Map([...erasure.paths].map((path) => [historyHash(work, path), path]));
  const lookAtOne = async ({ id }: ListedId): Promise<void> => {
    const copy = await readCopy(work, id).catch((error: unknown) => {
      // What cannot be opened is another version's by its id, or must be looked at first.
      if (!isPassedOver(error) || isRecordOf(id, erasure.id)) throw error;
    });
    const taken = copy && (await takeOut(work, erasure, copy));
    if (taken === 'undecided' || (taken === 'new' && found === 'nothing')) found = taken;
  };
  const isToRead = ({ id, object }: ListedId): boolean => {
    if (!isNew(erasure, id, object.etag)) return false;
    const path = hashes.get(pathHashOfRecord(id));
    const isMeant = path !== undefined || erasure.before?.has(id) === false;
    return isRecordOf(id, erasure.id) || (isMeant && mayHold(object, path, erasure.size));
  };
  await eachConcurrently(work.session, listed.filter(isToRead), lookAtOne, ({ object }) => object.size);
  return found;
}

/** A rename that was written down since the past was read may have brought the file to another path. */
async function lookAtEvent(work: Work, { events, paths }: Erasure, id: string): Promise<Found> {
  const stored = await readRecord(work, { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES }).catch(
    (error: unknown) => {
      if (!isPassedOver(error)) throw error;
    },
  );
  events.add(id);
  const record = stored && decodeHistoryRecord(stored.content);
  if (record?.kind !== 'moved') return 'nothing';
  const before = paths.size;
  for (const [from] of record.files) if (paths.has(from)) paths.add(rebase(from, record.from, record.to));
  return paths.size > before ? 'new' : 'nothing';
}

/** Damage is what a verification tells; an older object that was put back while this runs is told at once. */
function isPassedOver(error: unknown): boolean {
  return isDamaged(error) && !hasReason(error, 'put_back');
}

async function takeOut(work: Work, erasure: Erasure, copy: SavedCopy): Promise<Found> {
  const { id, etag, record } = copy;
  erasure.seen.set(id, etag);
  const versionId = toBase64url(record.version.id);
  if (record.kind === 'redacted') {
    if (versionId === erasure.id) addGone(erasure, record.version, id);
    return 'nothing';
  }
  const verdict = judge(work, erasure, { facts: record.version, content: record.text });
  if (verdict === 'undecided') erasure.seen.delete(id);
  if (verdict !== 'holds') return verdict === 'undecided' ? verdict : 'nothing';
  addGone(erasure, record.version, id);
  if (erasure.mayBeLast && versionId === erasure.id && erasure.last === undefined) {
    erasure.last = copy;
    erasure.text = record.text;
    // Known by their ids alone until now.
    erasure.seen.clear();
    erasure.seen.set(id, etag);
  } else await redactFound(work, erasure, copy);
  return 'new';
}

async function redactFound(work: Work, erasure: Erasure, copy: SavedCopy): Promise<void> {
  const etag = await redactCopy(work, copy);
  if (etag === undefined) return;
  erasure.seen.set(copy.id, etag);
  erasure.count++;
  erasure.isBegun = true;
}

function addGone({ gone, ids, own, versions, paths, id }: Erasure, facts: GoneVersion, record: string): void {
  const version = toBase64url(facts.id);
  if (!gone.some((each) => toBase64url(each.id) === version)) gone.push(facts);
  versions.add(version);
  paths.add(facts.path);
  ids.add(record);
  if (version === id) own.add(record);
}

/** By how much the facts of two versions that lay at one path may differ in length, and what later fields may take. */
const FACTS_BYTES = 1_024;
/** The same of any two paths. */
const ANY_FACTS_BYTES = 65_536;

/** Tells by its size whether a record may hold a text of so many bytes, from that path or from any. */
function mayHold({ size: stored }: ListedObject, at: MemoryPath | undefined, size: number): boolean {
  const path = at ?? MEMORY_ROOT;
  const version = { path, id: NO_ID, mtime: 0, bound: 0n, previous: NO_ID, writer: NO_ID, size };
  const least = encodeHistoryRecord({ kind: 'redacted', at: 0, by: NO_ID, version }).length + size;
  return (
    stored >= sealedSize(least) &&
    stored <= sealedSize(least + (at === undefined ? ANY_FACTS_BYTES : FACTS_BYTES))
  );
}

/** Undefined: it has expired, or is none of a version. */
async function readCopy(work: Work, id: string): Promise<SavedCopy | undefined> {
  const stored = await readRecord(work, { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES });
  if (stored === undefined) return undefined;
  const record = decodeHistoryRecord(stored.content);
  if (record === undefined) throw malformedRecord();
  return record.kind === 'replaced' || record.kind === 'redacted'
    ? { id, etag: stored.etag, record }
    : undefined;
}

/** Takes the text out of a record that was written in vain, where another record says that the version was redacted before. */
export async function redactSavedInVain(work: Work, record: string, version: Uint8Array): Promise<void> {
  if (!(await isRedactedElsewhere(work, toBase64url(version)))) return;
  const copy = await readCopy(work, record);
  if (copy !== undefined) await redactCopy(work, copy);
}

/** Undefined: it has expired, or another process has redacted it. */
async function redactCopy(work: Work, found: SavedCopy): Promise<ETag | undefined> {
  await nameActor(work);
  let copy: SavedCopy | undefined = found;
  for (let round = 0; round < ROUNDS; round++) {
    if (copy?.record.kind !== 'replaced') return undefined;
    const { id, etag, record }: SavedCopy = copy;
    const content = encodeHistoryRecord({ kind: 'redacted', ...noted(work), version: record.version });
    const written = await writeRecord(work, { cls: 'history', id }, { content, base: etag });
    if ('etag' in written) return written.etag;
    copy = await readCopy(work, id);
  }
  throw new MemoryError('unavailable', 'Another process wrote a record of the history at every attempt.');
}

function factsOf({ id, path, size }: Version): GoneVersion {
  return { path, size, id: idBytes(id) };
}

/** A file that holds the text, and as which version. */
interface Holding {
  readonly path: MemoryPath;
  readonly id: VersionId;
}

function stillCurrent(holding: readonly Holding[]): MemoryError {
  const named = [...holding].sort((a, b) => (a.path < b.path ? -1 : 1));
  const [paths, versions] = [named.map(({ path }) => path), named.map(({ id }) => id)];
  return new MemoryError(
    'invalid_command',
    'A file holds that text now, so it cannot be taken out of the history: edit or delete the file first, then redact the version. A file that a rename left at two places is made one by "verify --repair".',
    { details: { reason: 'current', paths, versions } },
  );
}
