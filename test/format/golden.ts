import { readdirSync, readFileSync } from 'node:fs';
import type { NameMode } from '../../src/format/names.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import type { SessionKey } from '../../src/sessions/session-key.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';

/** A file of a golden store. */
export interface GoldenFile {
  readonly key: ObjectKey;
  /** The version of the tenant key that it is bound to. */
  readonly version: number;
  readonly mtime: number;
  /** Decimal. */
  readonly bound: string;
  readonly previous: string;
  readonly writer: string;
  readonly origin: string;
  readonly versionId: string;
  readonly drawnUnder: number;
  readonly size: number;
  readonly text?: string;
  /** The content is byte i = 7i + floor(i / 256), modulo 256. */
  readonly pattern?: true;
}

/** An object of another class. */
interface GoldenRecord {
  /** The class, and where it has several grammars which of them; in the history's store alone. */
  readonly kind?: string;
  readonly version: number;
  readonly mtime: number;
  /** Decimal. */
  readonly bound: string;
  /** Base64. */
  readonly content: string;
}

export interface GoldenStore {
  readonly names: NameMode;
  readonly tenant: string;
  readonly rootKey: string;
  readonly keyring: { readonly epoch: number; readonly versions: readonly number[] };
  readonly files: Readonly<Record<string, GoldenFile>>;
  readonly records: Readonly<Record<string, GoldenRecord>>;
  readonly objects: Readonly<Record<string, string>>;
}

/** The store of a tenant that keeps history, with what is found in it. */
export interface GoldenHistory extends GoldenStore {
  readonly format: number;
  /** The day on which it was made. */
  readonly written: string;
  /** The line of its checkpoint. */
  readonly line: string;
  /** The entries of its history in JSON, the newest first. */
  readonly log: readonly Readonly<Record<string, string>>[];
  /** The text of each version whose text is kept. */
  readonly texts: Readonly<Record<string, string>>;
  readonly transcripts: readonly { readonly key: SessionKey; readonly lines: readonly string[] }[];
  /** The messages of each. */
  readonly conversations: Readonly<Record<string, readonly object[]>>;
  readonly prompt: { readonly turn: string; readonly conversation: string; readonly prompt: string };
}

/** One version of the format as it looked when it was new. */
export interface GoldenSet {
  readonly format: number;
  readonly shredMarker: string;
  readonly tombstone: string;
  readonly stores: readonly GoldenStore[];
}

const FOLDER = new URL('../vectors/', import.meta.url);

/** One set per version of the format that was ever released. */
export const GOLDEN: readonly GoldenSet[] = readdirSync(FOLDER)
  .filter((name) => /^golden-format-\d+\.json$/.test(name))
  .map((name) => readVector(name) as GoldenSet);

export const GOLDEN_HISTORY: GoldenHistory = readVector('golden-format-1-history.json') as GoldenHistory;

function readVector(name: string): unknown {
  return JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'));
}

export function contentOfGolden({ size, text, pattern }: GoldenFile): Uint8Array {
  if (pattern) return Uint8Array.from({ length: size }, (_, index) => index * 7 + (index >> 8));
  return new TextEncoder().encode(text ?? '');
}

export function goldenBytes(base64: string | undefined): Uint8Array {
  if (base64 === undefined) throw new Error('the golden set has no such object');
  return new Uint8Array(Buffer.from(base64, 'base64'));
}

/** A store that holds exactly the golden objects; the caller closes it. */
export async function fillGolden({ objects }: GoldenStore): Promise<ObjectStore> {
  const store = openSqliteObjectStore({ path: ':memory:' });
  for (const [key, body] of Object.entries(objects)) {
    await store.put(key as ObjectKey, goldenBytes(body), { mode: 'create' });
  }
  return store;
}
