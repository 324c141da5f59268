import { describe, expect, it } from 'vitest';
import {
  beginWork,
  checkActor,
  openToWrite,
  openWork,
  refuseToLose,
  refuseWriting,
  type Tenant,
  turningHistoryOn,
  uncancelled,
} from '../../../src/tree/tenant.ts';
import { createSite, withTenant } from '../../stage/test-tree.ts';

const MISCONFIGURED = { code: 'misconfigured' };

async function start() {
  const client = await (await createSite()).client();
  const work = await client.open();
  const loads: unknown[] = [];
  /** The tenant whose keyring is that one, and which notes how it is loaded. */
  const withKeyring = (keyring: typeof work.keyring | undefined): Tenant => {
    const load: Tenant['keyrings']['load'] = async (options) => {
      loads.push(options);
      return keyring;
    };
    return withTenant(work, { keyrings: { ...work.tenant.keyrings, load } }).tenant;
  };
  return { ...work, work, loads, withKeyring };
}

describe('an actor', () => {
  it.each([['a'], ['x'.repeat(256)], ['\u{1f600}']])('may be a text of 1 to 256 characters: %j', (actor) => {
    expect(() => checkActor(actor, 'actor')).not.toThrow();
  });

  it.each([[''], ['x'.repeat(257)], ['\ud800'], [5], [undefined], [['a']]])(
    'is refused by the name of its setting: %j',
    (actor) => {
      const refusal = { ...MISCONFIGURED, message: expect.stringContaining('the setting') };
      expect(() => checkActor(actor, 'the setting')).toThrow(expect.objectContaining(refusal));
    },
  );
});

describe('the work of a command', () => {
  it('is none where there is no keyring, which a command that writes creates', async () => {
    const { withKeyring, loads, keyring } = await start();
    const { signal } = new AbortController();
    expect(await openWork(withKeyring(undefined), { signal })).toBeUndefined();
    expect((await openWork(withKeyring(keyring), { signal }))?.keyring).toBe(keyring);
    expect((await openToWrite(withKeyring(keyring), { signal })).keyring).toBe(keyring);
    expect(loads).toEqual([{ signal }, { signal }, { create: true, signal }]);
    await expect(openToWrite(withKeyring(undefined), {})).rejects.toMatchObject({ code: 'key_unavailable' });
  });

  it('knows its call, and what saves versions where history is kept', async () => {
    const { tenant, keyring } = await start();
    const { signal } = new AbortController();
    const call = { signal, onProgress: () => {}, actor: 'a', onTouch: () => {} };
    expect(await beginWork(tenant, keyring, call)).toEqual({ tenant, keyring, call, saver: undefined });
    const kept = { ...keyring, keepsHistory: true };
    const work = await beginWork(tenant, kept, { ...call, keptOnly: true });
    expect(work).toEqual({ tenant, keyring: kept, call, saver: await tenant.loadSaver() });
    expect(uncancelled(work)).toEqual({ ...work, call: {} });
  });

  it('is refused where no history keeps what it may delete, in words that tell how to turn that on', async () => {
    const { tenant, keyring } = await start();
    await expect(beginWork(tenant, keyring, { keptOnly: true })).rejects.toMatchObject(MISCONFIGURED);
    expect(() => refuseToLose({ ...keyring, keepsHistory: true })).not.toThrow();
    const told = { ...MISCONFIGURED, message: expect.stringContaining(turningHistoryOn('acme')) };
    expect(() => refuseToLose(keyring)).toThrow(expect.objectContaining(told));
    expect(turningHistoryOn('acme')).toBe('"sealed-memory tenant history on --tenant acme"');
  });

  it('that writes is refused for a memory that was opened for reading', async () => {
    const { tenant } = await start();
    for (const readOnly of [undefined, false])
      expect(() => refuseWriting({ ...tenant, readOnly })).not.toThrow();
    const refusal = expect.objectContaining({ code: 'read_only' });
    expect(() => refuseWriting({ ...tenant, readOnly: true })).toThrow(refusal);
  });
});
