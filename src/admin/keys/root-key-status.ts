import { MemoryError, type MemoryErrorCode } from '../../errors.ts';
import { isShredMarker, parseKeyringHead } from '../../format/keyring-bytes.ts';
import { loadSodium } from '../../format/sodium.ts';
import { forget } from '../../keys/keyring.ts';
import type { KeyringEditor } from '../../keys/keyring-editor.ts';
import type { RootKey } from '../../keys/root-key.ts';
import type { RequestOptions } from '../../store/port.ts';

/** One of the configured root keys, by its public facts. */
export interface ConfiguredRootKey {
  /** The id: `env:` and a digest for 32 bytes, `aws-kms:` and the ARN for a key in KMS, `vault:` and the URL for one in Transit. */
  readonly id: string;
  /** True where it wraps the tenant's keyring now. */
  readonly wraps: boolean;
  /** True where it was asked to open that keyring, and did. */
  readonly opens: boolean;
}

/** The configured root keys beside the one that wraps the tenant's keyring. */
export interface RootKeyStatus {
  /**
   * The state of the keyring. `locked`: a root key that is not configured wraps it. `unread`: `failure` gives the
   * reason.
   */
  readonly keyring: 'absent' | 'shredded' | 'locked' | 'open' | 'unread';
  /** The id of the root key that wraps the keyring now, where it could be read. */
  readonly wrappedBy?: string;
  /** The keys as configured: the first wraps every keyring that is written, all of them open. */
  readonly rootKeys: readonly ConfiguredRootKey[];
  /** The reason why the store did not give the keyring, or its root key did not open it. */
  readonly failure?: { readonly code: MemoryErrorCode; readonly message: string };
}

interface RootKeyStatusRequest extends RequestOptions {
  readonly rootKeys: readonly RootKey[];
  readonly editor: KeyringEditor;
}

/**
 * Tells the configured root keys by their ids, even when the keyring is missing or the store cannot be reached. Two
 * GETs at most, and one call to the root key that wraps the keyring.
 *
 * @throws MemoryError `aborted`.
 */
export async function readRootKeyStatus({
  rootKeys,
  editor,
  signal,
}: RootKeyStatusRequest): Promise<RootKeyStatus> {
  // Sodium computes the id of 32 bytes, their digest.
  await loadSodium();
  const ids = rootKeys.map(({ id }) => id);
  let wrappedBy: string | undefined;
  const told = (rest: Pick<RootKeyStatus, 'keyring' | 'failure'>): RootKeyStatus => ({
    ...rest,
    ...(wrappedBy !== undefined && { wrappedBy }),
    rootKeys: ids.map((id) => ({
      id,
      wraps: id === wrappedBy,
      opens: id === wrappedBy && rest.keyring === 'open',
    })),
  });
  try {
    const found = await editor.find({ signal });
    if (found === undefined) return told({ keyring: 'absent' });
    if (isShredMarker(found.body)) return told({ keyring: 'shredded' });
    wrappedBy = parseKeyringHead(found.body).rootId;
    const opened = await editor.inspect({ signal });
    if (opened.state === 'open') {
      wrappedBy = opened.record.rootId;
      forget(opened.record.keyring);
    }
    return told({ keyring: opened.state });
  } catch (error) {
    if (!(error instanceof MemoryError) || error.code === 'aborted') throw error;
    return told({ keyring: 'unread', failure: { code: error.code, message: error.message } });
  }
}
