import {
  either,
  flag,
  list,
  number,
  optional,
  record,
  type Shape,
  type Shaped,
  text,
  word,
} from './shapes.ts';

/*
 * The questions of the page, each declared once: the browser's calls are typed by `QUESTIONS` and its answers are
 * checked by it; the server reads the fields and types its answers by it.
 *
 * A question is a POST to `/api/NAME` with a JSON object. The answer is lines of JSON, the last of which is the result
 * with its `requests`, or an `ErrorLine`.
 */

/**
 * The paths of the URLs: `questions` stands before the name of a question; at `session` the page exchanges the token of
 * the address for a cookie.
 */
export const PLACES = { questions: '/api/', session: '/session' } as const;

/** The kinds of fields that a question is asked with, as the browser sends them. */
interface SentFields {
  /** A path of a file or a directory. */
  readonly path: string;
  readonly text: string;
  /** The version that the page has shown; null where it has shown none. */
  readonly version: string | null;
  readonly null: null;
  readonly paths: readonly string[];
  /** The files of a directory with their versions, as the page has listed them. */
  readonly listed: readonly (readonly [path: string, version: string])[];
}

export type FieldKind = keyof SentFields;

interface QuestionShape {
  /** A question has the fields of one of its forms, and no others. They are read in this order. */
  readonly forms: readonly Readonly<Record<string, FieldKind>>[];
  /** A line before the result. */
  readonly line?: Shape<unknown>;
  /** The result, without its `requests`; absent where a question has none and never ends. */
  readonly result?: Shape<object>;
}

const requests = record({
  get: optional(number),
  head: optional(number),
  put: optional(number),
  delete: optional(number),
  list: optional(number),
});

/** Requests that were sent to the store, by kind. */
export type Requests = Shaped<typeof requests>;

/** Every result tells its cost. */
export const costed: Shape<{ readonly requests: Requests }> = record({ requests });
export type Costed = Shaped<typeof costed>;

/** The last line of an answer that has no result. */
export const errorLine: Shape<{ readonly error: { readonly code: string; readonly message: string } }> =
  record({
    error: record({ code: text, message: text }),
  });
export type ErrorLine = Shaped<typeof errorLine>;

const facts = record({
  tenant: text,
  /** The place of the sealed objects, for people: `s3://bucket/prefix`. */
  store: text,
  /** The beginning of every object key of the tenant's files. */
  keyPrefix: text,
  /** The most bytes of a file that is read. */
  maxBytes: number,
  /** True where the page may change what it shows. */
  canWrite: flag,
  /** The text that is replaced becomes an earlier version. */
  keepsHistory: flag,
  /** True where the page shows an export, which has neither a store nor a history. */
  isExport: flag,
});

/** The memory that is shown. */
export type Facts = Shaped<typeof facts>;

const storedFile = record({
  path: text,
  /** Bytes of content. */
  size: number,
  /** Bytes of the object. */
  stored: number,
  /** Milliseconds since the epoch, by the store's clock. */
  modified: number,
  version: text,
  /** The object key, below the prefix of the tenant's files. */
  key: text,
});

/** A file as a listing of the store tells it; nothing of this is authenticated. */
export type StoredFile = Shaped<typeof storedFile>;

const treeChange = record({
  /** True where the files that were told before no longer count. */
  whole: flag,
  /** True where more of the tree follows. */
  isPartial: flag,
  changed: list(storedFile),
  removed: list(text),
  /** Objects among the files that no writer of this tenant made. */
  foreign: number,
  /** Milliseconds from one look at what is open to the next. */
  everyMs: number,
  /** Milliseconds in which the looks come around to everything else. */
  restMs: number,
  requests,
});

/** The whole tree first, in several lines where it is large, then what changed. */
export type TreeChange = Shaped<typeof treeChange>;

const content = either(
  record({
    kind: word('text'),
    text,
    /** The answer of the tool's `view`, of a file that was read for itself. */
    reply: optional(text),
  }),
  record({ kind: word('image'), type: text, base64: text }),
  record({ kind: word('bytes'), base64: text }),
);

