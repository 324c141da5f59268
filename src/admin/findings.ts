import type { MemoryErrorCode } from '../errors.ts';
import type { LogicalName } from '../format/object-keys.ts';
import type { MemoryPath } from '../language/path.ts';
import type { Inspection, ListedRecord } from '../tree/records/scan.ts';
import type { RenamePhase } from '../tree/rename/register.ts';

/**
 * `left`: a rename was cut off, and the older place may go. `removed`: it is gone. `not_removed`: something changed
 * meanwhile or failed, and both places were kept. `undecided`: neither place is older. `in_progress`: a rename may be
 * under way.
 */
export type DuplicateState = 'left' | 'removed' | 'not_removed' | 'undecided' | 'in_progress';

/** One file at two places. A directory rename's own copies are no duplicates while its register knows of it. */
export interface DuplicateFinding {
  readonly kind: 'duplicate';
  readonly state: DuplicateState;
  readonly older: MemoryPath;
  readonly newer: MemoryPath;
}

/**
 * `under_way`: a directory is being renamed. `expired`: its process is gone; the next command finishes it.
 * `finished`: it was finished here. `unfinished`: that was tried and failed, by `code`.
 */
export interface RenameFinding {
  readonly kind: 'rename';
  readonly state: 'under_way' | 'expired' | 'finished' | 'unfinished';
  readonly phase: RenamePhase;
  readonly from: MemoryPath;
  readonly to: MemoryPath;
  /** Since the register was written last, by the server's clock. */
  readonly ageMs: number;
  /** Files that lie at both places because of it. */
  readonly files: number;
  readonly code?: MemoryErrorCode;
}

/** A version by its id, base64url, and the bound by which it was bound to its place; decimal. */
export interface SinceVersion {
  readonly version: string;
  readonly bound?: string;
}

/**
 * What is wrong with a file since a checkpoint. `older`: an older version or binding lies there, or one that had ended. `gone`: what
 * the checkpoint has is not there, and nothing says why. `untold`: it cannot be told, and `why`: the history was off (`history_off`)
 * or is not kept for so long (`not_kept`); a process was cut off between a delete and its record, or the file was dropped
 * (`unrecorded`); a process was cut off that had saved it to replace or delete it, or it was put back (`saved`); its writer could
 * still take it back (`young`); it was bound within a quarter of an hour of the checkpoint, or clocks differ (`clock`); a rename of
 * its directory is not finished (`renaming`).
 */
export interface SinceFinding {
  readonly kind: 'since';
  readonly state: 'older' | 'gone' | 'untold';
  readonly path: MemoryPath;
  /** What must be there, or what came of it: the newest that is known. Absent where nothing must be. */
  readonly expected?: SinceVersion;
  /** What is there; absent where nothing is. */
  readonly found?: SinceVersion;
  readonly why?: 'history_off' | 'not_kept' | 'unrecorded' | 'young' | 'clock' | 'renaming' | 'saved';
}

/**
 * `missing`: a version was replaced, and no record has it. `damaged`: what lies at a record's name is not what was sealed for
 * it. `misplaced`: it is the record of another version, put there by a writer without keys. `unredacted`: the text of a
 * version that was redacted lies in a record all the same; redacting it again takes it out. `doubled`: two different texts
 * bear one id, and none of them is given out.
 */
export interface HistoryFinding {
  readonly kind: 'history';
  readonly state: 'missing' | 'damaged' | 'misplaced' | 'unredacted' | 'doubled';
  /** Where the version lay, or the one that replaced it; undefined where no path is known of that name. */
  readonly path?: MemoryPath;
  /** The version that should be there; of one that nothing names the first 8 characters, as the record's name has them. */
  readonly expected: string;
  /** The version whose record lies there instead. */
  readonly found?: string;
  /** The version that replaced the missing one. */
  readonly replacedBy?: string;
  /** The record, where something lies there. */
  readonly name?: LogicalName;
}

