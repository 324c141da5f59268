import { readFileSync } from 'node:fs';
import { concat, NO_BYTES } from '../../src/format/encoding.ts';
import { hash } from '../../src/format/sodium.ts';
import { encodeText } from '../../src/language/text.ts';

/** One change to the bytes of a base, as format-1.json describes it. */
export type Op = readonly [string, ...(number | string)[]];

/** The whole object as a case gives it: its bytes, or their size and hash. */
export interface Expected {
  readonly size?: number;
  readonly hex?: string;
  readonly blake2b256?: string;
}

export interface ObjectFields {
  readonly keyring: string;
  readonly key: string;
  readonly name: string;
  readonly text: string;
  readonly zeros?: number;
  readonly versionId: string;
  readonly dek: string;
  readonly nonce: string;
  /** The version of the tenant key under which the data key was drawn, as the wrap says it. */
  readonly drawnUnder: number;
  readonly mtime: number | string;
  readonly bound: number | string;
  readonly previous: string;
  readonly writer: string;
  readonly origin: string;
}

export interface ObjectForgery extends Partial<ObjectFields> {
  readonly chunks?: readonly (readonly [string, number, number])[];
  readonly length?: number | string;
  readonly tenant?: string;
  readonly keyringId?: string;
  readonly bodyKeyringId?: string;
  readonly bodyDek?: string;
  readonly chunkDek?: string;
  readonly version?: string;
  readonly magic?: string;
  readonly commitment?: string;
  /** O is made with the version id too. */
  readonly bodyVersionId?: boolean;
  /** The wrap lacks `drawnUnder`. */
  readonly shortWrap?: boolean;
  readonly afterWrap?: string;
}

export type KeyEntry = readonly [number, number | string, string];

export interface KeyringFields {
  readonly tenant: string;
  readonly epoch: number;
  readonly keyringId: string;
  readonly root: string;
  readonly rootNonce: string;
  readonly KK: string;
  readonly nonce: string;
  readonly mode: number;
  readonly flags: number;
  readonly NK: string;
  readonly keys: readonly KeyEntry[];
  readonly count?: number;
  /** Bytes behind the last tenant key. */
  readonly extra?: string;
  readonly rootId?: string;
  readonly wrapped?: string;
}

export interface KeyringForgery extends Partial<KeyringFields> {
  readonly wrapTenant?: string;
  readonly wrapKeyringId?: string;
  readonly wrappedKK?: string;
  readonly aadTenant?: string;
  readonly n?: number;
  readonly version?: string;
}

interface Identified {
  readonly id: string;
}

interface RefuseObject extends Identified, Expected {
  readonly what: string;
  readonly base?: string;
  readonly keyring?: string;
  readonly name?: string;
  readonly ops?: readonly Op[];
  readonly forge?: ObjectForgery;
}

interface RefuseKeyring extends Identified, Expected {
  readonly what: string;
  readonly base?: string;
  readonly tenant?: string;
  readonly roots?: readonly string[];
  readonly expect?: string;
  readonly ops?: readonly Op[];
  readonly forge?: KeyringForgery;
}

interface Rebind extends Identified, Expected {
  readonly base: string;
  readonly keyring: string;
  readonly from: string;
  readonly to: string;
  readonly nonce: string;
  readonly bound: number | string;
  readonly origin?: string;
}

export interface FormatVectors {
  readonly inputs: Readonly<Record<string, string | number>>;
  readonly keys: Readonly<Record<string, string>>;
  readonly rootWrap: {
    readonly context: Readonly<Record<string, string>>;
    readonly canon: string;
    readonly nonce: string;
    readonly wrapped: string;
  };
  readonly helloSteps: Readonly<Record<string, string>>;
  readonly names: readonly {
    readonly dir: readonly string[];
    readonly segment: string;
    readonly t: string;
    readonly text: string;
    readonly child: string;
  }[];
  readonly objectKeys: readonly {
    readonly mode: number;
    readonly prefix: string;
    readonly tenant: string;
    readonly path: string;
    readonly length?: number;
    readonly key?: string;
    readonly blake2b256?: string;
    readonly tooMany?: number;
    readonly expect?: string;
  }[];
  readonly objects: {
    readonly defaults: ObjectFields;
    readonly cases: readonly (Identified & Partial<ObjectFields> & Expected)[];
  };
  /** Objects that a holder of the keys wrote, and no sealing makes; a reader takes them. */
  readonly forgedObjects: FormatVectors['objects']['cases'];
  readonly rebinds: readonly Rebind[];
  readonly keyrings: {
    readonly defaults: KeyringFields;
    readonly cases: readonly (Identified & Partial<KeyringFields> & Expected)[];
    readonly tombstone: string;
  };
  readonly sizes: {
    readonly lengthToSize: readonly (readonly [number, number])[];
    readonly foreign: readonly number[];
  };
  readonly refuseObjects: {
    readonly defaults: {
      readonly base: string;
      readonly keyring: string;
      readonly name: string;
      readonly expect: string;
    };
    readonly cases: readonly RefuseObject[];
  };
  readonly refuseKeyrings: {
    readonly defaults: {
      readonly base: string;
      readonly tenant: string;
      readonly roots: readonly string[];
      readonly expect: string;
    };
    readonly cases: readonly RefuseKeyring[];
  };
  readonly sequences: readonly { readonly first: string; readonly then: string; readonly expect: string }[];
  readonly foreign: readonly (Identified & {
    readonly what: string;
    readonly dir: readonly string[];
    readonly text: string;
    readonly of?: readonly [readonly string[], string];
    readonly ops?: readonly Op[];
    readonly NK?: string;
    readonly p?: string;
  })[];
}

