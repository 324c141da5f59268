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
import { type Call, checkActor, openWork, refuseWriting, type Session, type Work } from '../tree/session.ts';
import type { Tree } from '../tree/tree.ts';
import { readActors } from './actors.ts';
import { carryOut } from './carry-out.ts';
import {
  entriesOf,
  type HistoryEntry,
  type HistoryListOptions,
  isFull,
  pageOf,
  type Redaction,
} from './entries.ts';
import { readKnown, versionsAt } from './known.ts';
import { momentOf } from './moment.ts';
import { itemByItem } from './past/model.ts';
import type { Past } from './past/past.ts';
import { readMeantPast, readNewest, readNewestOfAll, readPast, readWholePast } from './past/read.ts';
import type { PlanOutcome } from './plan.ts';
import { planRestoreAt } from './plan-restore-at.ts';
import { planUndo } from './plan-undo.ts';
import { readVersion } from './read-version.ts';
import { redactVersion } from './redact.ts';
import { type Trace, traceVersions } from './trace.ts';
import { beginningOf, noFile, noVersion, severalBegin } from './version-name.ts';
import { writeBack } from './write-back.ts';

/** A version of a file, as `list` names it; of the version the first characters are enough where no other has them. */
export interface VersionName {
  readonly path: string;
  readonly version: string;
}

export interface VersionContent extends VersionName {
  readonly bytes: Uint8Array;
  /** The bytes as UTF-8. @throws MemoryError `not_text` when they are not. */
  text(): string;
}

export interface RestoredVersion extends VersionName {
  /** False: that is the text of the file already. */
  readonly restored: boolean;
}

/**
 * What a tenant's files were, where the tenant keeps history (docs/history.md). It is the host's and the operator's, never the
 * model's. All reject with `MemoryError`: `invalid_path`, `invalid_command` for an argument of another type, and what the
 * store and the keyring fail with.
 */
