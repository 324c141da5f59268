import { createHash } from 'node:crypto';
import { ancestorsOf, directoriesOf, type MemoryPath } from '../language/path.ts';
import type { Version } from './past/past.ts';

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

/** The plan while it is made, by paths; what is at a path is renamed before anything is written there. */
export interface Draft {
  readonly renames: Map<string, PlannedChange & { readonly to: string }>;
  readonly writes: Map<string, PlannedChange>;
  readonly left: Map<string, LeftFile>;
}

export function draftPlan(): Draft {
  return { renames: new Map(), writes: new Map(), left: new Map() };
}

/** Tells of a path whether something is mounted there or above it. */
export type IsHidden = (path: MemoryPath) => boolean;

/** Leaves away what nobody would see, and what has no room where it would come to lie when all else is done. */
export function finishPlan(
  draft: Draft,
  files: ReadonlyMap<MemoryPath, unknown>,
  isHidden: IsHidden,
): HistoryPlan {
  leaveHidden(draft, isHidden);
  while (leaveOccupied(draft, files));
  const { renames, writes, left } = draft;
  const changes = [...renames.values(), ...writes.values()];
  return { changes: changes.sort(byPath), left: [...left.values()].sort(byPath) };
}

/** The same plan without what is refused, and what cannot be done without that. */
export function leaveRefused(
  plan: HistoryPlan,
  refused: ReadonlyMap<PlannedChange, Pick<LeftFile, 'rules' | 'limit'>>,
  files: ReadonlyMap<MemoryPath, unknown>,
): HistoryPlan {
  if (refused.size === 0) return plan;
  const draft = draftPlan();
  for (const change of plan.changes) {
    if (isRename(change)) draft.renames.set(change.path, change);
    else draft.writes.set(change.path, change);
  }
  for (const each of plan.left) draft.left.set(each.path, each);
  for (const [change, why] of refused) {
    if (isRename(change)) leaveRename(draft, change, 'refused');
    else leaveWrite(draft, change, 'refused');
    const left = draft.left.get(change.path);
    if (left !== undefined) draft.left.set(change.path, { ...left, ...why });
  }
  return { ...plan, ...finishPlan(draft, files, () => false) };
}

function isRename(change: PlannedChange): change is PlannedChange & { readonly to: string } {
  return change.to !== undefined;
}

function leaveHidden(draft: Draft, isHidden: IsHidden): void {
  for (const rename of draft.renames.values())
    if ([rename.path, rename.to].some((path) => isHidden(path as MemoryPath)))
      leaveRename(draft, rename, 'hidden_by_mount');
  for (const write of draft.writes.values())
    if (isHidden(write.path as MemoryPath)) leaveWrite(draft, write, 'hidden_by_mount');
}

/** False: there was nothing to leave away. */
function leaveOccupied(draft: Draft, files: ReadonlyMap<MemoryPath, unknown>): boolean {
  const { renames, writes } = draft;
  const staying = new Set<string>(files.keys());
  for (const { path, what } of writes.values()) if (what === 'delete') staying.delete(path);
  for (const path of renames.keys()) staying.delete(path);
  const directories = new Set<string>(directoriesOf([...staying] as MemoryPath[]));
  const isOccupied = (path: string): boolean =>
    staying.has(path) ||
    directories.has(path) ||
    ancestorsOf(path as MemoryPath).some((above) => staying.has(above));
  const stuck = renameLayers([...renames.values()]).stuck;
  let found = false;
  for (const rename of renames.values()) {
    if (!isOccupied(rename.to) && !stuck.includes(rename)) continue;
    found = true;
    leaveRename(draft, rename, 'occupied');
  }
  for (const write of writes.values()) {
    if (write.what !== 'create' || !isOccupied(write.path)) continue;
    found = true;
    leaveWrite(draft, write, 'occupied');
  }
  return found;
}

/** The file stays where it is, and gets its text there. */
function leaveRename(
  { renames, writes, left }: Draft,
  { path, to, fromVersion }: PlannedChange & { readonly to: string },
  reason: LeftFile['reason'],
): void {
  renames.delete(path);
  left.set(path, { path, reason, ...(fromVersion !== undefined && { version: fromVersion }) });
  const after = writes.get(to);
  if (after === undefined || after.fromVersion !== fromVersion) return;
  writes.delete(to);
  writes.set(path, { ...after, path });
}

function leaveWrite(
  { writes, left }: Draft,
  { path, fromVersion, toVersion }: PlannedChange,
  reason: LeftFile['reason'],
): void {
  const version = toVersion ?? fromVersion;
  writes.delete(path);
  left.set(path, { path, reason, ...(version !== undefined && { version }) });
}

/** Renames that can be done at once, one layer after the other: a file leaves a path before another one comes to it. */
export function renameLayers<R extends { readonly path: string; readonly to?: string }>(
  renames: readonly R[],
): { readonly layers: readonly (readonly R[])[]; readonly stuck: readonly R[] } {
  const layers: R[][] = [];
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
