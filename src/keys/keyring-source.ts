import { hasCode, MemoryError } from '../errors.ts';
import { loadSodium, type RandomBytes } from '../format/sodium.ts';
import type { RequestOptions } from '../store/port.ts';
import { settlePut } from '../store/settle.ts';
import { createKeyring, sealKeyring } from './keyring.ts';
import { forget } from './keyring-life.ts';
import { createKeyringReader, type FoundKeyring, type KeyringReaderOptions } from './keyring-reader.ts';
import type { OpenedKeyring } from './rollback-guard.ts';

export interface KeyringSourceOptions extends KeyringReaderOptions {
  readonly clock: () => number;
  readonly random: RandomBytes;
}

/** One tenant's keyring as it lies in the store, read anew at every call. */
export interface KeyringSource {
  /**
   * Undefined when there is neither a keyring nor data; with `create` one is made then, and it is confirmed to lie
   * in the store before this resolves. Its names are `encrypted` unless a mode is configured.
   */
  fetch(options: {
    readonly create: boolean;
    readonly signal: AbortSignal;
  }): Promise<OpenedKeyring | undefined>;
}

/** How often somebody else in this process may be faster. */
const READS = 8;

export function createKeyringSource(options: KeyringSourceOptions): KeyringSource {
  const { store, layout, rootKeys, nameMode, clock, random } = options;
  const { tenant, keyring: key } = layout;
  const reader = createKeyringReader(options);

  async function hasData(request: RequestOptions): Promise<boolean> {
    for await (const page of store.list({ ...request, prefix: layout.data, maxKeys: 10 })) {
      if (page.objects.length > 0) return true;
    }
    return false;
  }

  async function create(signal: AbortSignal): Promise<OpenedKeyring | 'overtaken'> {
    const rootKey = rootKeys[0];
    if (rootKey === undefined) throw new MemoryError('misconfigured', 'no root key is configured');
    const keyring = createKeyring({ nameMode: nameMode ?? 'encrypted', random, created: clock() });
    let isKept = false;
    try {
      const bytes = await sealKeyring({ keyring, tenant, rootKey, random, signal });
      const before = reader.guard.begin();
      const found = await confirm(bytes, signal);
      if (found !== 'ours') return await reader.open(found, { signal });
      const own = reader.admit({ keyring, bytes }, { signal, before });
      isKept = own !== 'overtaken';
      return own;
    } finally {
      if (!isKept) forget(keyring);
    }
  }

  /** Writes a first keyring where none is, and resolves to the one that lies there: `'ours'` when it is this one. */
  async function confirm(bytes: Uint8Array, signal: AbortSignal): Promise<FoundKeyring | 'ours'> {
    const write = { key, mode: 'create', body: { bytes }, signal } as const;
    const settled = await settlePut(store, write).catch((error: unknown) => {
      // What the caller asked for was not begun, so nothing about it is unknown.
      throw hasCode(error, 'outcome_unknown') ? unconfirmed(error) : error;
    });
    if (settled !== 'replaced' && 'etag' in settled) return 'ours';
    const found = await reader.read({ signal });
    if (found === undefined) throw unconfirmed();
    return found;
  }

  async function find({
    create: mayCreate,
    signal,
  }: Parameters<KeyringSource['fetch']>[0]): Promise<OpenedKeyring | 'overtaken' | undefined> {
    const { shredded, newest } = reader.guard.begin();
    const started = shredded || newest !== undefined;
    const found = await reader.read({ signal });
    if (found !== undefined) return reader.open(found, { signal });
    if (started || reader.guard.minimumEpoch > 1) {
      const known = started ? 'this process has seen it' : 'an epoch is pinned for this tenant';
      throw new MemoryError(
        'key_unavailable',
        `the keyring is gone although ${known}; restore the keyring object from a backup`,
      );
    }
    if (await hasData({ signal })) {
      // Somebody may have created the keyring and a file since the first look.
      const late = await reader.read({ signal });
      if (late !== undefined) return reader.open(late, { signal });
      throw new MemoryError(
        'key_unavailable',
        'the tenant has data but no keyring; restore the keyring object from a backup',
      );
    }
    return mayCreate ? create(signal) : undefined;
  }

  return {
    async fetch(request) {
      await loadSodium();
      for (let reads = 0; reads < READS; reads++) {
        const found = await find(request);
        if (found !== 'overtaken') return found;
      }
      throw new MemoryError('unavailable', 'the keyring was changed while it was read, at every attempt');
    },
  };
}

function unconfirmed(cause?: unknown): MemoryError {
  return new MemoryError('unavailable', 'The keyring could not be confirmed after it was written.', {
    cause,
  });
}