export interface History {
  /**
   * Whether the tenant keeps history now; `absent` for a tenant to which nothing was ever written. Costs the requests that load the
   * keyring, none where it is loaded.
   */
  state(options?: Call): Promise<'on' | 'off' | 'absent'>;
  /**
   * What happened to a file, or to all of them, the newest first. The file's own path is enough: what it was under other
   * paths, before and after a rename, is in it. Nothing for a path at which nothing ever was. A GET for each version; with a
   * `limit` for little more than those of the page; for all files without it one for each version and each file, which
   * `onProgress` counts. By pages with `limit` and `before`.
   *
   * @throws MemoryError `misconfigured` for a limit that is no whole number from 1 on; `not_found` where `before` has expired.
   */
  list(path?: string, options?: HistoryListOptions): Promise<readonly HistoryEntry[]>;
  /**
   * The text of one version, of the one that the file has now as well.
   *
   * @throws MemoryError `not_found`, with `details.reason` `redacted` where the text was taken out; `invalid_command` where
   * several versions begin so.
   */
  read(version: VersionName, options?: Call): Promise<VersionContent>;
  /**
   * Writes the text of a version into its file as a new version, or creates the file where it is gone.
   *
   * @throws MemoryError as `read`, with `reason` `redacted` also where the text was taken out while it was written, and taken
   * back; `outcome_unknown` (`reason: 'redacted'`, `paths`, `versions`) where it may lie in a file then; `version_conflict`, or
   * `already_exists`, where the file is not what `ifUnchanged` says, or another process changed it meanwhile; `invalid_command` (`reason: 'hidden_by_mount'`) where another memory is mounted at
   * the path or above it.
   */
  restore(version: VersionName, options?: RestoreOptions): Promise<RestoredVersion>;
  /**
   * Makes the files what they were at a moment, by the clocks of their writers: what was written, renamed and deleted before
   * it counts, and what carries the moment itself does not. All is done by new versions, on behalf of the actor who asks;
   * nothing that is kept is lost. What another process changes meanwhile is judged again. A GET for each version that is kept
   * and each file, and the requests of each change; for a dry run those of the actors. Answers `nothing` where nothing differs.
   *
   * @param time a `Date`, or ISO 8601 with Z or its distance from UTC.
   * @throws MemoryError `invalid_command` for another time, or one in the future; `misconfigured` where the tenant keeps no
   * history now; `version_conflict`, with a `digest` also where the plan is another one by now.
   */
  restoreAt(time: Date | string, options?: RestoreAtOptions): Promise<PlanOutcome>;
  /**
   * Takes back what one actor did: the texts it wrote where no other actor has written since, its renames where the file was neither
   * renamed nor written by others since, its deletes where nothing lies at the path now. What others have built on is left,
   * and named. A GET for each version that is kept and each file, and the requests of each change.
   *
   * @throws MemoryError as `restoreAt`.
   */
  undo(options: UndoOptions): Promise<PlanOutcome>;
  /**
   * Takes the text of a version out for good: out of the history, and out of what a bucket with versioning keeps. Its path,
   * time, size and writer stay, with who took it out and when. What it does not reach is told in docs/history.md.
   *
   * @throws MemoryError `not_found`; `invalid_command` (`reason: 'current'`) while files hold that text, which `paths` and
   * `versions` name: those files are edited or deleted, those versions redacted, and then this one again; `unavailable` where
   * others move it at every look; `access_denied` where the bucket's own versions may not be removed: then it is run again.
   */
  redact(version: VersionName, options?: Call): Promise<Redaction>;
  /**
   * What came of a version, or of all that were ever at a path: the turns of workers that read it, what they wrote from
   * then on, the turns that read that, and so on; and what cannot be told. The cost of `list` of all files, and a GET for
   * each turn that is stored.
   *
   * @throws MemoryError `not_found` where nothing is known of such a version; `invalid_command` where several begin so.
   */
  trace(of: { readonly path: string; readonly version?: string }, options?: Call): Promise<Trace>;
}

export interface RestoreOptions extends Call {
  /** Writes only where the file is that version, as `files.read` names it; null: where there is none. */
  readonly ifUnchanged?: string | null | undefined;
}

export interface RestoreAtOptions extends Call {
  /** The file, or the directory with all below it, that is restored; default all. */
  readonly below?: string;
  /** Plans, and writes nothing. */
  readonly dryRun?: boolean;
  /** The `digest` of a dry run: writes while the plan is still that one, and nothing once it is another one. */
  readonly digest?: string | undefined;
  /** Restores what can be had, where some of it cannot; otherwise nothing is written then. */
  readonly partial?: boolean;
}

export interface UndoOptions extends Call {
  /** Whose deeds: the text of an actor, or what the log names it by where that is not known. */
  readonly writer: string;
  /** Takes back also what others have built on: the file is what it was before the first of those deeds. */
  readonly force?: boolean;
  /** Plans, and writes nothing. */
  readonly dryRun?: boolean;
  /** The `digest` of a dry run: writes while the plan is still that one, and nothing once it is another one. */
  readonly digest?: string | undefined;
}

/** What a history knows besides the files. */
interface Surroundings {
  /** What a bucket keeps beside the current objects. */
  readonly versions?: ObjectVersions | undefined;
  /** How long an expiry run keeps versions; undefined: nothing is known of such runs. */
  readonly retentionDays?: number | undefined;
  /** The tree as its users see it, with what is mounted in it; the tenant's own unless given. */
  readonly seen?: Pick<Tree, 'isAlwaysDirectory'> | undefined;
}

