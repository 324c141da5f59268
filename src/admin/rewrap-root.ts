import { MemoryError } from '../errors.ts';
import { forget, rewrapKeyring } from '../keys/keyring.ts';
import type { KeyringEditor } from '../keys/keyring-editor.ts';
import type { RootKey } from '../keys/root-key.ts';
import type { RequestOptions } from '../store/port.ts';

export interface RewrapOptions extends RequestOptions {
  /** Also when the first configured root key wraps the keyring already: it is wrapped again. */
  readonly force?: boolean | undefined;
}

export interface Rewrapping {
  /** False: the first configured root key wrapped it already. */
  readonly rewrapped: boolean;
  /** Of the root key that wraps the keyring now. */
  readonly rootId: string;
  readonly epoch: number;
}

/**
 * Has the first of the configured root keys wrap the keyring; the tenant's keys stay. Every process that works on the
 * tenant must have that root key configured before. A run that was killed may be run again.
 *
 * @throws MemoryError `key_unavailable` without a keyring, or when the root key that wraps it now is not configured;
 * `outcome_unknown`; what the store and the root keys throw.
 */
export async function rewrapRoot(
  { editor, rootKeys }: { readonly editor: KeyringEditor; readonly rootKeys: readonly RootKey[] },
  { force = false, signal }: RewrapOptions = {},
): Promise<Rewrapping> {
  const first = rootKeys[0];
  if (first === undefined) throw new MemoryError('misconfigured', 'no root key is configured');
  let tried = false;
  const { record, changed } = await editor.change(
    ({ keyring, rootId }) => {
      // After a lost answer, one look at our own write, or at a later one by the same root, is enough.
      if (rootId === first.id && (!force || tried)) return undefined;
      tried = true;
      return rewrapKeyring(keyring);
    },
    { signal },
  );
  forget(record.keyring);
  const { rootId, keyring } = record;
  return { rewrapped: changed || tried, rootId, epoch: keyring.epoch };
}
