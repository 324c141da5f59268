import { createHash } from 'node:crypto';
import { ancestorsOf, directoriesOf, type MemoryPath } from '../../language/path.ts';
import type { Past, PastVersion } from '../past/past.ts';

/** A change to the file at a path. Versions are named as in `list`. */
export interface PlannedChange {
  readonly path: string;
  readonly what: 'create' | 'replace' | 'delete' | 'rename';
  /** The version that the file has now; absent for `create`. */
  readonly fromVersion?: string;
  /** The actor of that version, as in `list`, in a dry run of `restoreAt`; absent where it has none. */
  readonly writer?: string;
  /** The version whose text is written; absent for `delete` and `rename`. */
  readonly toVersion?: string;
  /** The new path of a rename. */
  readonly to?: string;
}

/** A file that a plan was asked to change, and leaves as it is. */
export interface LeftFile {
  readonly path: string;
  /**
   * `redacted`, `expired`: the text is no longer kept. `unrecorded`: no record tells where the version lay then.
   * `damaged`: the file, or a record of the history, cannot be read. `too_early`: the history reaches back with
   * certainty only to a later moment. `built_on`: others have written the versions `later` since. `occupied`: another
   * file or directory stands in the way. `hidden_by_mount`: another memory is mounted where the file lies or would lie,
   * and hides it. `refused`: the policy refuses it by its `rules`, or a `limit` has no room for it; a file whose text
   * would have gone there is refused too.
   */
  readonly reason:
    | 'redacted'
    | 'expired'
    | 'unrecorded'
    | 'damaged'
    | 'too_early'
    | 'built_on'
    | 'occupied'
    | 'hidden_by_mount'
    | 'refused';
  /** The version that the reason is about, where one is known. */
  readonly version?: string;
  /** The versions that others wrote since, the newest first. */
  readonly later?: readonly string[];
  /** The rules that the policy found broken. */
  readonly rules?: readonly string[];
  /** The limit that would be exceeded. */
  readonly limit?: 'file_bytes' | 'files' | 'tenant_bytes';
}

/** The changes and the files left. The plan is the same whoever asks. */
export interface HistoryPlan {
  readonly changes: readonly PlannedChange[];
  readonly left: readonly LeftFile[];
  /** The time of the first entry of the history, where the moment lies before it. */
  readonly begins?: Date;
}

/** A plan and its outcome. */
export interface PlanOutcome extends HistoryPlan {
  /**
   * `planned`: a dry run. `written`: the changes were made. `nothing`: the files need no change.
   * `withheld`: the plan leaves files, and the caller asked for all or nothing.
   */
  readonly outcome: 'planned' | 'written' | 'nothing' | 'withheld';
  /** The name of a dry run's plan. A caller that gives it back has only this plan carried out. */
  readonly digest?: string;
}

/** Hashes a plan by all that it does and leaves. */
export function planDigest({ changes, left }: HistoryPlan): string {
  return createHash('sha256')
    .update(JSON.stringify([changes, left]))
    .digest('base64url');
}

/** Tells whether two versions have the same text; false where one text was taken out. */
export function haveSameText(a: PastVersion, b: PastVersion): boolean {
  return a.id === b.id || (a.textHash !== undefined && a.textHash === b.textHash);
}

/** The texts of the versions that a plan names. */
export interface Texts {
  /**
   * Reads the text of a version; undefined where it is gone. @throws MemoryError `not_found` where it was taken out.
   */
  find(version: string): Promise<{ readonly version: PastVersion; readonly text: Uint8Array } | undefined>;
  /** Answers the bytes of a version's text; 0 without a version. */
  sizeOf(version: string | undefined): number;
}

/** A change as the planner makes it. */
export interface Change extends PlannedChange {
  readonly path: MemoryPath;
  readonly to?: MemoryPath;
}

interface DraftedPlan extends HistoryPlan {
  readonly changes: readonly Change[];
}

/**
 * A plan that is being made, by paths. A file that is deleted may make way for one that is renamed there, and written
 * then.
 */
