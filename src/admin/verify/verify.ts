import { MemoryError, type MemoryErrorCode, unlessDamaged } from '../../errors.ts';
import { sameBytes, toBase64url } from '../../format/encoding.ts';
import { millisecondsOf } from '../../format/wrap.ts';
import { ancestorsOf, type MemoryPath } from '../../language/path.ts';
import { MOST_SKEW_MS } from '../../stamps.ts';
import type { ListedObject } from '../../store/port.ts';
import { inTurns } from '../../time.ts';
import type { SealedVersion } from '../../tree/read-file.ts';
import { createRenameRegister } from '../../tree/rename/finish-renames.ts';
import { isRegister, type RegisterState, readRegister } from '../../tree/rename/register.ts';
import { type CallOptions, openWork, type Tenant, type Work } from '../../tree/tenant.ts';
import { parseLine } from '../checkpoints/checkpoint-record.ts';
import type { SinceLine } from '../checkpoints/read-checkpoint.ts';
import { countFindings, type Finding, findingOf, type RenameFinding, sortFindings } from '../findings.ts';
import type { KeyVersionUse } from '../keys/key-status.ts';
import { eachRecord, type Inspection, inspectRecord, type ListedRecord, listRecords } from '../scan.ts';
import { decideDuplicates, type ReadPlace } from './duplicates.ts';
import { isMalformed } from './malformed-records.ts';
import { type SeenHistory, watchHistory } from './verify-history.ts';
import { type SinceReport, type SinceWatch, watchSince } from './verify-since.ts';

export interface VerifyOptions extends CallOptions {
  /**
   * True to remove the older place of duplicates, and to finish a directory rename whose process is gone; the run
   * changes nothing else.
   */
  readonly repair?: boolean | undefined;
  /**
   * The line of a checkpoint, kept outside of the store: each difference that the history does not explain is a
   * finding.
   */
  readonly since?: string | undefined;
  /** The days for which the history is kept; the memory's own unless given. */
  readonly historyDays?: number | undefined;
}

export interface VerifyReport {
  /** Files that were read and are whole. */
  readonly files: number;
  /** The bytes of their content. */
  readonly bytes: number;
  readonly findings: readonly Finding[];
  /**
   * The number of objects, files and others, under each version of the tenant key; empty for a tenant without a
   * keyring.
   */
  readonly keyVersions: readonly KeyVersionUse[];
  /** The checkpoint that was compared with, where `since` is given. */
  readonly since?: SinceReport;
}

/**
 * Reads and opens every object of the tenant: its files, the register of its renames, and the records beside them.
 * Answers damage as findings; a tenant that was never written to has none. Writes only with `repair`.
 *
 * @throws MemoryError the errors of the store and the keyring.
 */
export async function verifyTree(
  tenant: Tenant,
  { since, ...options }: VerifyOptions = {},
): Promise<VerifyReport> {
  return verifySince(tenant, since === undefined ? undefined : parseLine(since), options);
}

/** Verifies as `verifyTree` does, against a checkpoint of which the number alone may be known. */
export async function verifySince(
  tenant: Tenant,
  line: SinceLine | undefined,
  { repair = false, historyDays, ...call }: Omit<VerifyOptions, 'since'>,
): Promise<VerifyReport> {
  const work = await openWork(tenant, call);
  if (work === undefined) {
    const findings: readonly Finding[] =
      line === undefined ? [] : [{ kind: 'checkpoint', state: 'missing', number: line.number }];
    return { files: 0, bytes: 0, findings, keyVersions: [] };
  }
  const watch = line && (await watchSince(work, line));
  const recovered = repair ? await recoverRename(work) : undefined;
  const { files, bytes, findings, groups, keyVersions, history } = await readAll(work, watch);
  // The register is read only now: the copies of a rename that began later are too young to be taken for duplicates.
  const register = await lookAtRegister(work);
  // Copies that carry the id of the rename in the register are its own: the rename finishes them or takes them back
  // itself.
  const isOwn = (group: readonly ReadPlace[]): boolean =>
    group.some(({ origin }) => register.entry !== undefined && sameBytes(origin, register.entry.id));
  const whole = await ofOneVersion(groups, history);
  const { own = [], others = [] } = Object.groupBy(whole, (group) => (isOwn(group) ? 'own' : 'others'));
  const renames = renameFindings(register, recovered, own.length);
  const duplicates = await decideDuplicates(work, {
    groups: others,
    isRenaming: register.isLeased || register.fault !== undefined,
    repair,
  });
  // The comparison with the checkpoint comes first: then one model of the past serves both.
  const since = (await watch?.findings(work, { history, historyDays, renaming: register.entry?.from })) ?? [];
  const versions = await history.findings(work, { historyDays });
  return {
    files,
    bytes,
    keyVersions,
    findings: sortFindings([...renames, ...duplicates, ...versions, ...since, ...findings]),
    ...(watch && { since: watch.report }),
  };
}

interface Register extends Pick<RegisterState, 'entry' | 'ageMs' | 'isLeased'> {
  /** The error by which it could not be opened. */
  readonly fault?: MemoryErrorCode;
}

function lookAtRegister(work: Work): Promise<Register> {
  return unlessDamaged(readRegister(work), ({ code }) => ({
    entry: undefined,
    ageMs: 0,
    isLeased: false,
    fault: code,
  }));
}

interface FoundRename extends Pick<RegisterState, 'ageMs'> {
  readonly entry: NonNullable<RegisterState['entry']>;
}

interface RecoveredRename extends FoundRename {
  readonly failure: MemoryErrorCode | undefined;
}

