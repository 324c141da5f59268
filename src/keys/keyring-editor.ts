import { MemoryError } from '../errors.ts';
import { parseKeyringHead } from '../format/keyring-bytes.ts';
import type { Layout } from '../format/object-keys.ts';
import { loadSodium, type RandomBytes, wipe } from '../format/sodium.ts';
import type { ETag, ObjectStore, RequestOptions } from '../store/port.ts';
import { settlePut } from '../store/settle.ts';
import { type Keyring, sealKeyring } from './keyring.ts';
import { forget } from './keyring-life.ts';
import { createKeyringReader } from './keyring-reader.ts';
import type { RollbackGuard } from './rollback-guard.ts';
import type { RootKey } from './root-key.ts';

/** A tenant's keyring with its secrets, as one read found it. Whoever has it wipes it with `forget(record.keyring)`. */
export interface KeyringRecord {
  readonly keyring: Keyring;
  /** Of the root key that wraps it. */
  readonly rootId: string;
  readonly etag: ETag;
  /** When it was written, by the server's clock, milliseconds since the epoch. */
  readonly writtenAt: number;
  /** How long ago that was when it was read, by the server's clock. */
  readonly ageMs: number;
}

export interface KeyringChange {
  /** The keyring as it is now. */
  readonly record: KeyringRecord;
  /** False when `decide` declined. */
  readonly changed: boolean;
}

/** Reads the keyring past every cache, and writes it. */
export interface KeyringEditor {
  /** Undefined when there is none. @throws MemoryError as `openKeyring`, and `integrity` for one older than before. */
  read(request?: RequestOptions): Promise<KeyringRecord | undefined>;
  /**
   * Writes what `decide` makes of the keyring as it is now, wrapped anew by the first configured root key, unless it
   * declines with undefined. Where somebody else was faster, `decide` is asked again about what is there then; it may
   * meet its own change there, when the answer to the write was lost.
   *
   * @throws MemoryError `key_unavailable` when there is no keyring; `outcome_unknown` when it cannot be known whether
   * the write landed; what `decide`, the store and the root key throw.
   */
  change(
    decide: (record: KeyringRecord) => Keyring | undefined,
    request?: RequestOptions,
  ): Promise<KeyringChange>;
}

export interface KeyringEditorOptions {
  readonly store: ObjectStore;
  readonly layout: Layout;
  /** The first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /** What the process knows of the keyring already; nothing unless given. */
  readonly guard?: RollbackGuard | undefined;
  readonly minimumEpoch?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly random: RandomBytes;
}

const ROUNDS = 32;

export function createKeyringEditor(options: KeyringEditorOptions): KeyringEditor {
  const { store, layout, rootKeys, clock, random } = options;
  const reader = createKeyringReader(options);

  async function read(request: RequestOptions = {}): Promise<KeyringRecord | undefined> {
    const found = await reader.read(request);
    if (found === undefined) return undefined;
    const opened = await reader.open(found, request);
    if (opened === 'overtaken') return read(request);
    const { keyring } = opened;
    const { etag, lastModified: writtenAt, servedAt } = found;
    const ageMs = Math.max(0, servedAt - writtenAt);
    return { keyring, rootId: parseKeyringHead(found.body).rootId, etag, writtenAt, ageMs };
  }

  /** Undefined: the write of another process is there, or nothing. */
  async function put(bytes: Uint8Array, base: ETag, request: RequestOptions): Promise<ETag | undefined> {
    const through = {
      put: store.put,
      get: (_: unknown, options?: RequestOptions) => reader.read(options ?? {}),
    };
    const write = { ...request, key: layout.keyring, mode: { ifMatch: base }, body: { bytes } };
    const settled = await settlePut(through, write);
    return settled !== 'replaced' && 'etag' in settled ? settled.etag : undefined;
  }

  async function write(
    before: KeyringRecord,
    keyring: Keyring,
    request: RequestOptions,
  ): Promise<KeyringRecord | undefined> {
    const rootKey = rootKeys[0];
    if (rootKey === undefined) throw new MemoryError('misconfigured', 'no root key is configured');
    const { tenant } = layout;
    const bytes = await sealKeyring({ keyring, tenant, rootKey, random, signal: request.signal });
    const known = reader.guard.begin();
    const etag = await put(bytes, before.etag, request);
    if (etag === undefined) return undefined;
    reader.guard.admit({ keyring, bytes }, known);
    const seen = await store.head(layout.keyring, request).catch(() => undefined);
    const [writtenAt, servedAt] =
      seen?.etag === etag ? [seen.lastModified, seen.servedAt] : [clock(), clock()];
    return { keyring, rootId: rootKey.id, etag, writtenAt, ageMs: Math.max(0, servedAt - writtenAt) };
  }

  return {
    read,
    async change(decide, request = {}) {
      await loadSodium();
      for (let round = 0; round < ROUNDS; round++) {
        const before = await read(request);
        if (before === undefined) {
          throw new MemoryError('key_unavailable', 'the tenant has no keyring');
        }
        const wanted: Keyring[] = [];
        let after: KeyringRecord | undefined;
        try {
          const next = decide(before);
          if (next === undefined) {
            after = before;
            return { record: before, changed: false };
          }
          wanted.push(next);
          after = await write(before, next, request);
          if (after !== undefined) return { record: after, changed: true };
        } finally {
          for (const keyring of [before.keyring, ...wanted]) forgetAllBut(keyring, after?.keyring);
        }
      }
      throw new MemoryError('unavailable', 'the keyring kept being changed by somebody else');
    },
  };
}

/** Keyrings that follow one another share the bytes of the keys that stay. */
function forgetAllBut(keyring: Keyring, kept: Keyring | undefined): void {
  if (kept === undefined) {
    forget(keyring);
    return;
  }
  if (keyring.nameKey !== kept.nameKey) wipe(keyring.nameKey);
  const stay = new Set(kept.tenantKeys.map(({ secret }) => secret));
  for (const { secret, wrapKey } of keyring.tenantKeys) {
    if (!stay.has(secret)) wipe(secret, wrapKey);
  }
}
