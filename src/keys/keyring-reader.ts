import { MemoryError } from '../errors.ts';
import type { ObjectStore, RequestOptions, StoredObject } from '../objects/object-store.ts';
import type { NameMode } from '../sealing/names.ts';
import type { Layout } from '../sealing/object-keys.ts';
import { loadSodium } from '../sealing/sodium.ts';
import { openKeyring } from './keyring.ts';
import { isShredMarker, MAX_KEYRING_BYTES } from './keyring-head.ts';
import { type OpenedKeyring, startKeyringHistory } from './keyring-history.ts';
import type { RootKey } from './root-key.ts';

export interface KeyringReaderOptions {
  readonly store: ObjectStore;
  readonly layout: Layout;
  /** The first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /** When given, a stored keyring of the other mode is refused. */
  readonly nameMode?: NameMode | undefined;
  /** A keyring of a lower epoch is refused; 1 by default. */
  readonly minimumEpoch?: number | undefined;
}

/** One tenant's keyring object, and what may be made of it after all that was read before. */
export interface KeyringReader {
  /** Whether a keyring or a shred marker was read. */
  readonly started: boolean;
  /** The object as it lies in the store. @throws MemoryError `integrity` when it is larger than a keyring can be. */
  read(request: RequestOptions): Promise<StoredObject | undefined>;
  /** Opens its bytes with the configured root key that they name. @throws MemoryError as `openKeyring` and `admit`. */
  open(bytes: Uint8Array, request: RequestOptions): Promise<OpenedKeyring>;
  /**
   * Takes an authentic keyring for the newest one.
   *
   * @throws MemoryError `integrity` when it is older than, or another than, what was read before; `misconfigured`
   * for the other name mode; `aborted`.
   */
  admit(opened: OpenedKeyring, request: RequestOptions): OpenedKeyring;
}

export function createKeyringReader(options: KeyringReaderOptions): KeyringReader {
  const { store, layout, rootKeys, nameMode, minimumEpoch } = options;
  const { tenant, keyring: key } = layout;
  const history = startKeyringHistory({ minimumEpoch });

  function admit(opened: OpenedKeyring, { signal }: RequestOptions): OpenedKeyring {
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

  return {
    get started() {
      return history.started;
    },
    async read(request) {
      try {
        const found = await store.get(key, { ...request, maxBytes: MAX_KEYRING_BYTES });
        return found === 'not_modified' ? undefined : found;
      } catch (error) {
        if (!(error instanceof MemoryError) || error.code !== 'limit_exceeded') throw error;
        throw new MemoryError('integrity', 'the keyring object is larger than a keyring can be', {
          cause: error,
        });
      }
    },
    async open(bytes, request) {
      await loadSodium();
      refuseAborted(request.signal);
      if (isShredMarker(bytes)) history.shredded();
      const keyring = await openKeyring({ bytes, tenant, rootKeys, signal: request.signal });
      return admit({ keyring, bytes }, request);
    },
    admit,
  };
}

function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new MemoryError('aborted', 'the load of the keyring was given up');
}
