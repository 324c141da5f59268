import type { Layout } from '../format/object-keys.ts';
import type { RandomBytes } from '../format/sodium.ts';
import type { KeyringStore, LoadedKeyring } from '../keys/keyring-store.ts';
import type { MemoryPath } from '../language/path.ts';
import type { Logger } from '../logger.ts';
import type { ObjectStore } from '../store/port.ts';
import type { Pause } from '../time.ts';
import type { SideBySideBounds } from './concurrency.ts';
import type { VersionHistory } from './version-history.ts';

/** What every verb of the vault stands on. One tenant's; never shared between tenants. */
export interface VaultContext extends SideBySideBounds {
  readonly store: ObjectStore;
  readonly layout: Layout;
  readonly keyrings: KeyringStore;
  /** What is known of the versions of the tenant's objects; one for all that reads and writes them in this process. */
  readonly history: VersionHistory;
  /** The largest content that is written or read, in bytes. */
  readonly maxFileBytes: number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Milliseconds from any origin, never set back. */
  readonly monotonic: () => number;
  readonly random: RandomBytes;
  readonly pause: Pause;
  readonly logger: Logger;
  /** Where files expire that nobody reads: every read is recorded. */
  readonly accessRecords?: AccessRecords | undefined;
}

/** Remembers, in the store, on which days a file was read, so that expiry can tell what nobody uses. */
export interface AccessRecords {
  /**
   * Records that the file was read today, by UTC. The first read of a file on a day costs one PUT, the others of
   * this process nothing. Resolves when the record lies in the store.
   */
  record(vault: OpenVault, path: MemoryPath): Promise<void>;
}

/** A context whose keyring is open: what the verbs that write work with. */
export interface OpenVault extends VaultContext {
  readonly keyring: LoadedKeyring;
  readonly signal: AbortSignal | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** How many files a rename has copied, a delete removed or a verification read. */
export interface Progress {
  readonly done: number;
  readonly total: number;
}

export interface VerbOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called now and then while many files are renamed, deleted or verified. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}
