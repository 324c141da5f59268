import { hasCode, isDamaged, MemoryError } from '../errors.ts';
import { toBase64url } from '../format/encoding.ts';
import { fileKey, logicalName } from '../format/object-keys.ts';
import { MAX_CONTENT_BYTES, sealedSize } from '../format/sizes.ts';
import { MEMORY_ROOT, type MemoryPath } from '../language/path.ts';
import type { ETag, ObjectVersions } from '../store/port.ts';
import { eachConcurrently } from '../tree/concurrency.ts';
import { listDirectory } from '../tree/list-directory.ts';
import { readSealed } from '../tree/read-file.ts';
import { readRecord, writeRecord } from '../tree/sealed-record.ts';
import type { Work } from '../tree/session.ts';
import type { Redaction } from './entries.ts';
import {
  decodeHistoryRecord,
  encodeHistoryRecord,
  type HistoryRecord,
  historyHash,
  type VersionFacts,
} from './history-record.ts';
import { removeKeptVersions } from './kept-versions.ts';
import { listIds, unknownRecord } from './read-records.ts';
import { holdsRedacted, type Redacted } from './same-text.ts';
import { noted, VERSION_SAVER } from './version-saver.ts';
import type { Past, Version } from './versions.ts';

/** A record of a version, as it lies in the store. */
interface SavedCopy {
  readonly id: string;
  readonly etag: ETag;
  readonly record: Extract<HistoryRecord, { kind: 'replaced' | 'redacted' }>;
}

/** How often a record that a migration or another redaction has written meanwhile is read again. */
const ROUNDS = 8;

/**
 * Takes the text of a version out of the history: out of its record, out of those of other versions of the file that have
 * the same text, and out of what a bucket with versioning keeps of them. The facts stay, with who did it and when. May be
 * repeated: a run that was cut off continues.
 *
 * A LIST for each 1,000 records and files of the tenant, a GET for each version of the file and each file of its size, and
 * a PUT for each record; with versions one LIST more for each 1,000 of them, and a GET for each that may hold the text.
 *
 * @param past of the file that the version belongs to.
 * @throws MemoryError `invalid_command` (`reason: 'current'`) while a file holds the text; `access_denied` where the
 * bucket's versions may not be removed: the record is redacted then, and another run continues.
 */
export async function redactVersion(
  work: Work,
  { path, version, past }: { readonly path: MemoryPath; readonly version: Version; readonly past: Past },
  versions: ObjectVersions | undefined,
): Promise<Redaction> {
  if (version.text === 'current') throw stillCurrent();
  const paths = pathsOf(past, path);
  const saved = await readCopies(work, { paths, version });
  const ofVersion = saved.filter(({ record }) => toBase64url(record.version.contentId) === version.id);
  const named = ofVersion.find(({ record }) => record.kind === 'replaced') ?? ofVersion[0];
  if (named === undefined) throw new MemoryError('not_found', 'The version has expired meanwhile.');
  const text = named.record.kind === 'replaced' ? named.record.text : undefined;
  const asNamed = { gone: [named.record.version], paths, text };
  const copies = saved.filter(
    ({ record }) => record.kind === 'replaced' && holdsRedacted(asNamed, record.version, record.text),
  );
  const gone = [...copies.map(({ record }) => record.version), ...redactedBefore(saved, version)];
  const redacted = { gone, paths, text };
  await refuseCurrent(work, redacted);

  await VERSION_SAVER.nameActor(work);
  let records = 0;
  // The text of the one that is named tells a run that goes on which others have it.
  const namedLast = [...copies.filter((copy) => copy !== named), ...copies.filter((copy) => copy === named)];
  for (const { id, record } of namedLast)
    if (record.kind === 'replaced' && (await redactOne(work, id))) records++;
  const { layout, cache } = work.session;
  for (const each of paths) cache.drop(fileKey(layout, work.keyring.names, each));
  const ids = new Set(saved.flatMap(({ id, record }) => (gone.includes(record.version) ? [id] : [])));
  const own = new Set(ofVersion.map(({ id }) => id));
  const versionsRemoved = versions && (await removeKeptVersions(work, versions, { ...redacted, ids, own }));
  return { path, version: version.id, records, versionsRemoved };
}