interface NamedFile {
  readonly mode: number;
  readonly segments: readonly string[];
  /** The text that follows `data/` in the key. */
  readonly text: string;
}

export interface AddedVectors {
  readonly nameId: { readonly K_id: string };
  readonly keyedHashes: readonly { readonly class: string; readonly text: string; readonly hash: string }[];
  readonly tombstones: { readonly valid: readonly string[]; readonly invalid: readonly string[] };
  readonly tenantIds: { readonly accept: readonly string[]; readonly refuse: readonly string[] };
  readonly prefixes: { readonly accept: readonly string[]; readonly refuse: readonly string[] };
  readonly rootTexts: { readonly refuse: readonly string[] };
  readonly writers: readonly { readonly actor: string; readonly writer: string }[];
  readonly segments: { readonly accept: readonly string[]; readonly refuse: readonly string[] };
  /** Hex of UTF-16, big-endian. */
  readonly illFormed: readonly string[];
  readonly recordKeys: {
    readonly accept: readonly { readonly class: string; readonly id: string; readonly key: string }[];
    readonly refuse: readonly string[];
  };
  readonly fileKeys: readonly NamedFile[];
  readonly invalidPaths: readonly Pick<NamedFile, 'mode' | 'segments'>[];
  readonly foreignKeys: readonly (Identified &
    Pick<NamedFile, 'mode' | 'text'> & { readonly what: string })[];
  readonly plainForeign: readonly string[];
  readonly tampered: { readonly bases: readonly string[]; readonly masks: readonly string[] };
  readonly listings: readonly {
    readonly mode: number;
    readonly key: string;
    readonly size: number;
    readonly verdict: string;
    /** The logical name of what is a file or a record, damaged or not. */
    readonly name?: string;
  }[];
  readonly bounds: readonly {
    readonly clock: number;
    readonly replaced?: string;
    readonly bound: string;
  }[];
  readonly rootIds: {
    readonly accept: readonly { readonly arn: string; readonly rootId: string }[];
    readonly refuse: readonly string[];
  };
  readonly readings: readonly {
    readonly leastEpoch: number;
    readonly keyrings: readonly string[];
    readonly answers: readonly string[];
  }[];
  readonly historyRecords: {
    readonly accept: readonly HistoryVector[];
    readonly refuse: readonly Pick<HistoryVector, 'what' | 'content'>[];
  };
  readonly actorRecords: {
    readonly accept: readonly { readonly actor: string; readonly content: string }[];
    readonly refuse: readonly string[];
  };
  /**
   * The answers for what lies at an object key, on a store whose writers make tombstones or not: `absent` or a code.
   */
  readonly openedTombstones: readonly {
    readonly bytes: string;
    readonly makesTombstones: boolean;
    readonly answer: string;
  }[];
  /** Contents of records by their kind, such as `checkpoints/head`; `record` is what a reader finds. */
  readonly records: readonly {
    readonly kind: string;
    readonly accept: readonly { readonly content: string; readonly record: unknown }[];
    readonly refuse: readonly string[];
  }[];
  readonly recordIds: RecordIds;
  readonly checkpoints: {
    readonly accept: readonly (CheckpointVector & {
      readonly facts: string;
      readonly partDigests: readonly string[];
    })[];
    readonly refuse: readonly CheckpointVector[];
  };
  readonly textHashes: readonly { readonly content: string; readonly hash: string }[];
}

interface CheckpointVector {
  readonly what: string;
  /** Contents by the ids of the records. */
  readonly records: Readonly<Record<string, string>>;
  readonly line: string;
}

