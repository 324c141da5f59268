import { afterEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import type { Pause } from '../../../../src/time.ts';
import { createRenameRegister } from '../../../../src/tree/rename/finish-renames.ts';
import type { RenameLease } from '../../../../src/tree/rename/lease.ts';
import { readRegister } from '../../../../src/tree/rename/register.ts';
import type { Work } from '../../../../src/tree/tenant.ts';
import { type LongWait, onLongWait } from '../../../../src/waits.ts';
import { atFirst, countCalls } from '../../../stage/store-wrappers.ts';
import { at, createSite, type TestClient, type TestSite, withTenant } from '../../../stage/test-tree.ts';

const MOVE = { from: at('/memories/from'), to: at('/memories/to') };

describe('waiting for a turn at the register', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  async function start(signal?: AbortSignal): Promise<{ client: TestClient; work: Work }> {
    site = await createSite();
    const client = await site.client();
    await client.create('/memories/from/a', 'a');
    return { client, work: await client.open(signal) };
  }
  /** A rename of another process, which goes on until its `end`. */
  async function occupy(): Promise<RenameLease> {
    return createRenameRegister().begin(await (await site.client()).open(), MOVE);
  }

  it('ends after a minute, to the quarter of a second', async () => {
    const { work } = await start();
    const other = await occupy();
    const begun = work.tenant.clock();
    let ended = 0;
    const told: LongWait[] = [];
    const ceaseListening = onLongWait((wait) => told.push(wait));
    const waiting = createRenameRegister()
      .begin(work, MOVE)
      .catch((error: unknown) => {
        ended = work.tenant.clock();
        return error;
      });
    for (let s = 0; s < 80; s += 2) {
      await work.tenant.pause(2_000);
      await other.enter('copying');
    }
    expect(await waiting).toMatchObject({ code: 'unavailable' });
    expect(ended - begun).toBeGreaterThanOrEqual(60_000);
    expect(ended - begun).toBeLessThanOrEqual(60_250);
    ceaseListening();
    expect(told).toEqual([{ for: 'rename', leftMs: expect.any(Number) }]);
  });

  it.each([-86_400_000, 86_400_000])('waits for a minute where its clocks are %d ms apart', async (apart) => {
    const { work } = await start();
    const other = await occupy();
    const begun = work.tenant.clock();
    let ended = 0;
    const monotonic = (): number => work.tenant.clock() + apart;
    const waiting = createRenameRegister()
      .begin(withTenant(work, { monotonic }), MOVE)
      .catch((error: unknown) => {
        ended = work.tenant.clock();
        return error;
      });
    for (let s = 0; s < 80 && ended === 0; s += 4) {
      await work.tenant.pause(4_000);
      await other.enter('copying');
    }
    expect(ended - begun).toBeGreaterThanOrEqual(60_000);
    expect(ended - begun).toBeLessThanOrEqual(60_250);
    expect(await waiting).toMatchObject({ code: 'unavailable' });
  });

  it('takes over what runs out in that very minute', async () => {
    const { client, work } = await start();
    const other = await occupy();
    const settling = createRenameRegister().finishAbandoned(work);
    // The last write of the owner leaves its lease to run out when the minute is over.
    for (const ms of [9_900, 9_900, 9_900, 9_900, 9_900, 400]) {
      await work.tenant.pause(ms);
      await other.enter('copying');
    }
    expect(await settling).toBe(true);
    expect(await client.paths()).toEqual(['/memories/to/a']);
  });

  it('looks four times a second', async () => {
    const { client, work } = await start();
    const other = await occupy();
    client.calls.length = 0;
    const waiting = createRenameRegister().begin(work, MOVE);
    await work.tenant.pause(5_100);
    expect(countCalls(client.calls)).toEqual({ get: 21 });
    await other.end();
    await waiting;
  });

  it('ends with the caller', async () => {
    const controller = new AbortController();
    const { work } = await start(controller.signal);
    await occupy();
    const signals: (AbortSignal | undefined)[] = [];
    const pause: Pause = (ms, signal) => {
      signals.push(signal);
      return work.tenant.pause(ms, signal);
    };
    const waiting = createRenameRegister().begin(withTenant(work, { pause }), MOVE);
    const begun = work.tenant.clock();
    const told = expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await work.tenant.pause(1_000);
    controller.abort();
    await told;
    expect(new Set(signals)).toEqual(new Set([controller.signal]));
    expect(work.tenant.clock() - begun).toBeLessThan(2_000);
  });

  it('takes what it saw last for the base of its own', async () => {
    const { client, work } = await start();
    const other = await occupy();
    const waiting = createRenameRegister().begin(work, MOVE);
    await work.tenant.pause(1_000);
    await other.end();
    client.calls.length = 0;
    await waiting;
    expect(countCalls(client.calls)).toEqual({ get: 1, put: 1 });
  });

  it('begins in the phase that can be taken back, under an id of its own', async () => {
    const { work } = await start();
    const renames = createRenameRegister();
    const ids = new Set<string>();
    for (let i = 0; i < 2; i++) {
      const lease = await renames.begin(work, MOVE);
      const { entry } = await readRegister(work);
      expect(entry).toMatchObject({ phase: 'copying', ...MOVE });
      expect(entry?.id).toEqual(lease.rename.id);
      ids.add(String(entry?.id));
      await lease.end();
    }
    expect(ids.size).toBe(2);
    expect(ids).not.toContain(String(new Uint8Array(16)));
  });

  it('looks again where the end of its last rename is not known', async () => {
    const { client, work } = await start();
    const renames = createRenameRegister();
    const lease = await renames.begin(work, MOVE);
    client.intercept(atFirst('put', () => Promise.reject(new MemoryError('unavailable', 'down'))));
    await expect(lease.end()).rejects.toMatchObject({ code: 'unavailable' });
    client.calls.length = 0;
    await renames.begin(work, MOVE);
    expect(client.calls[0]?.verb).toBe('get');
  });

  it('looks again when another process was faster than what it knew', async () => {
    const { client, work } = await start();
    const renames = createRenameRegister();
    await (await renames.begin(work, MOVE)).end();
    await (await occupy()).end();
    client.calls.length = 0;
    await (await renames.begin(work, MOVE)).end();
    expect(client.calls.map(({ verb }) => verb)).toEqual(['put', 'get', 'put', 'put']);
  });

  it('sees a rename of another process behind one of its own', async () => {
    const { work } = await start();
    const renames = createRenameRegister();
    await (await renames.begin(work, MOVE)).end();
    expect(await renames.finishAbandoned(work)).toBe(false);
    const other = await occupy();
    const settling = renames.finishAbandoned(work);
    await work.tenant.pause(1_000);
    await other.end();
    expect(await settling).toBe(true);
    await occupy();
    await work.tenant.pause(10_001);
    expect(await renames.recover(work)).toBe('finished');
    expect(await readRegister(work)).toMatchObject({ entry: undefined });
  });

  it('takes the register as the takeover left it', async () => {
    const { client, work } = await start();
    await occupy();
    await work.tenant.pause(10_001);
    const lease = await createRenameRegister().begin(work, {
      from: at('/memories/to'),
      to: at('/memories/e'),
    });
    const puts = client.calls.flatMap((call) =>
      call.verb === 'put' && call.key.includes('/journal/') ? [call.mode] : [],
    );
    // Taken over, entered, left; then taken again, without one that is refused.
    expect(puts).toHaveLength(4);
    await lease.end();
  });

  it('may be over by the time another process has taken a rename over', async () => {
    const { client, work } = await start();
    await occupy();
    await work.tenant.pause(10_001);
    client.intercept(
      atFirst('put', async (proceed) => {
        await (await site.client()).paths();
        return proceed();
      }),
    );
    expect(await createRenameRegister().recover(work)).toBe('under_way');
    expect(await client.paths()).toEqual(['/memories/to/a']);
  });
});
