import { afterEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { RenameLease } from '../../../src/tree/rename/lease.ts';
import { readRegister } from '../../../src/tree/rename/register.ts';
import { createRenameRegister } from '../../../src/tree/rename/rename-register.ts';
import type { OpenVault } from '../../../src/tree/session.ts';
import { atFirst, countCalls } from '../../doubles/intercepted-store.ts';
import { at, createSite, type TestClient, type TestSite } from '../../support/test-vault.ts';

const MOVE = { from: at('/memories/from'), to: at('/memories/to') };

describe('waiting for a turn at the register', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  async function start(signal?: AbortSignal): Promise<{ client: TestClient; vault: OpenVault }> {
    site = await createSite();
    const client = await site.client();
    await client.create('/memories/from/a', 'a');
    return { client, vault: await client.open(signal) };
  }
  /** A rename of another process, which goes on until its `end`. */
  async function occupy(): Promise<RenameLease> {
    return createRenameRegister().begin(await (await site.client()).open(), MOVE);
  }

  it('ends after a minute, to the quarter of a second', async () => {
    const { vault } = await start();
    const other = await occupy();
    const begun = vault.clock();
    let ended = 0;
    const waiting = createRenameRegister()
      .begin(vault, MOVE)
      .catch((error: unknown) => {
        ended = vault.clock();
        return error;
      });
    for (let s = 0; s < 80; s += 2) {
      await vault.pause(2_000);
      await other.enter('copying');
    }
    expect(await waiting).toMatchObject({ code: 'unavailable' });
    expect(ended - begun).toBeGreaterThanOrEqual(60_000);
    expect(ended - begun).toBeLessThanOrEqual(60_250);
  });

  it('takes over what runs out in that very minute', async () => {
    const { client, vault } = await start();
    const other = await occupy();
    const settling = createRenameRegister().settle(vault);
    // The last write of the owner leaves its lease to run out when the minute is over.
    for (const ms of [9_900, 9_900, 9_900, 9_900, 9_900, 400]) {
      await vault.pause(ms);
      await other.enter('copying');
    }
    expect(await settling).toBe(true);
    expect(await client.paths()).toEqual(['/memories/to/a']);
  });

  it('looks four times a second', async () => {
    const { client, vault } = await start();
    const other = await occupy();
    client.calls.length = 0;
    const waiting = createRenameRegister().begin(vault, MOVE);
    await vault.pause(5_100);
    expect(countCalls(client.calls)).toEqual({ get: 21 });
    await other.end();
    await waiting;
  });

  it('ends with the caller', async () => {
    const controller = new AbortController();
    const { vault } = await start(controller.signal);
    await occupy();
    const signals: (AbortSignal | undefined)[] = [];
    const pause: OpenVault['pause'] = (ms, signal) => {
      signals.push(signal);
      return vault.pause(ms, signal);
    };
    const waiting = createRenameRegister().begin({ ...vault, pause }, MOVE);
    const begun = vault.clock();
    const told = expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await vault.pause(1_000);
    controller.abort();
    await told;
    expect(new Set(signals)).toEqual(new Set([controller.signal]));
    expect(vault.clock() - begun).toBeLessThan(2_000);
  });

  it('takes what it saw last for the base of its own', async () => {
    const { client, vault } = await start();
    const other = await occupy();
    const waiting = createRenameRegister().begin(vault, MOVE);
    await vault.pause(1_000);
    await other.end();
    client.calls.length = 0;
    await waiting;
    expect(countCalls(client.calls)).toEqual({ get: 1, put: 1 });
  });

  it('begins in the phase that can be taken back, under an id of its own', async () => {
    const { vault } = await start();
    const renames = createRenameRegister();
    const ids = new Set<string>();
    for (let i = 0; i < 2; i++) {
      const lease = await renames.begin(vault, MOVE);
      const { entry } = await readRegister(vault);
      expect(entry).toMatchObject({ phase: 'copying', ...MOVE });
      expect(entry?.id).toEqual(lease.rename.id);
      ids.add(String(entry?.id));
      await lease.end();
    }
    expect(ids.size).toBe(2);
    expect(ids).not.toContain(String(new Uint8Array(16)));
  });

  it('looks again where the end of its last rename is not known', async () => {
    const { client, vault } = await start();
    const renames = createRenameRegister();
    const lease = await renames.begin(vault, MOVE);
    client.intercept(atFirst('put', () => Promise.reject(new MemoryError('unavailable', 'down'))));
    await expect(lease.end()).rejects.toMatchObject({ code: 'unavailable' });
    client.calls.length = 0;
    await renames.begin(vault, MOVE);
    expect(client.calls[0]?.verb).toBe('get');
  });

  it('looks again when somebody else was faster than what it knew', async () => {
    const { client, vault } = await start();
    const renames = createRenameRegister();
    await (await renames.begin(vault, MOVE)).end();
    await (await occupy()).end();
    client.calls.length = 0;
    await (await renames.begin(vault, MOVE)).end();
    expect(client.calls.map(({ verb }) => verb)).toEqual(['put', 'get', 'put', 'put']);
  });

  it('sees a rename of somebody else behind one of its own', async () => {
    const { vault } = await start();
    const renames = createRenameRegister();
    await (await renames.begin(vault, MOVE)).end();
    expect(await renames.settle(vault)).toBe(false);
    const other = await occupy();
    const settling = renames.settle(vault);
    await vault.pause(1_000);
    await other.end();
    expect(await settling).toBe(true);
    await occupy();
    await vault.pause(10_001);
    expect(await renames.recover(vault)).toBe(true);
    expect(await readRegister(vault)).toMatchObject({ entry: undefined });
  });

  it('takes the register as the takeover left it', async () => {
    const { client, vault } = await start();
    await occupy();
    await vault.pause(10_001);
    const lease = await createRenameRegister().begin(vault, {
      from: at('/memories/to'),
      to: at('/memories/e'),
    });
    const puts = client.calls.flatMap((call) =>
      call.verb === 'put' && call.key.includes('/journal/') ? [call.mode] : [],
    );
    // Taken over, entered, left; then taken anew, without one that is refused.
    expect(puts).toHaveLength(4);
    await lease.end();
  });

  it('may be over by the time somebody else has taken a rename over', async () => {
    const { client, vault } = await start();
    await occupy();
    await vault.pause(10_001);
    client.intercept(
      atFirst('put', async (proceed) => {
        await (await site.client()).paths();
        return proceed();
      }),
    );
    expect(await createRenameRegister().recover(vault)).toBe(false);
    expect(await client.paths()).toEqual(['/memories/to/a']);
  });
});
