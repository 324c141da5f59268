import { forget, type Keyring, turnHistory } from '../keys/keyring.ts';
import type { KeyringEditor } from '../keys/keyring-editor.ts';
import type { RequestOptions } from '../store/port.ts';

export interface TurnedHistory {
  readonly history: 'on' | 'off';
  /** False: it was so already. */
  readonly changed: boolean;
  readonly epoch: number;
}

/** A keyring that keeps history and does not tell since when is written again. */
function isTurned({ keepsHistory, keptSince }: Keyring, to: 'on' | 'off'): boolean {
  return to === 'on' ? keepsHistory && keptSince !== undefined : !keepsHistory;
}

/**
 * Has all writers of the tenant keep its history, or cease to; each follows when it loads the keyring next, within its
 * time to live. What was kept stays until it expires.
 *
 * @throws MemoryError `key_unavailable` without a keyring; `outcome_unknown`; what the store and the root key throw.
 */
export async function turnTenantHistory(
  { editor, clock }: { readonly editor: KeyringEditor; readonly clock: () => number },
  to: 'on' | 'off',
  { signal }: RequestOptions = {},
): Promise<TurnedHistory> {
  const { record, changed } = await editor.change(
    ({ keyring }) => (isTurned(keyring, to) ? undefined : turnHistory(keyring, to, clock)),
    { signal },
  );
  const { epoch } = record.keyring;
  forget(record.keyring);
  return { history: to, changed, epoch };
}
