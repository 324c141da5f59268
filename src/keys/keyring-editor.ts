import { hasCode, MemoryError } from '../errors.ts';
import type { Keyring } from '../format/keyring-bytes.ts';
import type { RandomBytes } from '../format/sodium.ts';
import type { ETag, RequestOptions } from '../store/port.ts';
import { settlePut } from '../store/settle.ts';
import { createKeyring, forget, sealKeyring } from './keyring.ts';
import {
  createKeyringReader,
  type KeyringReader,
  type KeyringReaderOptions,
  type KeyringRecord,
  whileOvertaken,
} from './keyring-reader.ts';
import { createRollbackGuard, type OpenedKeyring, type RollbackGuard } from './rollback-guard.ts';
import type { RootKey } from './root-key.ts';

interface KeyringChange {
  /** The keyring after the change. */
  readonly record: KeyringRecord;
  /** True where `decide` changed the keyring, false where it declined. */
  readonly changed: boolean;
}

/** The editor of one tenant's stored keyring: every call reads it past every cache. */
export interface KeyringEditor extends Pick<KeyringReader, 'find' | 'read' | 'inspect'> {
  /**
   * Reads the keyring; undefined when both keyring and data are missing. With `create` a keyring is made then, and
   * confirmed to lie in the store before this resolves. Its names are `encrypted` unless a mode is configured.
   *
   * @throws MemoryError as `read`; `key_unavailable` when there is data without a keyring, or the keyring is gone;
   * `tenant_unknown` when both are missing and no tenant may be created.
   */
  fetch(request: RequestOptions & { readonly create: boolean }): Promise<OpenedKeyring | undefined>;
  /**
   * Writes the keyring that `decide` makes of the current one, wrapped by the first configured root key, unless it
   * declines with undefined. When another process won the race, `decide` is asked again about that process's keyring;
   * it may meet its own change there, when the answer to the write was lost.
   *
   * @throws MemoryError `key_unavailable` when the tenant has no keyring; `outcome_unknown` when the process cannot
   * know whether the write landed; the errors of `decide`, the store and the root key.
   */
  change(
    decide: (record: KeyringRecord) => Keyring | undefined,
    request?: RequestOptions,
  ): Promise<KeyringChange>;
}

export interface KeyringEditorOptions extends Omit<KeyringReaderOptions, 'guard'> {
  /** False to refuse a tenant that has no keyring and no data, instead of telling it absent; true by default. */
  readonly createTenants?: boolean | undefined;
  /** Hears that this process has begun the tenant, once its keyring lies in the store. */
  readonly onBegun?: (() => void) | undefined;
  /** True for a tenant that is created with history; false by default. */
  readonly keepsHistory?: boolean | undefined;
  /** The process's memory of the keyring so far; empty by default. */
  readonly guard?: RollbackGuard | undefined;
  /** The least epoch: a keyring of a lower one is refused as `integrity`, and none is created when it is above 1. */
  readonly minimumEpoch?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly random: RandomBytes;
}

const ROUNDS = 32;