/** @param tree what is restored is written by it. */
export function createHistory(
  session: Session,
  tree: Tree,
  { versions, retentionDays, seen = tree }: Surroundings = {},
): History {
  // A mount lies directly below the root.
  const isHidden = (path: MemoryPath): boolean =>
    path !== MEMORY_ROOT && seen.isAlwaysDirectory(joinPath(MEMORY_ROOT, ...segmentsOf(path).slice(0, 1)));
  return {
    async state({ signal } = {}) {
      const keyring = await session.keyrings.load({ signal });
      if (keyring === undefined) return 'absent';
      return keyring.keepsHistory ? 'on' : 'off';
    },
    async list(path, options = {}) {
      const at = path === undefined ? MEMORY_ROOT : pathOf(path);
      const { writer, limit } = options;
      if (writer !== undefined) checkActor(writer, 'writer');
      const work = await openWork(session, options);
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
      return itemByItem(entriesOf(past, page, await readActors(work)), signal);
    },
    async read(name, options = {}) {
      const given = pathOf(name.path);
      const { path, version, bytes } = await readVersion(session, options, {
        ...{ path: given, named: name.version },
      });
      return { path, version: version.id, bytes, text: () => textOf(bytes) };
    },
    async trace({ path: given, version }, options = {}) {
      const at = pathOf(given);
      const beginning = version === undefined ? '' : beginningOf(version);
      const work = await openWork(session, options);
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
    async restore(name, { ifUnchanged, ...options } = {}) {
      const given = pathOf(name.path);
      const { path, version, bytes } = await readVersion(session, options, {
        ...{ path: given, named: name.version },
      });
      if (isHidden(path)) throw hidden();
      const current = await tree.readVersion(path, options);
      if (ifUnchanged !== undefined && (current?.etag ?? null) !== ifUnchanged) {
        const code = ifUnchanged === null ? 'already_exists' : 'version_conflict';
        throw new MemoryError(code, 'The file is no longer what was named.', { retry: 'never' });
      }
      if (current !== undefined && sameBytes(current.content, bytes))
        return { path, version: version.id, restored: false };
      const written = { path, text: bytes, version, replaced: current };
      await writeBack({ session, tree, call: options, versions }, written);
      return { path, version: version.id, restored: true };
    },
    async restoreAt(time, { below = MEMORY_ROOT, dryRun = false, partial = false, digest, ...call } = {}) {
      const now = session.stamps.now();
      const [moment, given] = [momentOf(time, now), pathOf(below)];
      const expiredBefore = retentionDays === undefined ? 0 : now - retentionDays * DAY_MS;
      return carryOut(session, tree, {
        ...{ call, versions, dryRun, partial, digest, namesWriters: true },
        plan: (past, { keyring: { keptSince } }) =>
          planRestoreAt(past, {
            ...{ time: moment, below: meantIn(past, given), expiredBefore, keptSince, isHidden },
          }),
      });
    },
    async undo({ writer, force = false, dryRun = false, digest, ...call }) {
      checkActor(writer, 'writer');
      return carryOut(session, tree, {
        ...{ call, versions, dryRun, digest, partial: true },
        plan: (past, work) => planUndo(past, { isMeant: isBy(work, writer), force, isHidden }),
      });
    },
    async redact(name, options = {}) {
      refuseWriting(session);
      const given = pathOf(name.path);
      const beginning = beginningOf(name.version);
      const work = await openWork(session, options);
      if (work === undefined) throw noVersion();
      return redactVersion(work, { path: given, beginning }, versions);
    },
  };
}

/** Tells whether a keyed hash of an actor is meant by its text, or by the hash itself where only that is known. */
function isBy({ keyring }: Work, writer: string): (by: string | undefined) => boolean {
  const id = toBase64url(keyring.names.writerId(writer));
  return (by) => by !== undefined && (by === id || by === writer);
}

function pathOf(path: unknown): MemoryPath {
  if (typeof path === 'string') return parseGivenPath(path);
  throw refused('The path must be a text.');
}

/** A directory, or a file, in the form that was given where the past knows it so, and otherwise in NFC. */
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

function refused(message: string): MemoryError {
  return new MemoryError('invalid_command', message);
}