/** The paths that the versions of a file ever had, as far as the history tells. */
function pathsOf({ versions, moves }: Past, path: MemoryPath): ReadonlySet<MemoryPath> {
  const places = [...versions.values()].map((version) => version.path);
  const moved = moves.flatMap(({ from, to }) => (to === undefined ? [from] : [from, to]));
  return new Set([path, ...places, ...moved]);
}

/** All records of versions that lay at one of the paths, and those of that version wherever it lay. */
async function readCopies(
  work: Work,
  { paths, version }: { readonly paths: ReadonlySet<MemoryPath>; readonly version: Version },
): Promise<readonly SavedCopy[]> {
  const hashes = new Set([...paths].map((path) => historyHash(work, path)));
  const own = version.id.slice(0, ID_CHARACTERS);
  const listed = (await listIds(work, 'history', '')).filter(
    ({ id }) => id.endsWith(`_${own}`) || hashes.has(id.slice(0, HASH_CHARACTERS)),
  );
  const copies: SavedCopy[] = [];
  const readOne = async ({ id }: { readonly id: string }): Promise<void> => {
    const copy = await readCopy(work, id).catch((error: unknown) => {
      // What cannot be opened is another version's by its id, or must be looked at first.
      if (!hasCode(error, 'integrity') || id.endsWith(`_${own}`)) throw error;
    });
    if (copy !== undefined) copies.push(copy);
  };
  await eachConcurrently(work.session, listed, readOne, ({ object }) => object.size);
  return copies;
}

const HASH_CHARACTERS = 43;
const ID_CHARACTERS = 8;

/** Undefined: it has expired, or is none of a version. */
async function readCopy(work: Work, id: string): Promise<SavedCopy | undefined> {
  const stored = await readRecord(work, { cls: 'history', id, maxBytes: MAX_CONTENT_BYTES });
  if (stored === undefined) return undefined;
  const record = decodeHistoryRecord(stored.content);
  if (record === undefined) throw unknownRecord();
  return record.kind === 'replaced' || record.kind === 'redacted'
    ? { id, etag: stored.etag, record }
    : undefined;
}

/** A run that was cut off may have redacted these, and left what a bucket kept of them. */
function redactedBefore(saved: readonly SavedCopy[], { size }: Version): readonly VersionFacts[] {
  const redacted = saved.filter(({ record }) => record.kind === 'redacted' && record.version.size === size);
  return redacted.map(({ record }) => record.version);
}

/** Files are looked at by their sizes: a rename that was cut off may have left one where no record tells of it. */
async function refuseCurrent(work: Work, redacted: Redacted): Promise<void> {
  const sizes = new Set(redacted.gone.map(({ size }) => size));
  const { files } = await listDirectory(work, MEMORY_ROOT, { concurrent: true });
  const refuseOne = async ({ path, key, size }: (typeof files)[number]): Promise<void> => {
    const object = { key, name: logicalName(path), maxBytes: sealedSize(size) };
    const file = await readSealed(work, object).catch((error: unknown) => {
      if (!isDamaged(error)) throw error;
    });
    if (file === undefined) return;
    const facts = { ...file, path, size: file.content.length };
    if (holdsRedacted(redacted, facts, file.content)) throw stillCurrent();
  };
  const alike = files.filter(({ size }) => sizes.has(size));
  await eachConcurrently(work.session, alike, refuseOne, ({ size }) => size);
}

/** False: it has expired, or another process has redacted it. */
async function redactOne(work: Work, id: string): Promise<boolean> {
  for (let round = 0; round < ROUNDS; round++) {
    const copy = await readCopy(work, id);
    if (copy?.record.kind !== 'replaced') return false;
    const { version } = copy.record;
    const content = encodeHistoryRecord({ kind: 'redacted', ...noted(work), version });
    const written = await writeRecord(work, { cls: 'history', id }, { content, base: copy.etag });
    if ('etag' in written) return true;
  }
  throw new MemoryError('unavailable', 'Another process wrote a record of the history at every attempt.');
}

function stillCurrent(): MemoryError {
  return new MemoryError(
    'invalid_command',
    'A file holds that text now, so it cannot be taken out of the history: edit or delete the file first, then redact the version. A file that a rename left at two places is made one by "verify --repair".',
    { details: { reason: 'current' } },
  );
}
