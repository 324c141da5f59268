import { expect, it } from 'vitest';
import type { MemoryError } from '../../../../src/errors.ts';
import { copyFiles } from '../../../../src/tree/rename/copy-files.ts';
import { createRenameRegister } from '../../../../src/tree/rename/finish-renames.ts';
import type { RenameLease } from '../../../../src/tree/rename/lease.ts';
import { LEASE_MS, readRegister } from '../../../../src/tree/rename/register.ts';
import { countCalls } from '../../../stage/store-wrappers.ts';
import { at, describeOnBothKinds, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const FROM = '/memories/from';
const TO = '/memories/to';
const MOVE = { from: at(FROM), to: at(TO) };

describeOnBothKinds('taking turns at renames of directories', (newSite) => {
  async function start(): Promise<{ site: TestSite; client: TestClient }> {
    const site = await newSite();
    const client = await site.client();
    for (const name of ['a', 'b/c']) await client.create(`${FROM}/${name}`, name);
    return { site, client };
  }

  /** A process that takes the register and is never heard of again. */
  async function abandon(site: TestSite): Promise<RenameLease> {
    const work = await (await site.client()).open();
    return createRenameRegister().begin(work, MOVE);
  }

  it('needs no look of its own after the first rename', async () => {
    const { client } = await start();
    const work = await client.open();
    const renames = createRenameRegister();
    expect(await renames.recover(work)).toBe('idle');
    await (await renames.begin(work, MOVE)).end();
    client.calls.length = 0;
    await (await renames.begin(work, MOVE)).end();
    expect(countCalls(client.calls)).toEqual({ put: 2 });
  });

  it('waits for the rename of another process to end', async () => {
    const { site, client } = await start();
    const other = await abandon(site);
    const work = await client.open();
    const begun = work.tenant.clock();
    const waiting = createRenameRegister().begin(work, MOVE);
    await work.tenant.pause(2_000);
    await other.end();
    await (await waiting).end();
    expect(work.tenant.clock() - begun).toBeGreaterThanOrEqual(2_000);
    expect(work.tenant.clock() - begun).toBeLessThan(3_000);
  });

  it('is unavailable after a minute of renames by others', async () => {
    const { site, client } = await start();
    const other = await abandon(site);
    const work = await client.open();
    const begun = work.tenant.clock();
    const begin = createRenameRegister().begin(work, MOVE);
    const waiting = begin.then(
      () => 'begun',
      (error: MemoryError) => [error.code, work.tenant.clock() - begun],
    );
    for (let s = 0; s < 70; s += 2) {
      await work.tenant.pause(2_000);
      await other.enter('copying');
    }
    expect(await waiting).toEqual(['unavailable', 60_000]);
  });

  it('finishes the copying of a process that is gone, and moves', async () => {
    const { site, client } = await start();
    await abandon(site);
    await client.open();
    expect(await createRenameRegister().recover(await client.open())).toBe('under_way');
    await site.time.pause(LEASE_MS + 1);
    const next = await site.client();
    expect(await next.paths()).toEqual([`${TO}/a`, `${TO}/b/c`]);
    expect(await readRegister(await next.open())).toMatchObject({ entry: undefined });
  });

  it('finishes what was moving, file by file', async () => {
    const { site, client } = await start();
    const lease = await abandon(site);
    await lease.enter('moving');
    await client.create(`${TO}/a`, 'of another process');
    await site.time.pause(LEASE_MS + 1);
    const next = await site.client();
    expect(await next.paths()).toEqual([`${FROM}/a`, `${TO}/a`, `${TO}/b/c`]);
    expect(await next.text(`${TO}/a`)).toBe('of another process');
  });

  it('takes back the copies of one that was aborting, and nothing else', async () => {
    const { site, client } = await start();
    const lease = await abandon(site);
    const files = [at(`${FROM}/a`), at(`${FROM}/b/c`)].map((path) => ({ path, size: 1 }));
    expect((await copyFiles(lease.work, lease.rename, { files, phase: 'copying' })).copied).toHaveLength(2);
    await lease.enter('aborting');
    await client.append(`${TO}/a`, ', and built on');
    await client.create(`${TO}/own`, 'mine');
    await site.time.pause(LEASE_MS + 1);
    const next = await site.client();
    expect(await next.paths()).toEqual([`${FROM}/a`, `${FROM}/b/c`, `${TO}/a`, `${TO}/own`]);
    expect(await next.text(`${TO}/a`)).toBe('a, and built on');
  });

  it('takes the copies back when the caller cancels before all are made', async () => {
    const { site, client } = await start();
    const mover = await site.client();
    const stopped = new AbortController();
    mover.intercept((call, proceed) => {
      if (call.verb === 'put' && call.mode === 'create') stopped.abort();
      return proceed();
    });
    await expect(mover.rename(FROM, TO, stopped.signal)).rejects.toMatchObject({ code: 'aborted' });
    expect(await client.paths()).toEqual([`${FROM}/a`, `${FROM}/b/c`]);
    expect(await readRegister(await client.open())).toMatchObject({ entry: undefined });
  });

  it('lets exactly one of two renames onto one target win', async () => {
    const site = await newSite();
    const [one, two] = [await site.client({ delayMs: 20 }), await site.client({ delayMs: 20 })];
    await one.create('/memories/x/1', '1');
    await one.create('/memories/y/2', '2');
    const outcomes = await Promise.allSettled([one.rename('/memories/x', TO), two.rename('/memories/y', TO)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const paths = await one.paths();
    expect(paths).toHaveLength(2);
    expect(paths.filter((path) => path.startsWith(TO))).toHaveLength(1);
  });

  it('makes the delete of a directory wait, too', async () => {
    const { site, client } = await start();
    const other = await abandon(site);
    const begun = site.time.clock();
    const deleting = client.remove(FROM);
    await site.time.pause(1_000);
    await other.end();
    await deleting;
    expect(site.time.clock() - begun).toBeGreaterThanOrEqual(1_000);
    expect(await client.paths()).toEqual([]);
  });

  it('leaves a register that cannot be read to the operator and answers all the same', async () => {
    const { site } = await start();
    const next = await site.client();
    next.intercept((call, proceed) =>
      'key' in call && String(call.key).endsWith('/register')
        ? Promise.reject(new Error('of the test'))
        : proceed(),
    );
    expect(await next.paths()).toHaveLength(2);
    expect(next.logged.map(({ message }) => message)).toContain(
      'the register of renames could not be read or finished',
    );
  });
});
