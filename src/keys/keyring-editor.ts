import { hasCode, MemoryError } from '../errors.ts';
import { isShredMarker, MAX_KEYRING_BYTES, parseKeyringHead } from '../format/keyring-bytes.ts';
import type { NameMode } from '../format/names.ts';
import type { Layout } from '../format/object-keys.ts';
import { loadSodium, type RandomBytes } from '../format/sodium.ts';
import type { ETag, ObjectStore, RequestOptions, StoredObject } from '../store/port.ts';
import { settlePut } from '../store/settle.ts';
import { throwIfAborted } from '../time.ts';
import { createKeyring, forget, type Keyring, openKeyring, sealKeyring } from './keyring.ts';
import {
  createRollbackGuard,
  type OpenedKeyring,
  type RollbackGuard,
  type SeenKeyring,
} from './rollback-guard.ts';
import type { RootKey } from './root-key.ts';

/** A tenant's keyring with its secrets, as one read found it. The caller wipes it with `forget(record.keyring)`. */
interface KeyringRecord extends OpenedKeyring {
  /** Of the root key that wraps it. */
  readonly rootId: string;
  readonly etag: ETag;
  /** When it was written, by the server's clock, milliseconds since the epoch. */
  readonly writtenAt: number;
  /** How long ago that was when it was read, by the server's clock. */
  readonly ageMs: number;
}

/** What lies in the keyring's place. `locked`: its root key is not configured, and nothing in it is authenticated. */
type FoundKeyring =
  | { readonly state: 'absent' | 'shredded' }
  | { readonly state: 'locked'; readonly rootId: string; readonly epoch: number }
  | { readonly state: 'open'; readonly record: KeyringRecord };

interface KeyringChange {
  /** The keyring as it is now. */
  readonly record: KeyringRecord;
  /** False when `decide` declined. */
  readonly changed: boolean;
}

/** One tenant's keyring as it lies in the store: every call reads it past every cache. */
export interface KeyringEditor {
  /**
   * Undefined when there is none.
   *
   * @throws MemoryError as `openKeyring`; `integrity` for one older than, or another than, what this process has seen,
   * or larger than a keyring can be; `misconfigured` for the other name mode; what the store throws.
   */
  read(request?: RequestOptions): Promise<KeyringRecord | undefined>;
  /** The same for a report: a shredded or locked keyring is no failure. */
  inspect(request?: RequestOptions): Promise<FoundKeyring>;
  /**
   * Undefined when there is neither a keyring nor data; with `create` a keyring is made then, and it is confirmed to
   * lie in the store before this resolves. Its names are `encrypted` unless a mode is configured.
   *
   * @throws MemoryError as `read`; `key_unavailable` when there is data without a keyring, or the keyring is gone.
   */
  fetch(request: RequestOptions & { readonly create: boolean }): Promise<OpenedKeyring | undefined>;
  /**
   * Writes what `decide` makes of the keyring as it is now, wrapped by the first configured root key, unless it
   * declines with undefined. When another process won the race, `decide` is asked again about what is there then; it
   * may meet its own change there, when the answer to the write was lost.
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
  /** For creation, `encrypted` by default; when given, a stored keyring of the other mode is refused. */
  readonly nameMode?: NameMode | undefined;
  /** Of a tenant that is created; false by default. */
  readonly keepsHistory?: boolean | undefined;
  /** What the process knows of the keyring already; nothing unless given. */
  readonly guard?: RollbackGuard | undefined;
  /** A keyring of a lower epoch is refused as `integrity`, and none is created when it is above 1. */
  readonly minimumEpoch?: number | undefined;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  readonly random: RandomBytes;
}

/** The keyring's object, and what was known of the keyring before it was read. */
interface FoundObject extends StoredObject {
  readonly before: SeenKeyring;
}

const ROUNDS = 32;
/** How often another read of this process may overtake one. */
const READS = 8;

