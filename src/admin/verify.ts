import { MemoryError, type MemoryErrorCode } from '../errors.ts';
import { hasBytesAt, toBase64url } from '../format/encoding.ts';
import { directoriesOf, type MemoryPath } from '../language/path.ts';
import type { ListedObject } from '../store/port.ts';
import {
  countFindings,
  type Finding,
  findingOf,
  type RenameFinding,
  sortFindings,
} from '../tree/findings.ts';
import type { SealedVersion } from '../tree/read-file.ts';
import { LEASE_MS } from '../tree/rename/lease.ts';
import { isRegister, type RenameEntry, readRegister } from '../tree/rename/register.ts';
import { createRenameRegister } from '../tree/rename/rename-register.ts';
import { eachRecord, inspectRecord, listRecords } from '../tree/scan.ts';
import { type Call, openWork, type Session, type Work } from '../tree/session.ts';
import { parseLine } from './checkpoint-record.ts';
import { type Place, settleDuplicates } from './duplicates.ts';
import type { KeyVersionUse } from './key-status.ts';
import { type SeenHistory, watchHistory } from './verify-history.ts';
import { type SinceReport, verifySince } from './verify-since.ts';

export interface VerifyOptions extends Call {
  /** Remove the older place of duplicates and finish a directory rename whose process is gone; nothing else is changed. */
  readonly repair?: boolean | undefined;
  /** The line of a checkpoint, kept outside of the store: what is not the same since, or came of it, is a finding. */
  readonly since?: string | undefined;
  /** For how long the history is kept, in days. The memory's own unless given. */
  readonly historyDays?: number | undefined;
}

export interface Verification {
  /** Files that were read and are whole, and their content in bytes. */
  readonly files: number;
  readonly bytes: number;
  readonly findings: readonly Finding[];
  /** How many objects, files or not, name which version of the tenant key; empty for a tenant without a keyring. */
  readonly keyVersions: readonly KeyVersionUse[];
  /** With `since`: the checkpoint that was compared with. */
  readonly since?: Omit<SinceReport, 'findings'>;
}

/**
 * Reads and opens every object of the tenant: its files, the register of its renames, and what lies beside them. What
 * is wrong is a value; a tenant that was never written to has nothing wrong. Without `repair` nothing is written.
 *
 * @throws MemoryError what the store and the keyring throw.
 */
export async function verifyTree(
  context: Session,
  { since: line, historyDays, ...options }: VerifyOptions = {},
): Promise<Verification> {
  const number = line === undefined ? 0 : parseLine(line).number;
  const work = await openWork(context, options);
  if (work === undefined) {
    const findings: readonly Finding[] =
      number === 0 ? [] : [{ kind: 'checkpoint', state: 'missing', number }];
    return { files: 0, bytes: 0, findings, keyVersions: [] };
  }
  const verification = await verifyWork(work, { ...options, historyDays });
  if (line === undefined) return verification;
  const { findings, ...since } = (await verifySince(work, { line, historyDays })).report;
  return { ...verification, findings: sortFindings([...verification.findings, ...findings]), since };
}

async function verifyWork(work: Work, { repair = false, historyDays }: VerifyOptions): Promise<Verification> {
  const recovered = repair ? await recoverRename(work) : undefined;
  const { files, bytes, findings, groups, keyVersions, history } = await readAll(work);
  // Only now: a rename that began later has left no copies that are old enough to be taken for duplicates.
  const register = await lookAtRegister(work);
  const { own, others } = splitByOrigin(groups, register.entry);
  const renames = renameFindings(register, recovered, own.length);
  const duplicates = await settleDuplicates(work, { groups: others, isRenaming: isAlive(register), repair });
  const versions = await history.findings(work, { historyDays });
  return {
    ...{ files, bytes, keyVersions },
    findings: sortFindings([...renames, ...duplicates, ...versions, ...findings]),
  };
}

interface Register {
  readonly entry: RenameEntry | undefined;
  readonly ageMs: number;
  /** Why it could not be opened. */
  readonly fault?: MemoryErrorCode;
}

async function lookAtRegister(work: Work): Promise<Register> {
  try {
    return await readRegister(work);
  } catch (error) {
    if (!(error instanceof MemoryError) || !REGISTER_FAULTS.includes(error.code)) throw error;
    return { entry: undefined, ageMs: 0, fault: error.code };
  }
}

const REGISTER_FAULTS: readonly MemoryErrorCode[] = ['integrity', 'unsupported_format', 'limit_exceeded'];

function isAlive({ entry, ageMs, fault }: Register): boolean {
  return fault !== undefined || (entry !== undefined && ageMs <= LEASE_MS);
}

interface Recovered {
  readonly entry: RenameEntry;
  readonly ageMs: number;
  readonly failure: MemoryErrorCode | undefined;
}

