import { beforeEach, describe, expect, it } from 'vitest';
import { type HistorySwitch, turnTenantHistory } from '../../../../src/admin/keys/turn-history.ts';
import { FOLLOWED_MS, forget, rewrapKeyring } from '../../../../src/keys/keyring.ts';
import { createOperator, type KeyOperator } from '../../../stage/key-operator.ts';
import { openSite, type TestSite } from '../../../stage/test-tree.ts';

const HOUR = 3_600_000;
let site: TestSite;
let operator: KeyOperator;

beforeEach(async () => {
  site = await openSite();
  operator = await createOperator(site);
});

/** @param skew How far the clock of this machine is ahead of the store's, in milliseconds. */
function turn(to: 'on' | 'off' | 'anew', skew = 0): Promise<HistorySwitch> {
  return turnTenantHistory(
    { editor: operator.editor, stamps: { now: site.time.clock, skew: () => skew } },
    to,
  );
}

/** Answers what the keyring says of the history. */
async function told() {
  const record = await operator.editor.read();
  if (record === undefined) throw new Error('there is no keyring');
  forget(record.keyring);
  const { keepsHistory, keptSince } = record.keyring;
  return { keepsHistory, keptSince };
}

const sinceNow = () => ({ keepsHistory: true, keptSince: site.time.clock() + FOLLOWED_MS });

describe('history', () => {
  it('counts from the time on at which every writer keeps it, until it is turned off', async () => {
    const first = sinceNow();
    await turn('on');
    expect(await told()).toEqual(first);
    await site.time.pause(HOUR);
    expect(await turn('on')).toEqual({ history: 'on', changed: false, epoch: 2 });
    expect(await told()).toEqual(first);
    await turn('off');
    expect(await told()).toEqual({ keepsHistory: false, keptSince: undefined });
    await turn('on');
    expect(await told()).toEqual(sinceNow());
  });

  it('is turned on once more where the keyring does not tell since when it is kept', async () => {
    const { record } = await operator.editor.change(({ keyring }) => ({
      ...rewrapKeyring(keyring),
      keepsHistory: true,
    }));
    forget(record.keyring);
    expect(await told()).toEqual({ keepsHistory: true, keptSince: undefined });
    expect(await turn('on')).toEqual({ history: 'on', changed: true, epoch: 3 });
    expect(await told()).toEqual(sinceNow());
  });

  it.each([
    ['now', 2 * HOUR, 2 * HOUR],
    ['the time on at which every writer keeps it, where that is still to come', HOUR / 2, HOUR],
  ])('begun anew counts from %s', async (_, waited, counts) => {
    const on = site.time.clock();
    await turn('on');
    await site.time.pause(waited);
    expect(await turn('anew')).toEqual({ history: 'on', changed: true, epoch: 3 });
    expect(await told()).toEqual({ keepsHistory: true, keptSince: on + counts });
  });

  it('begun anew counts from now where the keyring does not tell since when it is kept', async () => {
    const { record } = await operator.editor.change(({ keyring }) => ({
      ...rewrapKeyring(keyring),
      keepsHistory: true,
    }));
    forget(record.keyring);
    await turn('anew');
    expect(await told()).toEqual({ keepsHistory: true, keptSince: site.time.clock() });
  });

  it('that is not kept cannot begin anew', async () => {
    await expect(turn('anew')).rejects.toMatchObject({ code: 'misconfigured' });
    expect(await told()).toEqual({ keepsHistory: false, keptSince: undefined });
  });

  it.each([
    [60_001, 'about 1 min ahead of'],
    [-60_001, 'about 1 min behind'],
    [150_000, 'about 3 min ahead of'],
    [-2 * HOUR, 'about 120 min behind'],
  ])('is not turned by a machine whose clock differs by %i ms', async (skew, words) => {
    for (const to of ['on', 'off', 'anew'] as const) {
      const message = expect.stringContaining(words);
      await expect(turn(to, skew)).rejects.toMatchObject({ code: 'misconfigured', message });
    }
    expect(await told()).toEqual({ keepsHistory: false, keptSince: undefined });
  });

  it.each([60_000, -60_000])('is turned by a machine whose clock differs by %i ms', async (skew) => {
    expect(await turn('on', skew)).toMatchObject({ changed: true });
  });
});
