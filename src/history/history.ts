import { MemoryError } from '../errors.ts';
import { sameBytes, toBase64url } from '../format/encoding.ts';
import {
  inNfc,
  isWithin,
  joinPath,
  MEMORY_ROOT,
  type MemoryPath,
  parseGivenPath,
  segmentsOf,
} from '../language/path.ts';
import { decodeText } from '../language/text.ts';
import type { ObjectVersions } from '../store/port.ts';
import { DAY_MS } from '../time.ts';
import {
  type CallOptions,
  checkActor,
  openWork,
  refuseWriting,
  type Tenant,
  type Work,
} from '../tree/tenant.ts';
import type { Tree } from '../tree/tree.ts';
import { carryOut } from './change/carry-out.ts';
import { momentOf } from './change/moment.ts';
import type { PlanOutcome } from './change/plan.ts';
import { planRestoreAt } from './change/plan-restore-at.ts';
import { planUndo } from './change/plan-undo.ts';
import { redactVersion } from './change/redact.ts';
import { writeBack } from './change/write-back.ts';
import {
  entriesOf,
  type HistoryEntry,
  type HistoryListOptions,
  isFull,
  pageOf,
  type Redaction,
} from './past/entries.ts';
import { itemByItem } from './past/model.ts';
import type { Past } from './past/past.ts';
import { readMeantPast, readNewest, readNewestOfAll, readPast, readWholePast } from './past/read.ts';
import { type GivenName, readVersion } from './past/read-version.ts';
import { beginningOf, noFile, noVersion, severalBegin } from './past/version-name.ts';
import { readActors } from './save/actors.ts';
import { readKnown, versionsAt } from './trace/known.ts';
import { type Trace, traceVersions } from './trace/trace.ts';

/** The name of a version of a file, as in `list`; its first characters are enough where only one version has them. */
export interface VersionRef {
  readonly path: string;
  readonly version: string;
}

export interface VersionContent extends VersionRef {
  readonly bytes: Uint8Array;
  /**
   * Decodes the bytes as UTF-8.
   *
   * @throws MemoryError `not_text` when they are something else.
   */
  text(): string;
}

export interface RestoredVersion extends VersionRef {
  /** True where the restore wrote the file. False: the file has that text already, and stays unwritten. */
  readonly restored: boolean;
}

/**
 * The history of a tenant's files, where the tenant keeps one (docs/history.md). Hosts and operators use it; the model
 * never does. All methods reject with `MemoryError`: `invalid_path`, `invalid_command` for an argument of another type,
 * and the errors of the store and the keyring.
 */
export interface History {
  /**
   * Tells whether the tenant keeps history now; `absent` for a tenant that was never written to. Costs the requests
   * that load the keyring, none where it is loaded.
   */
  state(options?: CallOptions): Promise<'on' | 'off' | 'absent'>;
  /**
   * Lists the events of a file, or of all files, the newest first. One path is enough: the list has the file's time
   * under other paths too, before and after a rename. It is empty for a path that never had a file. `limit` and
   * `before` make pages. A GET for each version, with a `limit` for little more than those of the page; for all files
   * without a `limit` a GET for each version and each file, which `onProgress` counts.
   *
   * @throws MemoryError `misconfigured` for a limit that is no whole number from 1 on; `not_found` where `before` has
   * expired.
   */
  list(path?: string, options?: HistoryListOptions): Promise<readonly HistoryEntry[]>;
  /**
   * Reads the text of one version; the current one can be read too.
   *
   * @throws MemoryError `not_found`, with `details.reason` `redacted` where the text was taken out; `invalid_command`
   * where several versions begin so.
   */
  read(version: VersionRef, options?: CallOptions): Promise<VersionContent>;
  /**
   * Writes the text of a version into its file as a new version, or creates the file where it is gone.
   *
   * @throws MemoryError as `read`, with `reason` `redacted` also where another process took the text out meanwhile, and
   * the write was taken back; `outcome_unknown` (`reason: 'redacted'`, `paths`, `versions`) where the text may still
   * lie in a file then; `version_conflict` or `already_exists` where the file is another one than `ifUnchanged` says,
   * or another process changed it meanwhile; `invalid_command` (`reason: 'hidden_by_mount'`) where another memory is
   * mounted at the path or above it.
   */
  restore(version: VersionRef, options?: RestoreOptions): Promise<RestoredVersion>;
  /**
   * Restores the files as they were at a moment, by the clocks of their writers. Only writes, renames and deletes
   * before the moment count. Each change is a new version on behalf of the call's actor, so all kept versions stay.
   * Files that other processes change meanwhile are judged again. A GET for each kept version and each file, and the
   * requests of each change; for a dry run those of the actors. Answers `nothing` where the files are the same already.
   *
   * @param time a `Date`, or ISO 8601 with Z or its distance from UTC.
   * @throws MemoryError `invalid_command` for another time, or one in the future; `misconfigured` where the tenant
   * keeps no history now; `version_conflict`, with a `digest` also where the plan is another one by now.
   */
  restoreAt(time: Date | string, options?: RestoreAtOptions): Promise<PlanOutcome>;
  /**
   * Undoes the deeds of one actor: the texts it wrote, its renames, and its deletes where the path is free now. A deed
   * that others have built on since is left, and the answer names it. A GET for each kept version and each file, and
   * the requests of each change.
   *
   * @throws MemoryError as `restoreAt`.
   */
  undo(options: UndoOptions): Promise<PlanOutcome>;
  /**
   * Takes the text of a version out for good: out of the history, and out of the versions that a bucket with versioning
   * keeps. Its path, time, size and writer stay, with who took it out and when. Its limits are in docs/history.md.
   *
   * @throws MemoryError `not_found`; `invalid_command` (`reason: 'current'`) while files hold that text, which `paths`
   * and `versions` name: those files are edited or deleted, this version is redacted again, and then those;
   * `unavailable` where other processes move the text at every look; `access_denied` where the bucket's own versions
   * may not be removed: then it is run again.
   */
  redact(version: VersionRef, options?: CallOptions): Promise<Redaction>;
  /**
   * Traces a version, or all that were ever at a path: the turns of workers that read it, the versions that they wrote
   * from then on, the turns that read those, and so on; and the gaps where more may have come of it. Costs as much as
   * `list` of all files, and a GET for each stored turn.
   *
   * @throws MemoryError `not_found` where no such version is known; `invalid_command` where several begin so.
   */
  trace(of: { readonly path: string; readonly version?: string }, options?: CallOptions): Promise<Trace>;
}

