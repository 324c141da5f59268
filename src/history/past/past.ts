/*
 * The one model of the past of a tenant's files, and its nouns, in which everything here is told:
 *
 * - A *version* is a text that was written once. Its id outlives every rename and every re-encryption.
 * - A *binding* is a version at one path, with the bound under which it was tied to it. A version may have several, one
 *   after the other or, after a rename that was cut off, at once; the bound grows from each to the next.
 * - A *leave* is written down by whoever deletes or renames a file: it names the binding that goes.
 * - The *end* of a binding is such a leave, or the version that was written over it where it lay. Only a binding ends:
 *   a version whose one place was edited may lie untouched at its other one.
 *
 * A collector (collect.ts) fills it. A caller asks by id; the model has walked the chains and joined the versions
 * already.
 */
import type { MemoryPath } from '../../language/path.ts';

/** A version's name to a caller: 22 characters of base64url. */
export type VersionId = string;

/** The facts of a text that was written once. They are the same wherever the text lies. */
export interface VersionFacts {
  readonly id: VersionId;
  /** The time of the write, by its writer's clock; milliseconds since the epoch. */
  readonly mtime: number;
  /** Bytes of content. */
  readonly size: number;
  /** The version that it replaced; undefined for a new file. */
  readonly previous: VersionId | undefined;
  /** The keyed hash of the actor that wrote it, base64url; undefined without one. */
  readonly writer: string | undefined;
}

/** A version, and the place of its text. */
export interface PastVersion extends VersionFacts {
  /**
   * `current`: in the file at `path`. `kept`: in a record. `redacted`: it was taken out of the record. `gone`: only
   * another source, such as a checkpoint, tells of the version.
   */
  readonly text: 'current' | 'kept' | 'redacted' | 'gone';
  /** The path of the binding that `text` speaks of. */
  readonly path: MemoryPath;
  readonly bound: bigint;
  /** The id of the record that has the text, or had it; undefined where none does. */
  readonly record: string | undefined;
  /** The time at which a process took the text out, by its clock, and the keyed hash of its actor. */
  readonly redacted?: { readonly at: number; readonly by: string | undefined };
  /** A hash of the text that stays within this process; undefined where no text was read. */
  readonly textHash: string | undefined;
}

/** The note that a process saved a version before it replaced or deleted it: the version lay at that path then. */
interface Saved {
  /** The id of the record. */
  readonly record: string;
  /** The time, by the clock of the process that saved it; undefined once the text was taken out. */
  readonly at: number | undefined;
  /** `delete`: the process was about to delete it. Undefined: to replace it, or the record does not say. */
  readonly for: 'delete' | undefined;
}

/** A version at one path. Where only the record of a rename tells of it, `isThere` is false and `saved` undefined. */
export interface Binding {
  readonly id: VersionId;
  readonly path: MemoryPath;
  readonly bound: bigint;
  /** True: the version lies at the path now. */
  readonly isThere: boolean;
  /** True: it lies there now, and a rename brought it. */
  readonly isRenamed: boolean;
  readonly saved: Saved | undefined;
}

/** The end of a binding by a delete or a rename. */
export interface Leave {
  readonly id: VersionId;
  readonly from: MemoryPath;
  /**
   * The bound of the binding at `from`. The leave ends every binding of the version there whose bound is not greater.
   */
  readonly bound: bigint;
  /** The new path; undefined for a delete. */
  readonly to: MemoryPath | undefined;
  /** The time, by the clock of the process that did it; milliseconds since the epoch. */
  readonly at: number;
  /** The latest time that any record gives: a file that a restore of the bucket brought back may go a second time. */
  readonly lastAt: number;
  /** The keyed hash of the actor, base64url; undefined without one. */
  readonly by: string | undefined;
  /** The name of the event, which all records of one rename share. */
  readonly event: string;
  /**
   * Says whether the leave happened. A process writes the rename of a directory down before it moves the files. `done`:
   * written down afterwards, or the version is known at its new path. `supposed`: only planned, and nothing contradicts
   * it. `undone`: only planned, and the version stayed or ended otherwise.
   */
  readonly state: 'done' | 'supposed' | 'undone';
}

/** Everything that cannot be read. The rest of the past is told without it. */
export interface Damaged {
  /** Ids of records that do not open under their names, or whose content is malformed. */
  readonly records: readonly string[];
  readonly files: readonly MemoryPath[];
  /** Ids that two different texts or two different sets of facts share: the history gives out neither text. */
  readonly versions: ReadonlySet<VersionId>;
}

/** The known past of some files, or of all. */
export interface Past {
  /** Every version whose facts are known. */
  readonly versions: ReadonlyMap<VersionId, PastVersion>;
  /** The binding that lies at each path now. */
  readonly files: ReadonlyMap<MemoryPath, Binding>;
  /** All leaves that are written down, each once, those that are `undone` as well. */
  readonly leaves: readonly Leave[];
  readonly damaged: Damaged;
  /** Answers the bindings of a version by growing bounds. An id may have bindings though its facts are unknown. */
  bindings(id: VersionId): readonly Binding[];
  /** Answers the leaves of a version by growing bounds, without those that are `undone`. */
  leavesOf(id: VersionId): readonly Leave[];
  /** Answers the versions that were written over this one, at any of its places; the first written first. */
  successors(id: VersionId): readonly PastVersion[];
  /**
   * Answers the known versions before this one, the nearest first, up to the first one for which `isPassed` is true.
   * The last one may name a `previous` that is unknown.
   */
  ancestors(id: VersionId, isPassed?: (id: VersionId) => boolean): readonly PastVersion[];
  /**
   * Answers the versions that were written over this one, over those, and so on; each comes after one that it replaced.
   */
  descendants(id: VersionId): readonly PastVersion[];
  /**
   * Answers the path at which the version was written: that of its first known binding. Undefined for an id without
   * bindings.
   */
  birthplace(id: VersionId): MemoryPath | undefined;
}
