/*
 * The one model of what a tenant's files were, and the nouns that everything here is told in:
 *
 * - A *version* is a text that was written once. Its id outlives every rename and every re-encryption.
 * - A *binding* is a version at one path, with the bound under which it was tied to it. A version may have several, one after
 *   the other or, after a rename that was cut off, at once; the bound grows from each to the next.
 * - A *leave* is written down by whoever deletes or renames a file: it names the binding that goes.
 * - The *end* of a binding is such a leave, or the version that was written over it where it lay. Only a binding ends:
 *   a version whose one place was edited may lie untouched at its other one.
 *
 * A collector (collect.ts) fills it. Who asks walks no chain and joins no two versions by hand: an id says all of that.
 */
import type { MemoryPath } from '../../language/path.ts';

/** A version's name to a caller: 22 characters of base64url. */
export type VersionId = string;

/** A text that was written once, and is the same wherever it lies. */
export interface VersionFacts {
  readonly id: VersionId;
  /** When it was written, by its writer's clock; milliseconds since the epoch. */
  readonly mtime: number;
  /** Bytes of content. */
  readonly size: number;
  /** The version that it replaced; undefined for a new file. */
  readonly previous: VersionId | undefined;
  /** The keyed hash of the actor that wrote it, base64url; undefined without one. */
  readonly writer: string | undefined;
}

/** A version, and where its text is to be had. */
export interface Version extends VersionFacts {
  /**
   * `current`: in the file at `path`. `kept`: in a record. `redacted`: it was taken out of the record. `gone`: neither file nor
   * record has it, and something else told of it, such as a checkpoint.
   */
  readonly text: 'current' | 'kept' | 'redacted' | 'gone';
  /** Where that binding lies, or lay. */
  readonly path: MemoryPath;
  readonly bound: bigint;
  /** The id of the record that has the text, or had it; undefined where none does. */
  readonly record: string | undefined;
  /** When it was taken out, by the clock of the process that did, and the keyed hash of its actor. */
  readonly redacted?: { readonly at: number; readonly by: string | undefined };
  /** Stands for the text within this process; undefined where no text is at hand. Never leaves the process. */
  readonly textHash: string | undefined;
}

/** That a version was saved before it was to be replaced or deleted: it lay at that path then, under that bound. */
export interface Saved {
  /** The id of the record. */
  readonly record: string;
  /** When, by the clock of the process that saved it; undefined once the text was taken out. */
  readonly at: number | undefined;
  /** `delete`: it was about to be deleted. Undefined: to be replaced, or a record that does not say. */
  readonly for: 'delete' | undefined;
}

/** A version at one path. What is known of it by a record of a rename alone has neither `isThere` nor `saved`. */
export interface Binding {
  readonly id: VersionId;
  readonly path: MemoryPath;
  readonly bound: bigint;
  /** Whether it is what lies at the path now. */
  readonly isThere: boolean;
  /** Of one that is there: whether a rename brought it. */
  readonly isRenamed: boolean;
  readonly saved: Saved | undefined;
}

/** That a binding went: it was deleted, or renamed. */
export interface Leave {
  readonly id: VersionId;
  readonly from: MemoryPath;
  /** The bound of what lay at `from`. It ends every binding of the version there whose bound is not greater. */
  readonly bound: bigint;
  /** Undefined: it was deleted. */
  readonly to: MemoryPath | undefined;
  /** By the clock of the process that did it; milliseconds since the epoch. */
  readonly at: number;
  /** When it was told last: what a restore of the bucket brings back may go a second time. */
  readonly lastAt: number;
  /** The keyed hash of the actor, base64url; undefined without one. */
  readonly by: string | undefined;
  /** The same for all that is told of one rename. */
  readonly event: string;
  /**
   * Whether it happened. The rename of a directory is written down before it is done. `done`: it was written down afterwards, or the
   * version is known at its new place. `supposed`: only planned, and nothing says otherwise. `undone`: only planned, and the
   * version stayed or ended otherwise.
   */
  readonly state: 'done' | 'supposed' | 'undone';
}

/** Why a binding is not there any more: it left, or a version was written over it. */
export type End = { readonly leave: Leave } | { readonly successor: Version };

/** What cannot be read. It ends nothing: what is whole is told without it. */
export interface Damaged {
  /** Ids of records that are not what was sealed under their names, or whose content no rule allows. */
  readonly records: readonly string[];
  readonly files: readonly MemoryPath[];
  /** Ids that two different texts or two different sets of facts bear: no text of such a version is given out. */
  readonly versions: ReadonlySet<VersionId>;
}

/** What is known of some files' past, or of all. */
export interface Past {
  /** Every version whose facts are known. */
  readonly versions: ReadonlyMap<VersionId, Version>;
  /** What lies at each path now. */
  readonly files: ReadonlyMap<MemoryPath, Binding>;
  /** All that is written down, each rename of a file once; also those that are `undone`. */
  readonly leaves: readonly Leave[];
  readonly damaged: Damaged;
  /** Where a version lies and lay, by growing bounds. Those of an id whose facts are not known as well. */
  bindings(id: VersionId): readonly Binding[];
  /** Its leaves by growing bounds, without those that are `undone`. */
  leavesOf(id: VersionId): readonly Leave[];
  /** What was written over it, at whichever of its places; the first written first. */
  successors(id: VersionId): readonly Version[];
  /**
   * What went before it, the nearest first, as far as it is known, and not beyond what `isPassed` names. The last one may name a
   * `previous` that is not known.
   */
  ancestors(id: VersionId, isPassed?: (id: VersionId) => boolean): readonly Version[];
  /** All that came of it, each behind what it came of. */
  descendants(id: VersionId): readonly Version[];
  /** Where it was written: the path of its first binding that is known. Undefined for an id that nothing names. */
  birthplace(id: VersionId): MemoryPath | undefined;
  /** What ended a binding, as records tell it of one that lies there all the same too; undefined where nothing tells. */
  endOf(binding: Pick<Binding, 'id' | 'path' | 'bound'>): End | undefined;
}
