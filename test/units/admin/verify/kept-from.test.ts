import { describe, expect, it } from 'vitest';
import { noteExpired } from '../../../../src/admin/expiry/history-note.ts';
import { turnTenantHistory } from '../../../../src/admin/keys/turn-history.ts';
import { readKeptFrom } from '../../../../src/admin/verify/kept-from.ts';
import { FOLLOWED_MS } from '../../../../src/keys/keyring.ts';
import { createOperator } from '../../../stage/key-operator.ts';
import { inTime, openSite, type TestSite } from '../../../stage/test-tree.ts';

const DAY = 86_400_000;
const NEVER = { from: Number.POSITIVE_INFINITY, since: Number.POSITIVE_INFINITY, otherwise: 'history_off' };

async function turn(site: TestSite, to: 'on' | 'off'): Promise<void> {
  const { editor } = await createOperator(site);
  await turnTenantHistory({ editor, stamps: inTime(site.time.clock) }, to);
}

describe('the time from which the history is whole', () => {
  it('is none where it is not kept, though this process has not learned that yet', async () => {
    const site = await openSite();
    const work = await (await site.client()).open();
    expect(await readKeptFrom(work, 1)).toEqual(NEVER);
    await turn(site, 'on');
    expect(await readKeptFrom(work)).not.toEqual(NEVER);
    await turn(site, 'off');
    expect(await readKeptFrom(work)).toEqual(NEVER);
  });

  it('begins when every writer keeps it, or a day after what expired, whichever is later', async () => {
    const site = await openSite();
    const work = await (await site.client()).open();
    await turn(site, 'on');
    const since = site.time.clock() + FOLLOWED_MS;
    const whole = { from: since, since, otherwise: 'history_off' };
    expect(await readKeptFrom(work)).toEqual(whole);
    await site.time.pause(10 * DAY);
    const now = site.time.clock();
    expect(await readKeptFrom(work)).toEqual(whole);
    expect(await readKeptFrom(work, 12)).toEqual(whole);
    expect(await readKeptFrom(work, 3)).toEqual({ from: now - 2 * DAY, since, otherwise: 'not_kept' });
    await noteExpired(work, since - DAY, []);
    expect(await readKeptFrom(work)).toEqual(whole);
    await noteExpired(work, since - DAY + 1, []);
    expect(await readKeptFrom(work)).toEqual({ from: since + 1, since, otherwise: 'not_kept' });
    await noteExpired(work, now - DAY, []);
    expect(await readKeptFrom(work, 3)).toEqual({ from: now, since, otherwise: 'not_kept' });
  });

  it('is not read for a caller that has cancelled', async () => {
    const site = await openSite();
    const work = await (await site.client()).open(AbortSignal.abort());
    await expect(readKeptFrom(work)).rejects.toMatchObject({ code: 'aborted' });
  });
});
