import { hasCode, MemoryError } from '../errors.ts';
import {
  isShredMarker,
  keyringRefusal,
  MAX_KEYRING_BYTES,
  parseKeyringHead,
} from '../format/keyring-bytes.ts';
import type { NameMode } from '../format/names.ts';
import type { Layout } from '../format/object-keys.ts';
import { loadSodium } from '../format/sodium.ts';
import type { ETag, ObjectStore, RequestOptions, StoredObject } from '../store/port.ts';
import { throwIfAborted } from '../time.ts';
import { forget, openKeyring } from './keyring.ts';
import type { OpenedKeyring, RollbackGuard, SeenKeyring } from './rollback-guard.ts';
import type { RootKey } from './root-key.ts';

/** A tenant's keyring with its secrets, as one read found it. The caller wipes it with `forget(record.keyring)`. */
export interface KeyringRecord extends OpenedKeyring {
  /** The id of the root key that wraps it. */
  readonly rootId: string;
  readonly etag: ETag;
  /** The time at which it was written, by the server's clock, milliseconds since the epoch. */
  readonly writtenAt: number;
  /** The age at which it was read, by the server's clock, in milliseconds. */
  readonly ageMs: number;
}

/**
 * The object in the keyring's place. `locked`: its root key is not among the configured ones, so its fields cannot be
 * authenticated.
 */
type FoundKeyring =
  | { readonly state: 'absent' | 'shredded' }
  | { readonly state: 'locked'; readonly rootId: string; readonly epoch: number }
  | { readonly state: 'open'; readonly record: KeyringRecord };

/** The keyring's object, and the process's memory of the keyring before it was read. */
interface FoundObject extends StoredObject {
  readonly before: SeenKeyring;
}

/** Reads one tenant's keyring, and refuses one that is older than this process has seen. */
export interface KeyringReader {
  /**
   * Reads the object without opening it; undefined when it is missing.
   *
   * @throws MemoryError `integrity` for one too large.
   */
  find(request: RequestOptions): Promise<FoundObject | undefined>;
  /**
   * Opens the object.
   *
   * @throws MemoryError as `openKeyring` and `admit`.
   */
  open(found: FoundObject, request: RequestOptions): Promise<KeyringRecord | 'overtaken'>;
  /**
   * Takes an authentic keyring for the newest one. Overwrites the keys of a keyring that it does not take.
   *
   * @throws MemoryError `integrity` as the rollback guard; `misconfigured` for the other name mode.
   */
  admit(opened: OpenedKeyring, request: RequestOptions & Pick<FoundObject, 'before'>): 'newest' | 'overtaken';
  /**
   * Reads and opens the keyring; undefined when it is missing.
   *
   * @throws MemoryError as `openKeyring`; `integrity` for one older than, or another than, this process has seen, or
   * larger than a keyring can be; `misconfigured` for the other name mode; the errors of the store.
   */
  read(request?: RequestOptions): Promise<KeyringRecord | undefined>;
  /** Reads the keyring as `read` does, for a report: a shredded or locked keyring is no failure. */
  inspect(request?: RequestOptions): Promise<FoundKeyring>;
}

export interface KeyringReaderOptions {
  readonly store: ObjectStore;
  readonly layout: Layout;
  /** The root keys: the first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /**
   * The form of names for creation, `encrypted` by default; when given, a stored keyring of the other mode is refused.
   */
  readonly nameMode?: NameMode | undefined;
  /** The process's memory of the keyring so far. */
  readonly guard: RollbackGuard;
}

/** The most times that other reads of this process may overtake one. */
const READS = 8;

export function createKeyringReader(options: KeyringReaderOptions): KeyringReader {
  const { store, layout, rootKeys, nameMode, guard } = options;
  const { tenant, keyring: key } = layout;

  async function find(request: RequestOptions): Promise<FoundObject | undefined> {
    const before = guard.begin();
    try {
      const answer = store.get(key, { ...request, maxBytes: MAX_KEYRING_BYTES });
      // Sodium loads while the request is on its way: in a new process it is the first one, and needs libsodium only
      // for the answer.
      const [found] = await Promise.all([answer, loadSodium()]);
      if (typeof found !== 'object') return undefined;
      if (isShredMarker(found.body)) guard.shredded();
      return { ...found, before };
    } catch (cause) {
      if (!hasCode(cause, 'limit_exceeded')) throw cause;
      throw keyringRefusal();
    }
  }

  async function open(found: FoundObject, request: RequestOptions): Promise<KeyringRecord | 'overtaken'> {
    throwIfAborted(request.signal);
    const { body: bytes, etag, lastModified: writtenAt, servedAt, before } = found;
    const keyring = await openKeyring({ bytes, tenant, rootKeys, signal: request.signal });
    if (admit({ keyring, bytes }, { ...request, before }) === 'overtaken') return 'overtaken';
    const ageMs = Math.max(0, servedAt - writtenAt);
    return { keyring, bytes, rootId: parseKeyringHead(bytes).rootId, etag, writtenAt, ageMs };
  }

  function admit(
    opened: OpenedKeyring,
    { signal, before }: RequestOptions & Pick<FoundObject, 'before'>,
  ): 'newest' | 'overtaken' {
    const { keyring } = opened;
    let verdict: 'newest' | 'overtaken' | undefined;
    try {
      // An abandoned load may find a keyring late that is older than a newer load's, so its answer does not count.
      throwIfAborted(signal);
      const judged = guard.admit(opened, before);
      if (nameMode !== undefined && keyring.nameMode !== nameMode) {
        throw new MemoryError(
          'misconfigured',
          `The tenant's file names are ${keyring.nameMode}, which never changes: set names to that, or leave it out.`,
          { details: { reason: 'name_mode' } },
        );
      }
      verdict = judged;
      return verdict;
    } finally {
      if (verdict !== 'newest') forget(keyring);
    }
  }

  return {
    find,
    open,
    admit,
    async read(request = {}) {
      return whileOvertaken(async () => {
        const found = await find(request);
        return found && open(found, request);
      });
    },
    async inspect(request = {}) {
      return whileOvertaken(async () => {
        const found = await find(request);
        if (found === undefined) return { state: 'absent' };
        if (isShredMarker(found.body)) return { state: 'shredded' };
        const { rootId, epoch } = parseKeyringHead(found.body);
        if (!rootKeys.some(({ id }) => id === rootId)) return { state: 'locked', rootId, epoch };
        const record = await open(found, request);
        return record === 'overtaken' ? record : { state: 'open', record };
      });
    },
  };
}

/** Tries again while another read of this process has seen a newer keyring. */
export async function whileOvertaken<T>(attempt: () => Promise<T | 'overtaken'>): Promise<T> {
  for (let reads = 0; reads < READS; reads++) {
    const found = await attempt();
    if (found !== 'overtaken') return found;
  }
  throw new MemoryError('unavailable', 'The keyring was changed while it was read, at every attempt.');
}