/** A file that was read and opened. */
const fileReading = record({
  path: text,
  size: number,
  version: text,
  /** The actor on whose behalf it was written, where its writer said so. */
  writer: optional(text),
  content,
});

const writersReading = record({
  writers: list(
    record({
      path: text,
      version: text,
      writer: optional(text),
      /** The characters of the text that cannot be seen. */
      unseen: number,
    }),
  ),
});

const versionEntry = record({
  /** `written`, or the deed that was done to the file as that version. */
  kind: word('written', 'renamed', 'deleted'),
  path: text,
  version: text,
  /** Milliseconds since the epoch, by its writer's clock. */
  time: number,
  writer: optional(text),
  /** The new path of a rename. */
  to: optional(text),
  /** Bytes of the content that was written. */
  size: optional(number),
  /** The version that it replaced; absent for a new file. */
  previous: optional(text),
  /** `redacted`: the text was taken out. */
  text: optional(word('kept', 'redacted')),
  /** The fate of the version. */
  end: optional(text),
});

/** A deed that was done to a file, as the history has it. */
export type VersionEntry = Shaped<typeof versionEntry>;

/** The entries of a file, or of all files for the root; the newest first. */
const versionsReading = record({ path: text, entries: list(versionEntry) });

/** Who wrote each line of a file. */
const linesReading = record({
  path: text,
  /** The version of the file whose lines these are. */
  version: text,
  origins: list(
    record({
      /** Milliseconds since the epoch, by its writer's clock. */
      time: number,
      writer: optional(text),
      /** False: the line may be older, as the version before was not read. */
      isCertain: flag,
    }),
  ),
  /**
   * The origins of the lines from the first on: `count` lines of the origin at that place in `origins`; -1 for an
   * unknown one.
   */
  runs: list(record({ origin: number, count: number })),
});

const versionReading = record({ path: text, version: text, size: number, content });

/** A plan for the files, or the outcome of one that was carried out. */
const planReading = record({
  outcome: word('planned', 'written', 'nothing', 'withheld'),
  changes: list(
    record({
      path: text,
      what: word('create', 'replace', 'delete', 'rename'),
      /** The new path of a rename. */
      to: optional(text),
      /** The actor of the version that goes. */
      writer: optional(text),
    }),
  ),
  /** The files that the plan leaves as they are although it was asked to change them. */
  left: list(record({ path: text, reason: text })),
  /** The name of the plan: `carryOut` carries out this plan, or none. */
  digest: optional(text),
});

const changedFields = {
  path: text,
  /** The version of the file that was written. */
  version: optional(text),
  /** True where the policy had something replaced in what was written. */
  isRedacted: flag,
};

/** A change that was made. */
const changed = record(changedFields);

/** False where both changed the same lines, or others were faster again and again: then nothing was written. */
const merged = record({ ...changedFields, isMerged: flag });

const directoryRemoved = record({
  ...changedFields,
  /** Files that were deleted; none where `differing` was seen before. */
  deleted: number,
  /** Files that are not as the page has listed them. They stay. */
  differing: list(record({ path: text, what: word('created', 'changed', 'gone') })),
});

/** A directory that was deleted: the versions that the page has listed, and no others. */
export type DirectoryRemoved = Shaped<typeof directoryRemoved>;

const directoryReading = record({ path: text, reply: text });

/** An object as it lies in the store. */
const objectReading = record({
  path: text,
  /** The whole object key. */
  key: text,
  size: number,
  version: text,
  modified: number,
  base64: text,
});

const foundLine = record({
  path: text,
  /** The number of the line, from 1. */
  line: number,
  text,
});
export type FoundLine = Shaped<typeof foundLine>;

/** A file with characters that cannot be seen, which a search came across. */
const unseenLine = record({ path: text, version: text, unseen: number });

/** The progress of a search, a verification, or a reading of the whole history. */
const progressLine = record({ done: number, total: number });

const searchReading = record({
  files: number,
  lines: number,
  /** Files that are damaged or too large. */
  unread: number,
  /** True where more lines may have the text than were sent. */
  isCut: flag,
});

