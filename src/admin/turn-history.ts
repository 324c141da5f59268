import { forget, turnHistory } from '../keys/keyring.ts';
import type { KeyringEditor } from '../keys/keyring-editor.ts';
import type { RequestOptions } from '../store/port.ts';

export interface TurnedHistory {
  readonly history: 'on' | 'off';
  /** False: it was so already. */
  readonly changed: boolean;
  readonly epoch: number;
}

/**
 * Has all writers of the tenant keep its history, or cease to; each follows when it loads the keyring next, within its
 * time to live. What was kept stays until it expires.
 *
 * @throws MemoryError `key_unavailable` without a keyring; `outcome_unknown`; what the store and the root key throw.
 */
export async function turnTenantHistory(
  editor: KeyringEditor,
  to: 'on' | 'off',
  { signal }: RequestOptions = {},
): Promise<TurnedHistory> {
  const { record, changed } = await editor.change(
    ({ keyring }) => (keyring.keepsHistory === (to === 'on') ? undefined : turnHistory(keyring, to)),
    { signal },
  );
  const { epoch } = record.keyring;
  forget(record.keyring);
  return { history: to, changed, epoch };
}