export function createKeyringEditor(options: KeyringEditorOptions): KeyringEditor {
  const { store, layout, rootKeys, nameMode, keepsHistory, minimumEpoch = 1, clock, random } = options;
  const { guard = createRollbackGuard() } = options;
  const { tenant, keyring: key } = layout;
  guard.pin(minimumEpoch);
  const reader = createKeyringReader({ store, layout, rootKeys, nameMode, guard });

  async function hasData(request: RequestOptions): Promise<boolean> {
    for await (const page of store.list({ ...request, prefix: layout.data, maxKeys: 10 })) {
      if (page.objects.length > 0) return true;
    }
    return false;
  }

  async function findOrCreate({
    create: mayCreate,
    signal,
  }: Parameters<KeyringEditor['fetch']>[0]): Promise<OpenedKeyring | 'overtaken' | 'absent'> {
    const { shredded, newest } = guard.begin();
    const isKnown = shredded || newest !== undefined;
    const found = await reader.find({ signal });
    if (found !== undefined) return reader.open(found, { signal });
    if (isKnown || guard.minimumEpoch > 1) {
      const why = isKnown ? 'this process has seen it' : 'an epoch is pinned for this tenant';
      throw new MemoryError(
        'key_unavailable',
        `The keyring is gone although ${why}; restore the keyring object from a backup.`,
      );
    }
    if (await hasData({ signal })) {
      // Another process may have created the keyring and a file since the first look.
      const late = await reader.find({ signal });
      if (late !== undefined) return reader.open(late, { signal });
      throw new MemoryError(
        'key_unavailable',
        'The tenant has data but no keyring; restore the keyring object from a backup.',
      );
    }
    if (options.createTenants === false) {
      throw new MemoryError(
        'tenant_unknown',
        'Nothing was ever written for the tenant, and this process begins none (createTenants: false); is its name right?',
      );
    }
    return mayCreate ? create(signal) : 'absent';
  }

  async function create(signal: AbortSignal | undefined): Promise<OpenedKeyring | 'overtaken'> {
    const mode = nameMode ?? 'encrypted';
    const keyring = createKeyring({ nameMode: mode, keepsHistory, random, created: clock() });
    let isKept = false;
    try {
      const bytes = await sealKeyring({ keyring, tenant, rootKey: wrappingKey(), random, signal });
      const before = guard.begin();
      const etag = await put(bytes, 'create', { signal }).catch((error: unknown) => {
        // The caller's own command was not begun, so its outcome is known.
        throw hasCode(error, 'outcome_unknown') ? unconfirmed(error) : error;
      });
      if (etag === undefined) {
        const found = await reader.find({ signal });
        if (found === undefined) throw unconfirmed();
        return await reader.open(found, { signal });
      }
      const own = { keyring, bytes };
      isKept = reader.admit(own, { signal, before }) === 'newest';
      options.onBegun?.();
      return isKept ? own : 'overtaken';
    } finally {
      if (!isKept) forget(keyring);
    }
  }

  /**
   * Puts the keyring's object, and answers the ETag of the write; undefined when another process has written or removed
   * the object.
   */
  async function put(
    bytes: Uint8Array,
    mode: 'create' | { readonly ifMatch: ETag },
    request: RequestOptions,
  ): Promise<ETag | undefined> {
    const get = (_: unknown, options: RequestOptions = {}) => reader.find(options);
    const settled = await settlePut({ put: store.put, get }, { ...request, key, mode, body: { bytes } });
    return settled !== 'replaced' && 'etag' in settled ? settled.etag : undefined;
  }

  async function write(
    before: KeyringRecord,
    keyring: Keyring,
    request: RequestOptions,
  ): Promise<KeyringRecord | undefined> {
    const rootKey = wrappingKey();
    const bytes = await sealKeyring({ keyring, tenant, rootKey, random, signal: request.signal });
    const known = guard.begin();
    const etag = await put(bytes, { ifMatch: before.etag }, request);
    if (etag === undefined) return undefined;
    guard.admit({ keyring, bytes }, known);
    const seen = await store.head(key, request).catch(() => undefined);
    const [writtenAt, servedAt] =
      seen?.etag === etag ? [seen.lastModified, seen.servedAt] : [clock(), clock()];
    return { keyring, bytes, rootId: rootKey.id, etag, writtenAt, ageMs: Math.max(0, servedAt - writtenAt) };
  }

  function wrappingKey(): RootKey {
    const [rootKey] = rootKeys;
    if (rootKey === undefined) throw new MemoryError('misconfigured', 'No root key is configured.');
    return rootKey;
  }

  return {
    find: reader.find,
    read: reader.read,
    inspect: reader.inspect,
    async fetch(request) {
      const found = await whileOvertaken(() => findOrCreate(request));
      return found === 'absent' ? undefined : found;
    },
    async change(decide, request = {}) {
      for (let round = 0; round < ROUNDS; round++) {
        const before = await reader.read(request);
        if (before === undefined) {
          throw new MemoryError(
            'key_unavailable',
            'The tenant has no keyring: correct its name if nothing was written for it; restore the keyring object from a backup if it is gone.',
          );
        }
        let next: Keyring | undefined;
        let after: KeyringRecord | undefined;
        try {
          next = decide(before);
          after = next === undefined ? before : await write(before, next, request);
          if (after !== undefined) return { record: after, changed: next !== undefined };
        } finally {
          // Keyrings that follow one another share the bytes of the keys that stay.
          for (const keyring of [before.keyring, next]) if (keyring) forget(keyring, after?.keyring);
        }
      }
      throw new MemoryError('unavailable', 'Another process changed the keyring at every attempt.');
    },
  };
}

function unconfirmed(cause?: unknown): MemoryError {
  return new MemoryError('unavailable', 'The keyring could not be confirmed after it was written.', {
    cause,
  });
}