interface RecordIds {
  /** `at` is in milliseconds since the epoch. */
  readonly access: readonly { readonly at: number; readonly path: string; readonly id: string }[];
  readonly receipts: readonly { readonly turn: string; readonly id: string }[];
  readonly messages: readonly { readonly message: string; readonly hash: string }[];
  readonly progress: readonly { readonly receipt: string; readonly owner: string; readonly id: string }[];
  readonly tokens: readonly { readonly at: number; readonly id: string }[];
  readonly actors: readonly { readonly actor: string; readonly id: string }[];
  readonly sessions: readonly {
    readonly key: { readonly projectKey: string; readonly sessionId: string; readonly subpath?: string };
    readonly page: number;
    readonly id: string;
  }[];
  readonly conversations: readonly {
    readonly conversation: string;
    readonly random: string;
    readonly head: string;
    readonly body: string;
  }[];
  readonly prompts: readonly {
    readonly conversation: string | null;
    readonly turn: string;
    readonly id: string;
  }[];
  readonly checkpoints: readonly {
    readonly number?: number;
    readonly run?: string;
    readonly part?: number;
    readonly id: string;
  }[];
}

interface HistoryVector {
  readonly what: string;
  readonly content: string;
  /** With ids of 16 bytes and the text in hex. */
  readonly record: Readonly<Record<string, unknown>>;
  /** The id of the record of a version. */
  readonly id?: string;
}

export const format1: FormatVectors = read('format-1.json');
export const added: AddedVectors = read('format-1-additions.json');

/** A fresh copy of the bytes of an entry of inputs, or of the hex text itself. */
export function input(name: string): Uint8Array {
  return fromHex(String(format1.inputs[name] ?? name));
}

export function fromHex(hex: string): Uint8Array {
  if (!/^(?:[0-9a-f]{2})*$/.test(hex)) throw new Error(`${hex} is not lower-case hex`);
  return new Uint8Array(Buffer.from(hex, 'hex'));
}

export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

/** `X*n` is X repeated n times. */
export function expand(text: string): string {
  const repeated = /^(.)\*(\d+)$/u.exec(text);
  return repeated === null ? text : (repeated[1] ?? '').repeat(Number(repeated[2]));
}

/** The size and unkeyed BLAKE2b-256 of bytes, to stand beside what a case expects. */
export function digestOf(bytes: Uint8Array): { readonly size: number; readonly blake2b256: string } {
  return { size: bytes.length, blake2b256: toHex(hash(32, NO_BYTES, bytes)) };
}

/** Changes `base` by `ops` in order; `find` gives the bytes of another vector. */
export function applyOps(base: Uint8Array, ops: readonly Op[], find: (id: string) => Uint8Array): Uint8Array {
  return ops.reduce((bytes, op) => applyOp(bytes, op, find), base);
}

function applyOp(bytes: Uint8Array, [verb, ...rest]: Op, find: (id: string) => Uint8Array): Uint8Array {
  const number = (index: number): number => Number(rest[index]);
  const text = (index: number): string => String(rest[index]);
  const changed = Uint8Array.from(bytes);
  switch (verb) {
    case 'xor':
      for (const [index, byte] of fromHex(text(1)).entries()) {
        const at = number(0) + index;
        changed[at] = (changed[at] ?? 0) ^ byte;
      }
      return changed;
    case 'set':
      changed.set(fromHex(text(1)), number(0));
      return changed;
    case 'truncate':
      return changed.slice(0, number(0));
    case 'drop':
      return concat(changed.slice(0, number(0)), changed.slice(number(0) + number(1)));
    case 'swap':
      changed.set(bytes.slice(number(0), number(0) + number(2)), number(1));
      changed.set(bytes.slice(number(1), number(1) + number(2)), number(0));
      return changed;
    case 'copy':
      changed.set(find(text(0)).slice(number(1), number(1) + number(2)), number(3));
      return changed;
    case 'append-from':
      return concat(changed, find(text(0)).slice(number(1), number(1) + number(2)));
    case 'append':
      return concat(changed, fromHex(text(0)));
    case 'append-zeros':
      return concat(changed, new Uint8Array(number(0)));
    default:
      throw new Error(`format-1.json has an operation ${verb} that is not known here`);
  }
}

/** Randomness that gives each of `values` once, by its length. */
export function scripted(...values: readonly Uint8Array[]): (length: number) => Uint8Array {
  const left = [...values];
  return (length) => {
    const index = left.findIndex((value) => value.length === length);
    const [value] = index < 0 ? [] : left.splice(index, 1);
    if (value === undefined) throw new Error(`no ${length} random bytes are left`);
    return Uint8Array.from(value);
  };
}

/** The content an object case stands for. */
export function contentOf({
  text,
  zeros,
}: {
  readonly text: string;
  readonly zeros?: number | undefined;
}): Uint8Array {
  return zeros === undefined ? encodeText(text) : new Uint8Array(zeros);
}

function read<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), 'utf8')) as T;
}