export function createKeyringEditor(options: KeyringEditorOptions): KeyringEditor {
  const { store, layout, rootKeys, nameMode, keepsHistory, minimumEpoch = 1, clock, random } = options;
  const { guard = createRollbackGuard() } = options;
  const { tenant, keyring: key } = layout;
  guard.pin(minimumEpoch);

  async function readObject(request: RequestOptions): Promise<FoundObject | undefined> {
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
      throw new MemoryError('integrity', 'The keyring object is larger than a keyring can be.', { cause });
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

  /** Takes an authentic keyring for the newest one. The keys of one that is not taken are overwritten. */
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
        );
      }
      verdict = judged;
      return verdict;
    } finally {
      if (verdict !== 'newest') forget(keyring);
    }
  }

  async function hasData(request: RequestOptions): Promise<boolean> {
    for await (const page of store.list({ ...request, prefix: layout.data, maxKeys: 10 })) {
      if (page.objects.length > 0) return true;
    }
    return false;
  }

  async function find({
    create: mayCreate,
    signal,
  }: Parameters<KeyringEditor['fetch']>[0]): Promise<OpenedKeyring | 'overtaken' | 'absent'> {
    const { shredded, newest } = guard.begin();
    const isKnown = shredded || newest !== undefined;
    const found = await readObject({ signal });
    if (found !== undefined) return open(found, { signal });
    if (isKnown || guard.minimumEpoch > 1) {
      const why = isKnown ? 'this process has seen it' : 'an epoch is pinned for this tenant';
      throw new MemoryError(
        'key_unavailable',
        `The keyring is gone although ${why}; restore the keyring object from a backup.`,
      );
    }
    if (await hasData({ signal })) {
      // Another process may have created the keyring and a file since the first look.
      const late = await readObject({ signal });
      if (late !== undefined) return open(late, { signal });
      throw new MemoryError(
        'key_unavailable',
        'The tenant has data but no keyring; restore the keyring object from a backup.',
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
        // What the caller asked for was not begun, so nothing about it is unknown.
        throw hasCode(error, 'outcome_unknown') ? unconfirmed(error) : error;
      });
      if (etag === undefined) {
        const found = await readObject({ signal });
        if (found === undefined) throw unconfirmed();
        return await open(found, { signal });
      }
      const own = { keyring, bytes };
      isKept = admit(own, { signal, before }) === 'newest';
      return isKept ? own : 'overtaken';
    } finally {
      if (!isKept) forget(keyring);
    }
  }

  /** The ETag of the write; undefined when the write of another process is there, or nothing. */
  async function put(
    bytes: Uint8Array,
    mode: 'create' | { readonly ifMatch: ETag },
    request: RequestOptions,
  ): Promise<ETag | undefined> {
    const get = (_: unknown, options: RequestOptions = {}) => readObject(options);
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

  async function read(request: RequestOptions = {}): Promise<KeyringRecord | undefined> {
    return whileOvertaken(async () => {
      const found = await readObject(request);
      return found && open(found, request);
    });
  }

  return {
    read,
    async inspect(request = {}) {
      return whileOvertaken(async () => {
        const found = await readObject(request);
        if (found === undefined) return { state: 'absent' };
        if (isShredMarker(found.body)) return { state: 'shredded' };
        const { rootId, epoch } = parseKeyringHead(found.body);
        if (!rootKeys.some(({ id }) => id === rootId)) return { state: 'locked', rootId, epoch };
        const record = await open(found, request);
        return record === 'overtaken' ? record : { state: 'open', record };
      });
    },
    async fetch(request) {
      const found = await whileOvertaken(() => find(request));
      return found === 'absent' ? undefined : found;
    },
    async change(decide, request = {}) {
      for (let round = 0; round < ROUNDS; round++) {
        const before = await read(request);
        if (before === undefined) {
          throw new MemoryError('key_unavailable', 'The tenant has no keyring.');
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

async function whileOvertaken<T>(attempt: () => Promise<T | 'overtaken'>): Promise<T> {
  for (let reads = 0; reads < READS; reads++) {
    const found = await attempt();
    if (found !== 'overtaken') return found;
  }
  throw new MemoryError('unavailable', 'The keyring was changed while it was read, at every attempt.');
}

function unconfirmed(cause?: unknown): MemoryError {
  return new MemoryError('unavailable', 'The keyring could not be confirmed after it was written.', {
    cause,
  });
}
