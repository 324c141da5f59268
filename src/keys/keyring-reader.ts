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
  /** Of the root key that wraps it. */
  readonly rootId: string;
  readonly etag: ETag;
  /** When it was written, by the server's clock, milliseconds since the epoch. */
  readonly writtenAt: number;
  /** How long ago that was when it was read, by the server's clock. */
  readonly ageMs: number;
}

/** What lies in the keyring's place. `locked`: its root key is not configured, and nothing in it is authenticated. */
export type FoundKeyring =
  | { readonly state: 'absent' | 'shredded' }
  | { readonly state: 'locked'; readonly rootId: string; readonly epoch: number }
  | { readonly state: 'open'; readonly record: KeyringRecord };

/** The keyring's object, and what was known of the keyring before it was read. */
export interface FoundObject extends StoredObject {
  readonly before: SeenKeyring;
}

/** Reads one tenant's keyring, and takes nothing older than what this process has seen of it. */
export interface KeyringReader {
  /** The object, not opened; undefined when there is none. @throws MemoryError `integrity` for one too large. */
  find(request: RequestOptions): Promise<FoundObject | undefined>;
  /** @throws MemoryError as `openKeyring` and `admit`. */
  open(found: FoundObject, request: RequestOptions): Promise<KeyringRecord | 'overtaken'>;
  /**
   * Takes an authentic keyring for the newest one. The keys of one that is not taken are overwritten.
   *
   * @throws MemoryError `integrity` as the rollback guard; `misconfigured` for the other name mode.
   */
  admit(opened: OpenedKeyring, request: RequestOptions & Pick<FoundObject, 'before'>): 'newest' | 'overtaken';
  /**
   * Undefined when there is none.
   *
   * @throws MemoryError as `openKeyring`; `integrity` for one older than, or another than, what this process has seen,
   * or larger than a keyring can be; `misconfigured` for the other name mode; what the store throws.
   */
  read(request?: RequestOptions): Promise<KeyringRecord | undefined>;
  /** The same for a report: a shredded or locked keyring is no failure. */
  inspect(request?: RequestOptions): Promise<FoundKeyring>;
}

export interface KeyringReaderOptions {
  readonly store: ObjectStore;
  readonly layout: Layout;
  /** The first wraps, all unwrap. */
  readonly rootKeys: readonly RootKey[];
  /** For creation, `encrypted` by default; when given, a stored keyring of the other mode is refused. */
  readonly nameMode?: NameMode | undefined;
  /** What the process knows of the keyring already. */
  readonly guard: RollbackGuard;
}

/** How often another read of this process may overtake one. */
const READS = 8;

export function createKeyringReader(options: KeyringReaderOptions): KeyringReader {
  const { store, layout, rootKeys, nameMode, guard } = options;
  const { tenant, keyring: key } = layout;

  async function find(request: RequestOptions): Promise<FoundObject | undefined> {
    const before = guard.begin();
    try {
      const answer = store.get(key, { ...request, maxBytes: MAX_KEYRING_BYTES });
      // While the request is on its way: in a new process it is the first one, and nothing before it needs libsodium.
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
      // What an abandoned load finds late may be older than what a newer one has found: it counts for nothing.
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
