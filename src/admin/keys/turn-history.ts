import { MemoryError } from '../../errors.ts';
import type { Keyring } from '../../format/keyring-bytes.ts';
import { FOLLOWED_MS, forget, rewrapKeyring } from '../../keys/keyring.ts';
import type { KeyringEditor } from '../../keys/keyring-editor.ts';
import { SAME_TIME_MS, type Stamps } from '../../stamps.ts';
import type { RequestOptions } from '../../store/port.ts';

export interface HistorySwitch {
  readonly history: 'on' | 'off';
  /** True where the call changed the state of the history. False: the history was already in that state. */
  readonly changed: boolean;
  readonly epoch: number;
}

/**
 * Tells whether the keyring is in that state already. One that keeps history without telling since when is written
 * again.
 */
function isTurned({ keepsHistory, keptSince }: Keyring, to: 'on' | 'off'): boolean {
  return to === 'on' ? keepsHistory && keptSince !== undefined : !keepsHistory;
}

/**
 * Makes all writers of the tenant keep its history, or cease to; each follows when it loads the keyring next, within
 * its time to live. Saved versions stay until they expire. `anew` leaves history on and the texts readable: records of
 * the time before accuse no file from then on (docs/checkpoints.md, "After a restore").
 *
 * @throws MemoryError `key_unavailable` without a keyring; `misconfigured` for `anew` where the tenant keeps no
 * history, and where the clock of this machine differs from the store's by more than a minute; `outcome_unknown`; the
 * errors of the store and the root key.
 */
export async function turnTenantHistory(
  { editor, stamps }: { readonly editor: KeyringEditor; readonly stamps: Pick<Stamps, 'now' | 'skew'> },
  to: 'on' | 'off' | 'anew',
  { signal }: RequestOptions = {},
): Promise<HistorySwitch> {
  const { record, changed } = await editor.change(
    ({ keyring }) => {
      refuseOtherTime(stamps.skew());
      if (to === 'anew') return beginAnew(keyring, stamps.now);
      return isTurned(keyring, to) ? undefined : turned(keyring, to, stamps.now);
    },
    { signal },
  );
  const { epoch } = record.keyring;
  forget(record.keyring);
  return { history: to === 'off' ? 'off' : 'on', changed, epoch };
}

/** Makes the keyring's next write, by which all writers of the tenant keep its history or cease to. */
function turned(keyring: Keyring, to: 'on' | 'off', clock: () => number): Keyring {
  const keepsHistory = to === 'on';
  const keptSince = keepsHistory ? Math.floor(clock()) + FOLLOWED_MS : undefined;
  return { ...rewrapKeyring(keyring), keepsHistory, keptSince };
}

/**
 * Refuses a clock that differs from the store's: the keyring says since when the history counts, and a wrong time would
 * accuse files, or excuse them.
 */
function refuseOtherTime(skew: number): void {
  if (Math.abs(skew) <= SAME_TIME_MS) return;
  const minutes = Math.round(Math.abs(skew) / SAME_TIME_MS);
  throw new MemoryError(
    'misconfigured',
    `The clock of this machine is about ${minutes} min ${skew > 0 ? 'ahead of' : 'behind'} the object store's: set it, and run the command again.`,
  );
}

/**
 * Makes the keyring's next write, by which the history of a tenant that keeps it counts from now on alone. Where
 * history was turned on so recently that some writers do not keep it yet, it counts from the time on at which every
 * writer does.
 *
 * @throws MemoryError `misconfigured` for a tenant that keeps no history.
 */
function beginAnew(keyring: Keyring, clock: () => number): Keyring {
  if (!keyring.keepsHistory) {
    throw new MemoryError(
      'misconfigured',
      'The tenant keeps no history, so there is none to begin anew: a checkpoint alone is enough.',
    );
  }
  return { ...rewrapKeyring(keyring), keptSince: Math.max(Math.floor(clock()), keyring.keptSince ?? 0) };
}
