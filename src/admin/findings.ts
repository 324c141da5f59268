import type { MemoryErrorCode } from '../errors.ts';
import type { LogicalName } from '../format/object-keys.ts';
import type { MemoryPath } from '../language/path.ts';
import type { RenamePhase } from '../tree/rename/register.ts';
import type { Inspection, ListedRecord } from './scan.ts';

/**
 * `left`: a rename was cut off, and the older place may go. `removed`: it is gone. `not_removed`: something changed
 * meanwhile or failed, and both places were kept. `undecided`: neither place is older. `in_progress`: a rename may be
 * under way.
 */
export type DuplicateState = 'left' | 'removed' | 'not_removed' | 'undecided' | 'in_progress';

/** One file at two places. The copies of a directory rename are no duplicates while its register knows of it. */
export interface DuplicateFinding {
  readonly kind: 'duplicate';
  readonly state: DuplicateState;
  readonly older: MemoryPath;
  readonly newer: MemoryPath;
}

/**
 * `under_way`: a directory is being renamed. `expired`: its process is gone; the next command finishes it. `finished`:
 * this verification finished it. `unfinished`: it tried to and failed, by `code`.
 */
export interface RenameFinding {
  readonly kind: 'rename';
  readonly state: 'under_way' | 'expired' | 'finished' | 'unfinished';
  readonly phase: RenamePhase;
  readonly from: MemoryPath;
  readonly to: MemoryPath;
  /** The time since the register was written last, by the server's clock. */
  readonly ageMs: number;
  /** The number of files that lie at both places because of it. */
  readonly files: number;
  readonly code?: MemoryErrorCode;
}

/** A version by its id, base64url, and the bound by which it was bound to its place; decimal. */
export interface SinceVersion {
  readonly version: string;
  readonly bound?: string;
}

/**
 * A finding about a file since a checkpoint. `older`: an older version or binding lies there, or one that had ended.
 * `gone`: the checkpoint's version is missing without a record that says why. `untold`: nobody can tell, and `why`
 * gives the reason: the history was off (`history_off`) or is kept for less time (`not_kept`); a process was cut off
 * between a delete and its record, or the file was dropped (`unrecorded`); a process was cut off that had saved it to
 * replace or delete it, or it was put back (`saved`); its writer could still take it back (`young`); it was bound
 * within a quarter of an hour of the checkpoint, or clocks differ (`clock`); a rename of its directory is not finished
 * (`renaming`).
 */
export interface SinceFinding {
  readonly kind: 'since';
  readonly state: 'older' | 'gone' | 'untold';
  readonly path: MemoryPath;
  /**
   * The version that must be there: the checkpoint's, or the newest known one that followed it. Absent where the path
   * must be empty.
   */
  readonly expected?: SinceVersion;
  /** The version that lies there; absent where the path holds no file. */
  readonly found?: SinceVersion;
  readonly why?: 'history_off' | 'not_kept' | 'unrecorded' | 'young' | 'clock' | 'renaming' | 'saved';
}

/**
 * A finding about the history. `missing`: a version was replaced, and no record has it. `damaged`: the object at a
 * record's name was not sealed for it. `misplaced`: it is the record of another version, put there by a writer without
 * keys. `unredacted`: the text of a version that was redacted still lies in a record; redacting it again takes it out.
 * `doubled`: two different texts bear one id, and neither is given out.
 */
export interface HistoryFinding {
  readonly kind: 'history';
  readonly state: 'missing' | 'damaged' | 'misplaced' | 'unredacted' | 'doubled';
  /** The path of the version, or of the one that replaced it; undefined where the path is unknown. */
  readonly path?: MemoryPath;
  /**
   * The version that should be there; for a version that no file or record names, the first 8 characters, as the
   * record's name has them.
   */
  readonly expected: string;
  /** The version whose record lies in its place. */
  readonly found?: string;
  /** The version that replaced the missing one. */
  readonly replacedBy?: string;
  /** The name of the record, where one is stored. */
  readonly name?: LogicalName;
}