/** Finishes a rename whose lease has run out. Undefined: no rename was under way, or another process finishes it. */
async function recoverRename(work: Work): Promise<RecoveredRename | undefined> {
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

/** Finds the error that stopped a rename: the front one only says that the rename was left. */
function causeOf(error: MemoryError): MemoryError {
  const isFront = error.code === 'outcome_unknown' || error.code === 'unavailable';
  return isFront && error.cause instanceof MemoryError ? causeOf(error.cause) : error;
}

function renameFindings(
  { entry, ageMs, isLeased, fault }: Register,
  recovered: RecoveredRename | undefined,
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
  return [renameFinding({ entry, ageMs }, isLeased ? 'under_way' : 'expired', files)];
}

function renameFinding(
  { entry, ageMs }: FoundRename,
  state: RenameFinding['state'],
  files: number,
): RenameFinding {
  const { phase, from, to } = entry;
  return { kind: 'rename', state, phase, from, to, ageMs, files };
}

/**
 * Leaves out the groups whose id two different texts or sets of facts share: each of those may be the only one of its
 * kind.
 */
async function ofOneVersion(
  groups: readonly (readonly ReadPlace[])[],
  { collector }: SeenHistory,
): Promise<readonly (readonly ReadPlace[])[]> {
  if (groups.length === 0) return groups;
  const { damaged } = await collector.past();
  return groups.filter(([place]) => place !== undefined && !damaged.versions.has(toBase64url(place.id)));
}

interface Everything extends VerifyReport {
  /** Groups of two or more places with one version id, in each the longest unchanged place first. */
  readonly groups: readonly (readonly ReadPlace[])[];
  readonly history: SeenHistory;
}

/**
 * Reads all objects, and leaves out those that vanish meanwhile. Damage of the register of renames is found elsewhere.
 */
async function readAll(work: Work, watch?: SinceWatch): Promise<Everything> {
  const { records, ...counted } = await listRecords(work);
  const active = work.keyring.keys.active.version;
  const findings: Finding[] = [];
  const places = new Map<string, ReadPlace[]>();
  const counts = new Map([[active, 0]]);
  const history = watchHistory();
  let [files, bytes] = [0, 0];
  await eachRecord(work, records, async (record) => {
    const inspection = await inspectRecord(work, record);
    if (inspection === undefined) return;
    watch?.saw(record, inspection);
    const isJudgedLater = isRegister(record.name) || history.saw(record, inspection);
    const finding = isJudgedLater
      ? undefined
      : (findingOf(record, inspection) ?? (await malformed(work, record, inspection)));
    if (finding !== undefined) findings.push(finding);
    if (inspection.state === 'whole') findings.push(...aheadOf(work, record, inspection.version));
    const keyVersion = 'keyVersion' in inspection ? inspection.keyVersion : undefined;
    if (keyVersion !== undefined) counts.set(keyVersion, (counts.get(keyVersion) ?? 0) + 1);
    if (inspection.state !== 'whole' || record.cls !== 'data') return;
    const { version } = inspection;
    files++;
    bytes += version.content.length;
    const id = toBase64url(version.id);
    places.set(id, [...(places.get(id) ?? []), placeOf(record.path, record.object, version)]);
  });
  const paths = records.flatMap((record) => (record.cls === 'data' ? [record.path] : []));
  const clashes = await inTurns(findClashes(paths), work.call.signal, PATHS_PER_TURN);
  const keyVersions = [...counts]
    .map(([version, objects]) => ({ version, objects, active: version === active }))
    .sort((a, b) => a.version - b.version);
  return {
    files,
    bytes,
    keyVersions,
    history,
    findings: [...findings, ...clashes, ...countFindings(counted)],
    groups: [...places.values()].filter((group) => group.length > 1).map(oldestFirst),
  };
}

/** Finds a record that opens and is malformed, which counts as damage. */
async function malformed(
  { call }: Work,
  { cls, name }: ListedRecord,
  inspection: Inspection,
): Promise<Finding | undefined> {
  if (cls === 'data' || inspection.state !== 'whole') return undefined;
  const isNone = await isMalformed(name, inspection.version.content, call.signal);
  return isNone ? { kind: 'damaged_record', name } : undefined;
}

/** Finds a time that is too far ahead for any process with a right clock (docs/protocols.md, "Clocks"). */
function aheadOf(
  { tenant: { stamps } }: Work,
  { name }: ListedRecord,
  { mtime, bound }: SealedVersion,
): readonly Finding[] {
  const aheadMs = Math.floor(Math.max(mtime, millisecondsOf(bound)) - stamps.storeTime());
  return aheadMs > MOST_SKEW_MS ? [{ kind: 'ahead', name, aheadMs }] : [];
}

/**
 * Makes the place of a file. Its time comes from the listing where that is of the same version: a GET tells whole
 * seconds only.
 */
function placeOf(path: MemoryPath, listed: ListedObject, version: SealedVersion): ReadPlace {
  const { id, bound, origin, stored } = version;
  const { etag, lastModified } = listed.etag === stored.etag ? listed : stored;
  return { path, key: listed.key, etag, lastModified, size: stored.size, origin, id, bound };
}

/** The number of paths after which everything else in the process has its turn. */
const PATHS_PER_TURN = 1_000;

function* findClashes(paths: readonly MemoryPath[]): Generator<void, readonly Finding[]> {
  const directories = new Set<MemoryPath>();
  for (const path of paths) {
    for (const directory of ancestorsOf(path)) directories.add(directory);
    yield;
  }
  return paths.filter((path) => directories.has(path)).map((path) => ({ kind: 'clash', path }));
}

function oldestFirst(group: readonly ReadPlace[]): readonly ReadPlace[] {
  return group.toSorted((a, b) => a.lastModified - b.lastModified || (a.path < b.path ? -1 : 1));
}
