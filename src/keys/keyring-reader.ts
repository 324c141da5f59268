import { hasCode, MemoryError } from '../errors.ts';
import { isShredMarker, MAX_KEYRING_BYTES } from '../format/keyring-bytes.ts';
import type { NameMode } from '../format/names.ts';
import type { Layout } from '../format/object-keys.ts';
import { loadSodium } from '../format/sodium.ts';
import type { ObjectStore, RequestOptions, StoredObject } from '../store/port.ts';
import { openKeyring } from './keyring.ts';
import { forget } from './keyring-life.ts';
import {
  createRollbackGuard,
  type OpenedKeyring,
  type RollbackGuard,
  type SeenKeyring,
} from './rollback-guard.ts';
import type { RootKey } from './root-key.ts';

export interface KeyringReaderOptions {
  readonly store: ObjectStore;
  readonly layout: Layout;
  /** The first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /** When given, a stored keyring of the other mode is refused. */
  readonly nameMode?: NameMode | undefined;
  /** What the process knows of the keyring already; nothing unless given. */
  readonly guard?: RollbackGuard | undefined;
  /** A keyring of a lower epoch is refused from now on; 1 by default. */
  readonly minimumEpoch?: number | undefined;
}

/** The keyring's object, and what was known before it was read. */
export interface FoundKeyring extends StoredObject {
  readonly before: SeenKeyring;
}

/** One tenant's keyring object, and what may be made of it after all that was read before. */
export interface KeyringReader {
  readonly guard: RollbackGuard;
  /** The object as it lies in the store. @throws MemoryError `integrity` when it is larger than a keyring can be. */
  read(request: RequestOptions): Promise<FoundKeyring | undefined>;
  /**
   * Opens it with the configured root key that it names. `'overtaken'`: the process has seen a newer one meanwhile,
   * and it is to be read again. @throws MemoryError as `openKeyring` and `admit`.
   */
  open(found: FoundKeyring, request: RequestOptions): Promise<OpenedKeyring | 'overtaken'>;
  /**
   * Takes an authentic keyring for the newest one, unless the process has seen a newer one meanwhile. The keys of one
   * that is not taken are overwritten.
   *
   * @throws MemoryError `integrity` when it is older than, or another than, what was known before; `misconfigured`
   * for the other name mode; `aborted`.
   */
  admit(
    opened: OpenedKeyring,
    given: RequestOptions & Pick<FoundKeyring, 'before'>,
  ): OpenedKeyring | 'overtaken';
}

export function createKeyringReader(options: KeyringReaderOptions): KeyringReader {
  const { store, layout, rootKeys, nameMode, minimumEpoch = 1 } = options;
  const { guard = createRollbackGuard() } = options;
  const { tenant, keyring: key } = layout;
  guard.pin(minimumEpoch);

  const judge: KeyringReader['admit'] = (opened, { signal, before }) => {
    // What an abandoned load finds late may be older than what a newer one has found: it counts for nothing.
    refuseAborted(signal);
    const verdict = guard.admit(opened, before);
    if (nameMode !== undefined && opened.keyring.nameMode !== nameMode) {
      throw new MemoryError(
        'misconfigured',
        `the tenant's file names are ${opened.keyring.nameMode}; that never changes`,
      );
    }
    return verdict === 'newest' ? opened : verdict;
  };

  const admit: KeyringReader['admit'] = (opened, given) => {
    let admitted: OpenedKeyring | 'overtaken' | undefined;
    try {
      admitted = judge(opened, given);
      return admitted;
    } finally {
      if (admitted !== opened) forget(opened.keyring);
    }
  };

  return {
    guard,
    async read(request) {
      const before = guard.begin();
      try {
        const found = await store.get(key, { ...request, maxBytes: MAX_KEYRING_BYTES });
        if (typeof found !== 'object') return undefined;
        if (isShredMarker(found.body)) guard.shredded();
        return { ...found, before };
      } catch (error) {
        if (!hasCode(error, 'limit_exceeded')) throw error;
        throw new MemoryError('integrity', 'the keyring object is larger than a keyring can be', {
          cause: error,
        });
      }
    },
    async open({ body: bytes, before }, request) {
      await loadSodium();
      refuseAborted(request.signal);
      const keyring = await openKeyring({ bytes, tenant, rootKeys, signal: request.signal });
      return admit({ keyring, bytes }, { ...request, before });
    },
    admit,
  };
}

function refuseAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new MemoryError('aborted', 'the load of the keyring was given up');
}
