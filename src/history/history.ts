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
import { entriesOf, type HistoryEntry, type HistoryListOptions, type Redaction } from './entries.ts';
import { entryPage } from './entry-page.ts';
import { readKnown, versionsAt } from './known.ts';
import { momentOf } from './moment.ts';
import type { PlanOutcome } from './plan.ts';
import { planRestoreAt } from './plan-restore-at.ts';
import { planUndo, type Selection } from './plan-undo.ts';
import { readVersion } from './read-version.ts';
import { redactVersion } from './redact.ts';
import { type Trace, traceVersions } from './trace.ts';
import { beginningOf, chosen, noFile, noVersion, severalBegin } from './version-name.ts';
import { type Past, readMeantPast, readWholePast } from './versions.ts';

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
   * paths, before and after a rename, is in it. Nothing for a path at which nothing ever was. A GET for each version; for
   * all files another for each of them; `onProgress` counts those. By pages with `limit` and `before`.
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
   * @throws MemoryError as `read`; `version_conflict` where another process changed the file meanwhile; `invalid_command`
   * (`reason: 'hidden_by_mount'`) where another memory is mounted at the path or above it.
   */
  restore(version: VersionName, options?: Call): Promise<RestoredVersion>;
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
   * @throws MemoryError `not_found`; `invalid_command` (`reason: 'current'`) while a file holds that text; `access_denied`
   * where the bucket's own versions may not be removed: then it is run again.
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
      const work = await openWork(session, options);
      if (work === undefined) return entryPage([], options);
      const { onProgress, writer } = options;
      if (writer !== undefined) checkActor(writer, 'writer');
      const past =
        at === MEMORY_ROOT ? await readWholePast(work, onProgress) : (await readMeantPast(work, at)).past;
      const entries = entriesOf(past, await readActors(work));
      return entryPage(writer === undefined ? entries : entries.filter(isBy(work, writer)), options);
    },
    async read(name, options = {}) {
      const given = pathOf(name.path);
      const { path, version, bytes } = await readVersion(session, options, {
        ...{ path: given, named: name.version },
      });
      return { path, version, bytes, text: () => textOf(bytes) };
    },
    async trace({ path: given, version }, options = {}) {
      const at = pathOf(given);
      const beginning = version === undefined ? '' : beginningOf(version);
      const work = await openWork(session, options);
      if (work === undefined) throw version === undefined ? noFile() : noVersion();
      const known = await readKnown(work);
      const path = [at, inNfc(at)].find((each) => versionsAt(known, each).length > 0) ?? at;
      const ids = versionsAt(known, path).filter((id) => id.startsWith(beginning));
      if (ids.length === 0) throw version === undefined ? noFile() : noVersion();
      if (version !== undefined && ids.length > 1) throw severalBegin(ids.length);
      return traceVersions(known, path, ids);
    },
    async restore(name, options = {}) {
      const given = pathOf(name.path);
      const { path, version, bytes } = await readVersion(session, options, {
        ...{ path: given, named: name.version },
      });
      if (isHidden(path)) throw hidden();
      const current = await tree.readVersion(path, options);
      if (current !== undefined && sameBytes(current.content, bytes))
        return { path, version, restored: false };
      if (current === undefined) await tree.create(path, bytes, { ...options, wasThere: true });
      else await tree.replace(path, { content: bytes, version: current.etag }, options);
      return { path, version, restored: true };
    },
    async restoreAt(time, { below = MEMORY_ROOT, dryRun = false, partial = false, digest, ...call } = {}) {
      const now = session.clock();
      const [moment, given] = [momentOf(time, now), pathOf(below)];
      const expiredBefore = retentionDays === undefined ? 0 : now - retentionDays * DAY_MS;
      return carryOut(session, tree, {
        ...{ call, dryRun, partial, digest, namesWriters: true },
        plan: (past, { keyring: { keptSince } }) =>
          planRestoreAt(past, {
            ...{ time: moment, below: meantIn(past, given), expiredBefore, keptSince, isHidden },
          }),
      });
    },
    async undo({ writer, force = false, dryRun = false, digest, ...call }) {
      checkActor(writer, 'writer');
      return carryOut(session, tree, {
        ...{ call, dryRun, digest, partial: true },
        plan: (past, work) => planUndo(past, byWriter(work, writer), { force, isHidden }),
      });
    },
    async redact(name, options = {}) {
      refuseWriting(session);
      const given = pathOf(name.path);
      const beginning = beginningOf(name.version);
      const work = await openWork(session, options);
      if (work === undefined) throw noVersion();
      const { path, past } = await readMeantPast(work, given);
      return redactVersion(work, { path, version: chosen(past, beginning), past }, versions);
    },
  };
}

/** An entry names its actor, or where only that is known, what stands for it. */
function isBy({ keyring }: Work, writer: string): (entry: HistoryEntry) => boolean {
  const idOf = (actor: string): string => toBase64url(keyring.names.writerId(actor));
  const id = idOf(writer);
  return ({ writer: by }) => by !== undefined && (by === writer || by === id || idOf(by) === writer);
}

function byWriter({ keyring }: Work, writer: string): Selection {
  const id = toBase64url(keyring.names.writerId(writer));
  const isMeant = (by: string | undefined): boolean => by === id || by === writer;
  return { wrote: (version) => isMeant(version.writer), moved: ({ by }) => isMeant(by) };
}

function pathOf(path: unknown): MemoryPath {
  if (typeof path === 'string') return parseGivenPath(path);
  throw refused('The path must be a text.');
}

/** A directory, or a file, in the form that was given where the past knows it so, and otherwise in NFC. */
function meantIn({ places, moves }: Past, given: MemoryPath): MemoryPath {
  const isIn = (path: MemoryPath | undefined): boolean =>
    path !== undefined && (path === given || isWithin(path, given));
  const isKnown =
    [...places.values()].some((paths) => [...paths].some(isIn)) ||
    moves.some(({ from, to }) => isIn(from) || isIn(to));
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