/** Finishes a rename whose lease has run out. Undefined: there was none, or another process finishes it. */
async function recoverRename(work: Work): Promise<Recovered | undefined> {
  const { entry, ageMs } = await lookAtRegister(work);
  if (entry === undefined) return undefined;
  try {
    const isOurs = (await createRenameRegister().recover(work)) === 'finished';
    return isOurs ? { entry, ageMs, failure: undefined } : undefined;
  } catch (error) {
    if (!(error instanceof MemoryError) || error.code === 'aborted') throw error;
    return { entry, ageMs, failure: causeOf(error).code };
  }
}

/** A rename that was left says so first; why is behind it. */
function causeOf(error: MemoryError): MemoryError {
  const isFront = error.code === 'outcome_unknown' || error.code === 'unavailable';
  return isFront && error.cause instanceof MemoryError ? causeOf(error.cause) : error;
}

function renameFindings(
  { entry, ageMs, fault }: Register,
  recovered: Recovered | undefined,
  files: number,
): readonly Finding[] {
  if (fault !== undefined) return [{ kind: 'register', code: fault }];
  if (entry === undefined) {
    return recovered?.failure === undefined && recovered !== undefined
      ? [renameFinding(recovered, 'finished', files)]
      : [];
  }
  const code = recovered?.failure;
  if (code !== undefined) return [{ ...renameFinding({ entry, ageMs }, 'unfinished', files), code }];
  return [renameFinding({ entry, ageMs }, ageMs > LEASE_MS ? 'expired' : 'under_way', files)];
}

function renameFinding(
  { entry, ageMs }: { readonly entry: RenameEntry; readonly ageMs: number },
  state: RenameFinding['state'],
  files: number,
): RenameFinding {
  const { phase, from, to } = entry;
  return { kind: 'rename', state, phase, from, to, ageMs, files };
}

/** Copies that carry the id of the rename in the register are its own to finish or to take back. */
function splitByOrigin(
  groups: readonly (readonly Place[])[],
  entry: RenameEntry | undefined,
): {
  readonly own: readonly (readonly Place[])[];
  readonly others: readonly (readonly Place[])[];
} {
  const isOwn = (group: readonly Place[]): boolean =>
    entry !== undefined && group.some(({ origin }) => hasBytesAt(origin, 0, entry.id));
  return { own: groups.filter(isOwn), others: groups.filter((group) => !isOwn(group)) };
}

interface Everything extends Verification {
  /** Places that hold one content between them, two or more each, the longest unchanged one first. */
  readonly groups: readonly (readonly Place[])[];
  readonly history: SeenHistory;
}

/** Objects that vanish meanwhile are not counted. What is wrong with the register of renames is a finding of its own. */
async function readAll(work: Work): Promise<Everything> {
  const { records, ...counted } = await listRecords(work);
  const active = work.keyring.keys.active.version;
  const findings: Finding[] = [];
  const places = new Map<string, Place[]>();
  const counts = new Map([[active, 0]]);
  const history = watchHistory();
  let [files, bytes] = [0, 0];
  await eachRecord(work, records, async (record) => {
    const inspection = await inspectRecord(work, record);
    if (inspection === undefined) return;
    const isJudgedLater = isRegister(record.name) || history.saw(record, inspection);
    const finding = isJudgedLater ? undefined : findingOf(record, inspection);
    if (finding !== undefined) findings.push(finding);
    const keyVersion = 'keyVersion' in inspection ? inspection.keyVersion : undefined;
    if (keyVersion !== undefined) counts.set(keyVersion, (counts.get(keyVersion) ?? 0) + 1);
    if (inspection.state !== 'whole' || record.cls !== 'data') return;
    const { version } = inspection;
    files++;
    bytes += version.content.length;
    const id = toBase64url(version.contentId);
    places.set(id, [...(places.get(id) ?? []), placeOf(record.path, record.object, version)]);
  });
  const paths = records.flatMap((record) => (record.cls === 'data' ? [record.path] : []));
  const keyVersions = [...counts]
    .map(([version, objects]) => ({ version, objects, active: version === active }))
    .sort((a, b) => a.version - b.version);
  return {
    ...{ files, bytes, keyVersions, history },
    findings: [...findings, ...findClashes(paths), ...countFindings(counted)],
    groups: [...places.values()].filter((group) => group.length > 1).map(oldestFirst),
  };
}

/** Listings often tell the time more precisely than the answer to a GET, which knows whole seconds. */
function placeOf(path: MemoryPath, listed: ListedObject, { stored, origin }: SealedVersion): Place {
  const { etag, lastModified } = listed.etag === stored.etag ? listed : stored;
  return { path, key: listed.key, etag, lastModified, size: stored.size, origin };
}

function findClashes(paths: readonly MemoryPath[]): readonly Finding[] {
  const directories = directoriesOf(paths);
  return paths.filter((path) => directories.has(path)).map((path) => ({ kind: 'clash', path }));
}

function oldestFirst(group: readonly Place[]): readonly Place[] {
  return group.toSorted((a, b) => a.lastModified - b.lastModified || (a.path < b.path ? -1 : 1));
}
