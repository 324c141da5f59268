import { createHash } from 'node:crypto';
import { ancestorsOf, directoriesOf, type MemoryPath } from '../language/path.ts';
import type { Past, Version } from './past/past.ts';

/** What is done to the file at a path. Versions are named as in `list`. */
export interface PlannedChange {
  readonly path: string;
  readonly what: 'create' | 'replace' | 'delete' | 'rename';
  /** The version that the file has now; absent for `create`. */
  readonly fromVersion?: string;
  /** In a dry run of `restoreAt`: the actor of that version, as in `list`; absent where it has none. */
  readonly writer?: string;
  /** The version whose text is written; absent for `delete` and `rename`. */
  readonly toVersion?: string;
  /** Of a rename: the new path. */
  readonly to?: string;
}

/** A file that is left as it is, though it was asked for. */
export interface LeftFile {
  readonly path: string;
  /**
   * `redacted`, `expired`: the text is not kept. `unrecorded`: nothing tells where the version lay then. `damaged`: it, or a
   * record of the history, cannot be read. `too_early`: the history does not tell what was there then, for all that is kept
   * for certain is later. `built_on`: by others, as the versions `later`. `occupied`: another file or directory stands in the way.
   * `hidden_by_mount`: another memory is mounted where the file lies or would lie, so that nobody would see it.
   * `refused`: by the policy, as its `rules`, or because there is no room in a `limit`; with it what would have come from there.
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
  /** The version that is meant, where one is known. */
  readonly version?: string;
  /** The newest first. */
  readonly later?: readonly string[];
  /** Of what the policy refused: the rules that were broken. */
  readonly rules?: readonly string[];
  /** Of what has no room: the limit that would be exceeded. */
  readonly limit?: 'file_bytes' | 'files' | 'tenant_bytes';
}

/** What would be done. Nothing of it depends on who asks. */
export interface HistoryPlan {
  readonly changes: readonly PlannedChange[];
  readonly left: readonly LeftFile[];
  /** Of a moment before the first entry of the history: the time of that entry. */
  readonly begins?: Date;
}

/** The plan with what became of it. */
export interface PlanOutcome extends HistoryPlan {
  /**
   * `planned`: of a dry run. `written`: the changes were made. `nothing`: there is nothing to change, and nothing was written.
   * `withheld`: something cannot be had, and parts were not asked for.
   */
  readonly outcome: 'planned' | 'written' | 'nothing' | 'withheld';
  /** Names the plan of a dry run. A caller that gives it back has this plan carried out, and no other. */
  readonly digest?: string;
}

/** Names a plan by all that it does and leaves. */
export function planDigest({ changes, left }: HistoryPlan): string {
  return createHash('sha256')
    .update(JSON.stringify([changes, left]))
    .digest('base64url');
}

/** Whether two versions have the same text; false where one was taken out. */
export function haveSameText(a: Version, b: Version): boolean {
  return a.id === b.id || (a.textHash !== undefined && a.textHash === b.textHash);
}

/** The texts of the versions that a plan names. */
export interface Texts {
  /** Undefined where it is gone. @throws MemoryError `not_found` where it was taken out. */
  find(version: string): Promise<{ readonly version: Version; readonly text: Uint8Array } | undefined>;
  /** In bytes; 0 for no version. */
  sizeOf(version: string | undefined): number;
}

/** The plan while it is made, by paths; what is at a path is renamed before anything is written there. */
export interface Draft {
  readonly renames: Map<string, PlannedChange>;
  readonly writes: Map<string, PlannedChange>;
  readonly left: Map<string, LeftFile>;
  /** The paths of the files that are there. */
  readonly files: readonly MemoryPath[];
  readonly isHidden: IsHidden;
  readonly begins?: Date;
}

/** Tells of a path whether something is mounted there or above it. */
export type IsHidden = (path: MemoryPath) => boolean;

export function draftPlan({ files }: Past, isHidden: IsHidden): Draft {
  return { renames: new Map(), writes: new Map(), left: new Map(), files: [...files.keys()], isHidden };
}

export function planOf({ renames, writes, left, begins }: Draft): HistoryPlan {
  const changes = [...renames.values(), ...writes.values()].sort(byPath);
  return { changes, left: [...left.values()].sort(byPath), ...(begins !== undefined && { begins }) };
}

/**
 * Leaves away what nobody would see, and, until nothing more follows from that, what has no room where it would come to lie
 * when all else is done.
 */
export function settleDraft(draft: Draft): void {
  const { renames, writes, files, isHidden } = draft;
  for (const changes of [renames, writes])
    for (const change of changes.values())
      if ([change.path, change.to ?? change.path].some((path) => isHidden(path as MemoryPath)))
        leaveChange(draft, change, { reason: 'hidden_by_mount' });
  for (let isSettled = false; !isSettled; ) {
    const staying = new Set<string>(files);
    for (const { path, what } of writes.values()) if (what === 'delete') staying.delete(path);
    for (const path of renames.keys()) staying.delete(path);
    const directories = new Set<string>(directoriesOf([...staying] as MemoryPath[]));
    const isOccupied = (path: string): boolean =>
      staying.has(path) ||
      directories.has(path) ||
      ancestorsOf(path as MemoryPath).some((above) => staying.has(above));
    const { stuck } = renameLayers([...renames.values()]);
    const occupied = [...renames.values(), ...writes.values()].filter((change) =>
      change.to === undefined
        ? change.what === 'create' && isOccupied(change.path)
        : isOccupied(change.to) || stuck.includes(change),
    );
    for (const change of occupied) leaveChange(draft, change, { reason: 'occupied' });
    isSettled = occupied.length === 0;
  }
}

/** Of a rename that is left the file stays where it is, and gets its text there. */
export function leaveChange(
  { renames, writes, left }: Draft,
  { path, to, fromVersion, toVersion: version = fromVersion }: PlannedChange,
  { reason, ...why }: Pick<LeftFile, 'reason' | 'rules' | 'limit'>,
): void {
  left.set(path, { path, reason, ...(version !== undefined && { version }), ...why });
  if (to === undefined) {
    writes.delete(path);
    return;
  }
  renames.delete(path);
  const after = writes.get(to);
  if (after === undefined || after.fromVersion !== fromVersion) return;
  writes.delete(to);
  writes.set(path, { ...after, path });
}

/** Renames that can be done at once, one layer after the other: a file leaves a path before another one comes to it. */
export function renameLayers(renames: readonly PlannedChange[]): {
  readonly layers: readonly (readonly PlannedChange[])[];
  readonly stuck: readonly PlannedChange[];
} {
  const layers: PlannedChange[][] = [];
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
