import { MemoryError } from '../errors.ts';
import type { ObjectStore, RequestOptions } from '../objects/object-store.ts';
import type { NameMode } from '../sealing/names.ts';
import type { Layout } from '../sealing/object-keys.ts';
import type { RandomBytes } from '../sealing/random.ts';
import { loadSodium } from '../sealing/sodium.ts';
import { createKeyring, openKeyring, sealKeyring } from './keyring.ts';
import { isShredMarker, MAX_KEYRING_BYTES } from './keyring-head.ts';
import { type OpenedKeyring, sameBytes, startKeyringHistory } from './keyring-history.ts';
import type { RootKey } from './root-key.ts';

export interface KeyringSourceOptions {
  readonly store: ObjectStore;
  readonly layout: Layout;
  /** The first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /** For creation, `encrypted` by default; when given, a stored keyring of the other mode is refused. */
  readonly nameMode?: NameMode | undefined;
  readonly clock: () => number;
  readonly random: RandomBytes;
}

/** One tenant's keyring as it lies in the store, read anew at every call. */
export interface KeyringSource {
  /**
   * Undefined when there is neither a keyring nor data; with `create` one is made then, and it is confirmed to lie
   * in the store before this resolves.
   */
  fetch(options: {
    readonly create: boolean;
    readonly signal: AbortSignal;
  }): Promise<OpenedKeyring | undefined>;
}

const SENDS = 3;

export function createKeyringSource(options: KeyringSourceOptions): KeyringSource {
  const { store, layout, rootKeys, nameMode, clock, random } = options;
  const { tenant, keyring: key } = layout;
  const history = startKeyringHistory();

  async function read(request: RequestOptions): Promise<Uint8Array | undefined> {
    try {
      const found = await store.get(key, { ...request, maxBytes: MAX_KEYRING_BYTES });
      return found === undefined || found === 'not_modified' ? undefined : found.body;
    } catch (error) {
      if (!(error instanceof MemoryError) || error.code !== 'limit_exceeded') throw error;
      throw new MemoryError('integrity', 'the keyring object is larger than a keyring can be', {
        cause: error,
      });
    }
  }

  async function openBytes(bytes: Uint8Array, signal: AbortSignal): Promise<OpenedKeyring> {
    refuseAborted(signal);
    if (isShredMarker(bytes)) history.shredded();
    return admit({ keyring: await openKeyring({ bytes, tenant, rootKeys, signal }), bytes }, signal);
  }

  function admit(opened: OpenedKeyring, signal: AbortSignal): OpenedKeyring {
    // What an abandoned load finds late may be older than what a newer one has found: it counts for nothing.
    refuseAborted(signal);
    history.admit(opened);
    if (nameMode !== undefined && opened.keyring.nameMode !== nameMode) {
      throw new MemoryError(
        'misconfigured',
        `the tenant's file names are ${opened.keyring.nameMode}; that never changes`,
      );
    }
    return opened;
  }

  async function hasData(request: RequestOptions): Promise<boolean> {
    for await (const page of store.list({ ...request, prefix: layout.data, maxKeys: 10 })) {
      if (page.objects.length > 0) return true;
    }
    return false;
  }

  async function create(signal: AbortSignal): Promise<OpenedKeyring> {
    const rootKey = rootKeys[0];
    if (rootKey === undefined) throw new MemoryError('misconfigured', 'no root key is configured');
    const keyring = createKeyring({ nameMode: nameMode ?? 'encrypted', random, created: clock() });
    const bytes = await sealKeyring({ keyring, tenant, rootKey, random, signal });
    for (let sends = 0; sends < SENDS; sends++) {
      if (await putIfAbsent(bytes, signal)) return admit({ keyring, bytes }, signal);
      const found = await read({ signal });
      if (found !== undefined) {
        return sameBytes(found, bytes) ? admit({ keyring, bytes }, signal) : await openBytes(found, signal);
      }
    }
    throw new MemoryError('unavailable', 'the keyring could not be confirmed after it was written');
  }

  /** Whether the write certainly happened. The bytes are the same at every attempt, so they may be sent again. */
  async function putIfAbsent(bytes: Uint8Array, signal: AbortSignal): Promise<boolean> {
    try {
      return 'etag' in (await store.put(key, bytes, { mode: 'create', signal }));
    } catch (error) {
      if (error instanceof MemoryError && error.code === 'outcome_unknown') return false;
      throw error;
    }
  }

  return {
    async fetch({ create: mayCreate, signal }) {
      await loadSodium();
      const found = await read({ signal });
      if (found !== undefined) return openBytes(found, signal);
      if (history.started) {
        throw new MemoryError(
          'key_unavailable',
          'the keyring is gone although this process has seen it; restore it',
        );
      }
      if (await hasData({ signal })) {
        // Somebody may have created the keyring and a file since the first look.
        const late = await read({ signal });
        if (late !== undefined) return openBytes(late, signal);
        throw new MemoryError(
          'key_unavailable',
          'the tenant has data but no keyring; restore the keyring object',
        );
      }
      return mayCreate ? create(signal) : undefined;
    },
  };
}

function refuseAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new MemoryError('aborted', 'the load of the keyring was given up');
}