export interface RestoreOptions extends CallOptions {
  /** The version that the file must have, as `files.read` names it; null: the path must be empty. */
  readonly ifUnchanged?: string | null | undefined;
}

export interface RestoreAtOptions extends CallOptions {
  /** The file, or the directory with everything below it, to be restored; default all. */
  readonly below?: string;
  /** True to plan without writing. */
  readonly dryRun?: boolean;
  /** The `digest` of a dry run: writes only while the plan is that one. */
  readonly digest?: string | undefined;
  /**
   * True to restore the files that can be restored, though others are left. Without it, one file that is left stops the
   * whole restore.
   */
  readonly partial?: boolean;
}

export interface UndoOptions extends CallOptions {
  /** The actor to be undone: its text, or the hash by which the log names it. */
  readonly writer: string;
  /**
   * True to undo also the deeds that others have built on: the file becomes as it was before the first of those deeds.
   */
  readonly force?: boolean;
  /** True to plan without writing. */
  readonly dryRun?: boolean;
  /** The `digest` of a dry run: writes only while the plan is that one. */
  readonly digest?: string | undefined;
}

/** The surroundings of a history, besides the files. */
interface HistorySurroundings {
  /** The versions that a bucket keeps beside the current objects. */
  readonly versions?: ObjectVersions | undefined;
  /** The days for which expiry keeps versions; undefined: unknown. */
  readonly retentionDays?: number | undefined;
  /** The tree as its users see it, with its mounts; the tenant's own unless given. */
  readonly seen?: Pick<Tree, 'isAlwaysDirectory'> | undefined;
  /** The actor of changes whose call names none. */
  readonly actor?: string | undefined;
}

/**
 * Makes the history of a tenant.
 *
 * @param tree writes the restored texts.
 */