export interface PlanDraft {
  readonly renames: Map<string, Change>;
  /** Creates and replacements, at the paths that renames lead to. */
  readonly writes: Map<string, Change>;
  readonly deletes: Map<string, Change>;
  readonly left: Map<string, LeftFile>;
  /** The paths of the files that are present. */
  readonly files: readonly MemoryPath[];
  readonly isHidden: IsHidden;
  readonly begins?: Date;
}

/** Tells whether another memory is mounted at a path or above it. */
export type IsHidden = (path: MemoryPath) => boolean;

export function draftPlan({ files }: Past, isHidden: IsHidden): PlanDraft {
  const [renames, writes, deletes, left] = [new Map(), new Map(), new Map(), new Map()];
  return { renames, writes, deletes, left, files: [...files.keys()], isHidden };
}

export function planOf({ renames, writes, deletes, left, begins }: PlanDraft): DraftedPlan {
  const changes = [...renames.values(), ...writes.values(), ...deletes.values()].sort(byPath);
  return { changes, left: [...left.values()].sort(byPath), ...(begins !== undefined && { begins }) };
}

/**
 * Takes out the changes to files that a mount hides, and those whose new path is occupied when all others are done.
 * Each change that it takes out may block others, so it looks again until all that remain have their paths free.
 */
export function closeDraft(draft: PlanDraft): void {
  const { renames, writes, deletes, files, isHidden } = draft;
  for (const changes of [renames, writes, deletes])
    for (const change of changes.values())
      if (isHidden(change.path) || isHidden(change.to ?? change.path))
        leaveChange(draft, change, { reason: 'hidden_by_mount' });
  for (let isStable = false; !isStable; ) {
    const staying = new Set(files);
    for (const { path } of [...deletes.values(), ...renames.values()]) staying.delete(path);
    const directories = directoriesOf([...staying]);
    const isOccupied = (path: MemoryPath): boolean =>
      staying.has(path) || directories.has(path) || ancestorsOf(path).some((above) => staying.has(above));
    const { stuck } = renameLayers([...renames.values()]);
    const occupied = [...renames.values(), ...writes.values()].filter((change) =>
      change.to === undefined
        ? change.what === 'create' && isOccupied(change.path)
        : isOccupied(change.to) || stuck.includes(change),
    );
    for (const change of occupied) leaveChange(draft, change, { reason: 'occupied' });
    isStable = occupied.length === 0;
  }
}

/** Takes a change out of the plan, and says why. Where that is a rename, the file gets its text at the old path. */
export function leaveChange(
  { renames, writes, deletes, left }: PlanDraft,
  { path, what, to, fromVersion, toVersion: version = fromVersion }: Change,
  { reason, ...why }: Pick<LeftFile, 'reason' | 'rules' | 'limit'>,
): void {
  left.set(path, { path, reason, ...(version !== undefined && { version }), ...why });
  if (to === undefined) {
    (what === 'delete' ? deletes : writes).delete(path);
    return;
  }
  renames.delete(path);
  const after = writes.get(to);
  if (after === undefined || after.fromVersion !== fromVersion) return;
  writes.delete(to);
  writes.set(path, { ...after, path });
}

/**
 * Orders renames into layers that can each be done at once: a file leaves a path in one before another comes in the
 * next.
 */
export function renameLayers(renames: readonly Change[]): {
  readonly layers: readonly (readonly Change[])[];
  readonly stuck: readonly Change[];
} {
  const layers: Change[][] = [];
  let waiting = renames;
  while (waiting.length > 0) {
    const sources = new Set(waiting.map(({ path }) => path));
    const ready = waiting.filter(({ to }) => to !== undefined && !sources.has(to));
    if (ready.length === 0) break;
    layers.push(ready);
    const done = new Set(ready);
    waiting = waiting.filter((rename) => !done.has(rename));
  }
  return { layers, stuck: waiting };
}

export function byPath(a: { readonly path: string }, b: { readonly path: string }): number {
  return a.path < b.path ? -1 : Number(a.path > b.path);
}