const verifyReading = record({
  files: number,
  bytes: number,
  findings: list(
    record({
      /** `FAIL`, `wait` or `fixed`. */
      level: text,
      sentence: text,
      /** True where something is still to be done about the finding. */
      isLeft: flag,
      /** A file that can be looked at. */
      path: optional(text),
    }),
  ),
});

const keyReading = record({
  status: either(
    record({ state: word('absent', 'shredded', 'locked') }),
    record({
      state: word('open'),
      epoch: number,
      nameMode: text,
      rootId: text,
      wrappedByFirst: flag,
      writtenAt: number,
      keys: list(record({ version: number, created: number, active: flag })),
    }),
  ),
});

/** Every question by its name. */
export const QUESTIONS = {
  facts: { forms: [{}], result: facts },
  /** `id`: a name that the page gives to this watch. */
  watch: { forms: [{ id: 'text' }, {}], line: treeChange },
  /** Tells a watch what is open: it looks there first. */
  attend: { forms: [{ id: 'text', paths: 'paths' }], result: record({}) },
  /** Tells the server which path a random name in an address stands for; it knows this until it ends. */
  keepPlace: { forms: [{ name: 'text', path: 'path' }], result: record({}) },
  place: { forms: [{ name: 'text' }], result: record({ path: optional(text) }) },
  file: { forms: [{ path: 'path' }], result: fileReading },
  directory: { forms: [{ path: 'path' }], result: directoryReading },
  object: { forms: [{ path: 'path' }], result: objectReading },
  /** Costs a GET for each file. */
  writers: { forms: [{ paths: 'paths' }], result: writersReading },
  versions: { forms: [{ path: 'path' }], line: progressLine, result: versionsReading },
  lines: { forms: [{ path: 'path' }], result: linesReading },
  version: { forms: [{ path: 'path', version: 'text' }], result: versionReading },
  search: {
    forms: [{ text: 'text' }],
    line: either(foundLine, unseenLine, progressLine),
    result: searchReading,
  },
  verify: { forms: [{}], line: progressLine, result: verifyReading },
  keys: { forms: [{}], result: keyReading },
  /** Takes back what an actor did, or all since a moment; writes nothing. */
  plan: { forms: [{ undo: 'text' }, { at: 'text' }], line: progressLine, result: planReading },
  /** Carries out the plan with the digest, and no other. */
  carryOut: {
    forms: [
      { digest: 'text', undo: 'text' },
      { digest: 'text', at: 'text' },
    ],
    result: planReading,
  },
  /** `version`: the one that is replaced; null for a new file. */
  write: { forms: [{ path: 'path', text: 'text', version: 'version' }], result: changed },
  /** Writes what the newest version and a text made of one base are together. */
  merge: { forms: [{ path: 'path', text: 'text', base: 'text' }], result: merged },
  /** Writes over any version; only where history keeps what is replaced. */
  writeNewest: { forms: [{ path: 'path', text: 'text' }], result: changed },
  /** Deletes a file as the version, or a directory as its files are listed. */
  remove: {
    forms: [
      { path: 'path', version: 'text' },
      { path: 'path', version: 'null', files: 'listed' },
    ],
    result: either(directoryRemoved, changed),
  },
  rename: { forms: [{ to: 'path', path: 'path' }], result: changed },
  /** `base`: the version of the history that `version` replaces; null for a file that is gone. */
  restore: { forms: [{ path: 'path', base: 'version', version: 'text' }], result: changed },
} as const satisfies Readonly<Record<string, QuestionShape>>;

export type QuestionName = keyof typeof QUESTIONS;

/** The forms of a question. */
export type FormOf<N extends QuestionName> = (typeof QUESTIONS)[N]['forms'][number];

/** The input of a question, as the browser sends it. */
export type InputOf<N extends QuestionName> =
  FormOf<N> extends infer F ? { readonly [K in keyof F]: SentFields[F[K] & FieldKind] } : never;

/** A line before the result of a question. */
export type LineOf<N extends QuestionName> = (typeof QUESTIONS)[N] extends { readonly line: Shape<infer T> }
  ? T
  : never;

/** The result of a question; never for one that does not end. */
export type ResultOf<N extends QuestionName> = (typeof QUESTIONS)[N] extends {
  readonly result: Shape<infer T extends object>;
}
  ? T
  : never;
