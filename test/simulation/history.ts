import { AsyncLocalStorage } from 'node:async_hooks';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import type { VersionIdentity } from '../../src/tree/sightings.ts';

/** A command as the model sends it. */
export type Command =
  | { readonly command: 'view'; readonly path: string }
  | { readonly command: 'create'; readonly path: string; readonly file_text: string }
  | {
      readonly command: 'str_replace';
      readonly path: string;
      readonly old_str: string;
      readonly new_str: string;
    }
  | {
      readonly command: 'insert';
      readonly path: string;
      readonly insert_line: number;
      readonly insert_text: string;
    }
  | { readonly command: 'delete'; readonly path: string }
  | { readonly command: 'rename'; readonly old_path: string; readonly new_path: string };

export type Result =
  | { readonly ok: true; readonly content: string }
  | { readonly ok: false; readonly code: string; readonly reason: string | undefined };

/** A version that came to lie at a path, for every process to see. */
export interface LandedVersion {
  readonly path: string;
  /** The bytes; undefined once the file is gone. */
  readonly body: Uint8Array | undefined;
  /** The operation that wrote it; undefined for an operator's. */
  readonly operation: Operation | undefined;
  /** It came later than is relied on: its key may have been retired, or it was there before. */
  readonly stray: boolean;
}

/** A version that a request found at a path, or would have put there. */
interface MetVersion {
  readonly path: string;
  readonly body: Uint8Array;
  readonly operation: Operation | undefined;
}

export interface Landing {
  readonly at: number;
  readonly path: string;
}

/** One command of one process, as an observer outside sees it. */
export interface Operation {
  readonly id: number;
  readonly process: string;
  readonly command: Command;
  /** The actor of the command. */
  readonly actor: string | undefined;
  /** True for a step of an undo or a restore: its texts were there before. */
  readonly restores: boolean;
  readonly start: number;
  /** Undefined, like `result`: the process was killed before it answered. */
  end: number | undefined;
  result: Result | undefined;
  /** True once any of its writes was executed, those beside the tree included. */
  wrote: boolean;
  /** The last instant at which a request was executed that its process sent while the command ran. */
  lastExecuted: number;
  /**
   * The instants at which requests on behalf of the command looked at the store, where a search for an explanation
   * begins.
   */
  readonly looked: number[];
  /**
   * The changes that requests on its behalf made in the tree. Edits that were written together count for the first one,
   * and the steps by which another process finished a rename count for that process.
   */
  readonly landed: Landing[];
}

/**
 * A create that was executed after its sender had given it up, or a second time because its sender had sent it again:
 * it may bring back what was deleted meanwhile, and no condition can tell that absence from the first.
 */
interface StrayCreate {
  readonly at: number;
  readonly key: ObjectKey;
  readonly body: Uint8Array;
  /** The same version had been there before. */
  readonly again: boolean;
}

/** A process said that an older version was put back in its place. */
export interface Alarm {
  readonly at: number;
  readonly process: string;
  readonly key: ObjectKey;
  readonly version: VersionIdentity;
}

/** A DELETE of a tombstone that a network delivered later than is relied on, and that hit a file. */
interface StrayDelete {
  readonly at: number;
  readonly key: ObjectKey;
}

/** A file that a network delivered later than is relied on: its key may have been retired meanwhile. */
interface LateFile {
  readonly at: number;
  readonly key: ObjectKey;
}

interface LandedRecord {
  readonly key: ObjectKey;
  readonly body: Uint8Array;
  /** True where it was put without a condition. */
  readonly unconditional: boolean;
}

export interface History {
  /** The versions in the order in which they landed. */
  readonly versions: LandedVersion[];
  /** The versions that GETs answered. */
  readonly found: MetVersion[];
  /** The versions of PUTs whose conditions failed. */
  readonly refused: MetVersion[];
  /** The instant since which commands keep what they replace or delete; undefined while the tenant keeps nothing. */
  keptSince: number | undefined;
  /** Records of the history and of the register of renames, in the order in which they landed. */
  readonly records: LandedRecord[];
  /** The versions whose texts were to be redacted; `done` where that certainly happened. */
  readonly redactions: Map<string, 'asked' | 'done'>;
  readonly lateFiles: LateFile[];
  readonly operations: Operation[];
  /** The changes of migrations and repairs in the tree. */
  readonly byOperators: (Landing & { readonly removes: boolean })[];
  readonly strayDeletes: StrayDelete[];
  readonly strayCreates: StrayCreate[];
  readonly alarms: Alarm[];
}

/** The command on whose behalf a request is sent. */
export const underWay: AsyncLocalStorage<Operation> = new AsyncLocalStorage();

export function describeCommand(command: Command): string {
  switch (command.command) {
    case 'view':
    case 'delete':
      return `${command.command} ${command.path}`;
    case 'create':
      return `create ${command.path} ${JSON.stringify(command.file_text)}`;
    case 'str_replace':
      return `str_replace ${command.path} ${command.old_str} → ${command.new_str}`;
    case 'insert':
      return `insert ${command.path} ${command.insert_text}`;
    case 'rename':
      return `rename ${command.old_path} → ${command.new_path}`;
  }
}

export function describeResult(result: Result | undefined): string {
  if (result === undefined) return 'no answer';
  if (result.ok) return result.content.startsWith('Here') ? 'ok' : `ok: ${result.content.split('\n')[0]}`;
  return result.reason === undefined ? result.code : `${result.code} (${result.reason})`;
}

/** Makes the history before anything has happened. */
export function emptyHistory(): History {
  return {
    versions: [],
    found: [],
    refused: [],
    keptSince: undefined,
    records: [],
    redactions: new Map(),
    operations: [],
    byOperators: [],
    strayCreates: [],
    strayDeletes: [],
    lateFiles: [],
    alarms: [],
  };
}