export function createHistory(
  tenant: Tenant,
  tree: Tree,
  { versions, retentionDays, seen = tree, actor }: HistorySurroundings = {},
): History {
  const acting = <T extends CallOptions>(options: T | undefined): T => ({ actor, ...options }) as T;
  // A mount lies directly below the root.
  const isHidden = (path: MemoryPath): boolean =>
    path !== MEMORY_ROOT && seen.isAlwaysDirectory(joinPath(MEMORY_ROOT, ...segmentsOf(path).slice(0, 1)));
  return {
    async state({ signal } = {}) {
      const keyring = await tenant.keyrings.load({ signal });
      if (keyring === undefined) return 'absent';
      return keyring.keepsHistory ? 'on' : 'off';
    },
    async list(path, options = {}) {
      const at = path === undefined ? MEMORY_ROOT : pathOf(path);
      const { writer, limit } = options;
      if (writer !== undefined) checkActor(writer, 'writer');
      const work = await openWork(tenant, options);
      const page = pageOf(options, work && writer !== undefined ? isBy(work, writer) : undefined);
      if (work === undefined) return [];
      const { signal } = options;
      const newest = limit !== undefined && {
        count: limit,
        isEnough: (past: Past, since: number) => itemByItem(isFull(past, page, since), signal),
      };
      const readAll = (): Promise<Past> =>
        newest ? readNewestOfAll(work, newest, options.onProgress) : readWholePast(work, options.onProgress);
      const readAt = (path: MemoryPath): Promise<Past> =>
        newest ? readNewest(work, path, newest) : readPast(work, path);
      const past = at === MEMORY_ROOT ? await readAll() : (await readMeantPast(work, at, readAt)).past;
      const damaged = past.damaged.records.length + past.damaged.files.length;
      if (damaged > 0) options.onDamaged?.(damaged);
      return itemByItem(entriesOf(past, page, await readActors(work)), signal);
    },
    async read(name, options = {}) {
      const { path, version, bytes } = await readVersion(tenant, options, nameIn(name));
      return { path, version: version.id, bytes, text: () => textOf(bytes) };
    },
    async trace({ path: given, version }, options = {}) {
      const at = pathOf(given);
      const beginning = version === undefined ? '' : beginningOf(version);
      const work = await openWork(tenant, options);
      if (work === undefined) throw version === undefined ? noFile() : noVersion();
      const known = await readKnown(work);
      const seenAt = (path: MemoryPath) => itemByItem(versionsAt(known, path), options.signal);
      const isGiven = (await seenAt(at)).length > 0;
      const path = isGiven ? at : inNfc(at);
      const ids = (await seenAt(path)).filter((id) => id.startsWith(beginning));
      if (ids.length === 0) throw version === undefined ? noFile() : noVersion();
      if (version !== undefined && ids.length > 1) throw severalBegin(ids.length);
      return itemByItem(traceVersions(known, path, ids), options.signal);
    },
    async restore(name, given) {
      const { ifUnchanged, ...options } = acting(given);
      const { path, version, bytes } = await readVersion(tenant, options, nameIn(name));
      if (isHidden(path)) throw hidden();
      const current = await tree.readVersion(path, { ...options, ofAnySize: true });
      if (ifUnchanged !== undefined && (current?.etag ?? null) !== ifUnchanged) {
        const code = ifUnchanged === null ? 'already_exists' : 'version_conflict';
        throw new MemoryError(code, 'The file is no longer what was named.', { retry: 'never' });
      }
      if (current !== undefined && sameBytes(current.content, bytes))
        return { path, version: version.id, restored: false };
      const written = { path, text: bytes, version, replaced: current };
      await writeBack({ tenant, tree, call: options, versions }, written);
      return { path, version: version.id, restored: true };
    },
    async restoreAt(time, options) {
      const { below = MEMORY_ROOT, dryRun = false, partial = false, digest, ...call } = acting(options);
      const now = tenant.stamps.now();
      const [moment, given] = [momentOf(time, now), pathOf(below)];
      const expiredBefore = retentionDays === undefined ? 0 : now - retentionDays * DAY_MS;
      return carryOut(tenant, tree, {
        call,
        versions,
        dryRun,
        partial,
        digest,
        namesWriters: true,
        plan(past, { keyring: { keptSince } }) {
          const below = meantIn(past, given);
          return planRestoreAt(past, { time: moment, below, expiredBefore, keptSince, isHidden });
        },
      });
    },
    async undo(options) {
      const { writer, force = false, dryRun = false, digest, ...call } = acting(options);
      checkActor(writer, 'writer');
      return carryOut(tenant, tree, {
        call,
        versions,
        dryRun,
        digest,
        partial: true,
        plan: (past, work) => planUndo(past, { isMeant: isBy(work, writer), force, isHidden }),
      });
    },
    async redact(name, options) {
      refuseWriting(tenant);
      const named = nameIn(name);
      const work = await openWork(tenant, acting(options));
      if (work === undefined) throw noVersion();
      return redactVersion(work, named, versions);
    },
  };
}

/** Makes a test for the keyed hash of one actor, whom the caller names by its text or by the hash itself. */
function isBy({ keyring }: Work, writer: string): (by: string | undefined) => boolean {
  const id = toBase64url(keyring.names.writerId(writer));
  return (by) => by !== undefined && (by === id || by === writer);
}

function nameIn({ path, version }: VersionRef): GivenName {
  return { path: pathOf(path), beginning: beginningOf(version) };
}

function pathOf(path: unknown): MemoryPath {
  if (typeof path === 'string') return parseGivenPath(path);
  throw new MemoryError('invalid_command', 'The path must be a text.');
}

/** Finds the path that a caller means: as it was given where the past knows it so, otherwise in NFC. */
function meantIn({ versions, bindings, leaves }: Past, given: MemoryPath): MemoryPath {
  const isIn = (path: MemoryPath | undefined): boolean =>
    path !== undefined && (path === given || isWithin(path, given));
  const isKnown =
    [...versions.keys()].some((id) => bindings(id).some(({ path }) => isIn(path))) ||
    leaves.some(({ from, to }) => isIn(from) || isIn(to));
  return isKnown ? given : inNfc(given);
}

function textOf(bytes: Uint8Array): string {
  const text = decodeText(bytes);
  if (text !== undefined) return text;
  throw new MemoryError('not_text', 'The version is not UTF-8 text.', { details: { size: bytes.length } });
}

function hidden(): MemoryError {
  return new MemoryError('invalid_command', 'Another memory is mounted there and hides the file.', {
    details: { reason: 'hidden_by_mount' },
  });
}