/** What is wrong with what a tenant has stored, whichever verb came upon it. */
export type Finding =
  /** The object at the path is not what was sealed for it. */
  | { readonly kind: 'damaged'; readonly path: MemoryPath }
  /** The same beside the tree, or larger than any record there. */
  | { readonly kind: 'damaged_record'; readonly name: LogicalName }
  /** An object, a file or not, names a tenant key that the keyring does not hold. */
  | { readonly kind: 'unknown_key'; readonly name: LogicalName }
  /**
   * An object's mtime or bound is more than 48 hours ahead of the store's time, or where that tells none of this machine's: its
   * writer's clock was wrong, or the time is forged. `aheadMs`: the later of both, in milliseconds.
   */
  | { readonly kind: 'ahead'; readonly name: LogicalName; readonly aheadMs: number }
  /** Larger than the file limit, and so not read. */
  | { readonly kind: 'too_large'; readonly path: MemoryPath }
  /** The store refuses to hand out its object. */
  | { readonly kind: 'unreadable'; readonly path: MemoryPath }
  /** It was listed, and gone when it was to be read. */
  | { readonly kind: 'vanished'; readonly path: MemoryPath }
  /** A file whose path is a directory, too. */
  | { readonly kind: 'clash'; readonly path: MemoryPath }
  /** The file system of the target refuses the file's name, by `code`. */
  | { readonly kind: 'unwritable'; readonly path: MemoryPath; readonly code: string }
  /** Objects among the files whose names no writer of this tenant made, and objects beside them that belong to nothing. */
  | { readonly kind: 'foreign' | 'orphan'; readonly objects: number }
  /** The register of renames cannot be opened. */
  | { readonly kind: 'register'; readonly code: MemoryErrorCode }
  /** The checkpoint of a line is not stored, is another one, or cannot be opened. */
  | {
      readonly kind: 'checkpoint';
      readonly state: 'missing' | 'other' | 'damaged';
      readonly number: number;
    }
  /** The keyring is older than it was when a checkpoint was written. */
  | { readonly kind: 'keyring'; readonly expected: number; readonly found: number }
  | SinceFinding
  | DuplicateFinding
  | HistoryFinding
  | RenameFinding;

/** Whether something is still to be done about it, be it to look again. */
export function isLeft(finding: Finding): boolean {
  if (finding.kind === 'duplicate') return finding.state !== 'removed';
  return finding.kind !== 'rename' || finding.state !== 'finished';
}

/** Tells whether all that it names is work that may still be under way. */
export function isUnderWay(finding: Finding): boolean {
  return (
    (finding.kind === 'rename' && finding.state === 'under_way') ||
    (finding.kind === 'duplicate' && finding.state === 'in_progress')
  );
}

/** Whether it says that something cannot be told, and not that something is wrong. */
export function isUntold(finding: Finding): boolean {
  return finding.kind === 'since' && finding.state === 'untold';
}

const ALARMS: ReadonlySet<Finding['kind']> = new Set([
  ...(['since', 'checkpoint', 'keyring', 'history', 'damaged', 'damaged_record', 'unknown_key'] as const),
  // The next checkpoint would leave the file out, and nothing would miss it from then on.
  'too_large' as const,
]);

/**
 * Tells whether a finding says that somebody changed the store who has no keys, that it is damaged, or that a file could not be
 * compared because of its size.
 */
export function isAlarm(finding: Finding): boolean {
  return ALARMS.has(finding.kind) && !isUntold(finding);
}

/** Undefined for a whole object. */
export function findingOf(record: ListedRecord, { state }: Inspection): Finding | undefined {
  if (state === 'whole') return undefined;
  if (state === 'unknown_key') return { kind: state, name: record.name };
  if (record.cls !== 'data') return { kind: 'damaged_record', name: record.name };
  return { kind: state, path: record.path };
}

/** How many objects there were of each kind that has no name; nothing for none. */
export function countFindings(counts: Readonly<Record<'foreign' | 'orphan', number>>): readonly Finding[] {
  return (['foreign', 'orphan'] as const).flatMap((kind) =>
    counts[kind] > 0 ? [{ kind, objects: counts[kind] }] : [],
  );
}

/** Renames first, then duplicates, then the others by kind and name, and what is only counted last. */
export function sortFindings(findings: readonly Finding[]): readonly Finding[] {
  return findings
    .map((finding) => ({ finding, order: orderOf(finding) }))
    .sort((a, b) => (a.order < b.order ? -1 : 1))
    .map(({ finding }) => finding);
}

function orderOf(finding: Finding): string {
  switch (finding.kind) {
    case 'register':
    case 'rename':
    case 'keyring':
    case 'checkpoint':
      return `0,${finding.kind}`;
    case 'duplicate':
      return `1,${finding.older}`;
    case 'history':
      return `2,${finding.kind},${finding.path ?? ''},${finding.expected}`;
    case 'foreign':
    case 'orphan':
      return `3,${finding.kind}`;
    default:
      return `2,${finding.kind},${'path' in finding ? finding.path : finding.name}`;
  }
}
