import type { KeyStatus, KeyVersionUse } from '../admin/keys/key-status.ts';

/*
 * What the page and its server say to each other. Every question is a POST to `/api/NAME` with a JSON object; the answer
 * is lines of JSON, the last of which is the result, or an `ErrorLine`.
 */

/** Requests that were sent to the store, by kind. */
export type Requests = Readonly<Partial<Record<'get' | 'head' | 'put' | 'delete' | 'list', number>>>;

/** What a question costs stands beside its result. */
export interface Costed {
  readonly requests: Requests;
}

export interface ErrorLine {
  readonly error: { readonly code: string; readonly message: string };
}

/** `facts`: of the memory that is shown. */
export interface Facts {
  readonly tenant: string;
  /** Where the sealed objects lie, for people: `s3://bucket/prefix`. */
  readonly store: string;
  /** What every object key of the tenant's files begins with. */
  readonly keyPrefix: string;
  /** Files above so many bytes are not read. */
  readonly maxBytes: number;
  /** The page may change what it shows. */
  readonly canWrite: boolean;
  /** An export is shown: there is no store behind it, and no history. */
  readonly isExport: boolean;
}

/** A file as a listing of the store tells it; nothing of this is authenticated. */
export interface ListedFile {
  readonly path: string;
  /** Bytes of content. */
  readonly size: number;
  /** Bytes of the object. */
  readonly stored: number;
  /** Milliseconds since the epoch, by the store's clock. */
  readonly modified: number;
  readonly version: string;
  /** The object key, below the prefix of the tenant's files. */
  readonly key: string;
}

/** A line of `watch`: the whole tree first, in several lines where it is large, then what changed. */
export interface TreeChange extends Costed {
  /** What was there before counts no more. */
  readonly whole: boolean;
  /** More of the tree comes. */
  readonly isPartial: boolean;
  readonly changed: readonly ListedFile[];
  readonly removed: readonly string[];
  /** Objects among the files that no writer of this tenant made. */
  readonly foreign: number;
  /** Milliseconds from one look to the next. */
  readonly everyMs: number;
}

/** `file`: one that was read and opened. */
export interface FileReading extends Costed {
  readonly path: string;
  readonly size: number;
  readonly version: string;
  /** On whose behalf it was written, where its writer said so. */
  readonly writer?: string;
  readonly content: Content & { readonly reply?: string };
}

/** `reply`, of a text: what `view` answers. */
export type Content =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'image'; readonly type: string; readonly base64: string }
  | { readonly kind: 'bytes' };

/** `writers`: who wrote files last, which costs a GET for each. */
export interface WritersReading extends Costed {
  readonly writers: readonly { readonly path: string; readonly version: string; readonly writer?: string }[];
}

/** What happened to a file, as the history has it. */
export interface VersionEntry {
  /** `written`, or what was done to the file as that version. */
  readonly kind: 'written' | 'renamed' | 'deleted';
  readonly path: string;
  readonly version: string;
  /** Milliseconds since the epoch, by its writer's clock. */
  readonly time: number;
  readonly writer?: string;
  /** Of a rename: the new path. */
  readonly to?: string;
  /** Of what was written: bytes of content. */
  readonly size?: number;
  /** The version that it replaced; absent for a new file. */
  readonly previous?: string;
  /** `redacted` was taken out. */
  readonly text?: 'kept' | 'redacted';
  /** What became of it. */
  readonly end?: string;
}

/** `versions`: of a file, or of all of them for the root; the newest first. */
export interface VersionsReading extends Costed {
  readonly path: string;
  readonly entries: readonly VersionEntry[];
}

/** `version`: one of them. */
export interface VersionReading extends Costed {
  readonly path: string;
  readonly version: string;
  readonly size: number;
  readonly content: Content;
}

/** `plan`: what would become of the files, and `carryOut`: what became of them. */
export interface PlanReading extends Costed {
  readonly outcome: 'planned' | 'written' | 'nothing' | 'withheld';
  readonly changes: readonly {
    readonly path: string;
    readonly what: 'create' | 'replace' | 'delete' | 'rename';
    readonly to?: string;
  }[];
  /** Files that stay as they are, though they were meant. */
  readonly left: readonly { readonly path: string; readonly reason: string }[];
  /** Names what is planned: this plan is carried out, or nothing. */
  readonly digest?: string;
}

/** `write`, `remove`, `rename` and `restore`: what was done. */
export interface Changed extends Costed {
  readonly path: string;
  /** Of the file that was written. */
  readonly version?: string;
  /** The policy had something replaced in what was written. */
  readonly isRedacted: boolean;
}

/** `remove` of a directory: it deletes the versions that the page has listed, and no others. */
export interface DirectoryRemoved extends Changed {
  /** Files that were deleted; none where `differing` was seen before. */
  readonly deleted: number;
  /** Files that are not as the page has listed them. They stay. */
  readonly differing: readonly { readonly path: string; readonly what: 'created' | 'changed' | 'gone' }[];
}

/** `directory`: what `view` answers for it. */
export interface DirectoryReading extends Costed {
  readonly path: string;
  readonly reply: string;
}

/** `object`: what lies in the store for a path, as it lies there. */
export interface ObjectReading extends Costed {
  readonly path: string;
  /** The whole object key. */
  readonly key: string;
  readonly size: number;
  readonly version: string;
  readonly modified: number;
  readonly base64: string;
}

/** A line of `search` before its result, as are `Step`s. */
export interface FoundLine {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly text: string;
}

/** How far a search or a verification is. */
export interface Step {
  readonly done: number;
  readonly total: number;
}

/** `search`. */
export interface SearchReading extends Costed {
  readonly files: number;
  readonly lines: number;
  /** Files that are damaged or too large. */
  readonly unread: number;
  /** There may be more lines than were sent. */
  readonly isCut: boolean;
}

/** `verify`. */
export interface VerifyReading extends Costed {
  readonly files: number;
  readonly bytes: number;
  readonly findings: readonly {
    /** `FAIL`, `wait` or `fixed`. */
    readonly level: string;
    readonly sentence: string;
    /** Something is still to be done about it. */
    readonly isLeft: boolean;
    /** A file that can be looked at. */
    readonly path?: string;
  }[];
  readonly keyVersions: readonly KeyVersionUse[];
}

/** `keys`. */
export interface KeyReading extends Costed {
  readonly status: KeyStatus;
}