/** A finding about a tenant's stored objects, by any verb. */
export type Finding =
  /** The object at the path was not sealed for it. */
  | { readonly kind: 'damaged'; readonly path: MemoryPath }
  /** The object beside the tree was not sealed for its name, or is larger than any record there. */
  | { readonly kind: 'damaged_record'; readonly name: LogicalName }
  /** An object, a file or not, names a tenant key that the keyring does not hold. */
  | { readonly kind: 'unknown_key'; readonly name: LogicalName }
  /**
   * The object's mtime or bound is more than 48 hours ahead of the store's time, or of this machine's where the store
   * tells none: its writer's clock was wrong, or the time is forged. `aheadMs`: the later of both, in milliseconds.
   */
  | { readonly kind: 'ahead'; readonly name: LogicalName; readonly aheadMs: number }
  /** The file is larger than the file limit, and so was not read. */
  | { readonly kind: 'too_large'; readonly path: MemoryPath }
  /** The store refuses to hand out the file's object. */
  | { readonly kind: 'unreadable'; readonly path: MemoryPath }
  /** The file was listed, and gone before it was read. */
  | { readonly kind: 'vanished'; readonly path: MemoryPath }
  /** The file's path is a directory, too. */
  | { readonly kind: 'clash'; readonly path: MemoryPath }
  /** The file system of the target refuses the file's name, by `code`. */
  | { readonly kind: 'unwritable'; readonly path: MemoryPath; readonly code: string }
  /**
   * Objects among the files whose names are not this tenant's (`foreign`), and objects beside them outside every class
   * (`orphan`).
   */
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

/**
 * The weight of a finding. `alarm`: somebody without keys changed the store, the store is damaged, or a file could not
 * be compared because of its size. `fault`: something else is wrong. `under_way`: it names only work that may still be
 * under way. `untold`: nobody can tell whether something is wrong. `settled`: it asks for no work any more.
 */
type FindingWeight = 'alarm' | 'fault' | 'under_way' | 'untold' | 'settled';

const ALARMS: ReadonlySet<Finding['kind']> = new Set([
  ...(['checkpoint', 'keyring', 'history', 'damaged', 'damaged_record', 'unknown_key'] as const),
  // The next checkpoint would leave the file out, and from then on no verification would miss it.
  'too_large' as const,
]);

/** Judges how much a finding weighs. */
export function weightOf(finding: Finding): FindingWeight {
  switch (finding.kind) {
    case 'duplicate':
      if (finding.state === 'in_progress') return 'under_way';
      return finding.state === 'removed' ? 'settled' : 'fault';
    case 'rename':
      if (finding.state === 'under_way') return 'under_way';
      return finding.state === 'finished' ? 'settled' : 'fault';
    case 'since':
      return finding.state === 'untold' ? 'untold' : 'alarm';
    default:
      return ALARMS.has(finding.kind) ? 'alarm' : 'fault';
  }
}

/** Makes the finding for an inspected object; undefined for a whole one. */
export function findingOf(record: ListedRecord, { state }: Inspection): Finding | undefined {
  if (state === 'whole') return undefined;
  if (state === 'unknown_key') return { kind: state, name: record.name };
  if (record.cls !== 'data') return { kind: 'damaged_record', name: record.name };
  return { kind: state, path: record.path };
}

/** Makes a finding with the number of objects for each kind that has no name; no finding for 0. */
export function countFindings(counts: Readonly<Record<'foreign' | 'orphan', number>>): readonly Finding[] {
  return (['foreign', 'orphan'] as const).flatMap((kind) =>
    counts[kind] > 0 ? [{ kind, objects: counts[kind] }] : [],
  );
}

/** Sorts findings: renames first, then duplicates, then the others by kind and name, and mere counts last. */
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
