import { describe, expect, it } from 'vitest';
import { verifyTree } from '../../../../src/admin/verify/verify.ts';
import { MemoryError } from '../../../../src/errors.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { createOperator, putRecord } from '../../../stage/key-operator.ts';
import { atFirst, noAnswer } from '../../../stage/store-wrappers.ts';
import { bytes, createSite, type TestClient, type TestSite } from '../../../stage/test-tree.ts';

const [FROM, TO] = ['/memories/one', '/memories/two'];
const MINUTE = 60_000;

/** The process dies at its first delete: nothing it sends from there on arrives. */
function dieAtDelete(client: TestClient): void {
  let dead = false;
  client.intercept((call, proceed) => {
    dead ||= call.verb === 'delete';
    return dead ? Promise.reject(noAnswer()) : proceed();
  });
}

/** One file at several places, each `apartMs` younger than the one before, the last of them two minutes old. */
async function duplicates(paths: readonly string[], apartMs: number): Promise<TestSite> {
  const site = await createSite();
  const [first = '', ...rest] = paths;
  await (await site.client()).create(first, 'text');
  let from = first;
  for (const to of rest) {
    await site.time.pause(apartMs);
    const renamer = await site.client();
    dieAtDelete(renamer);
    await expect(renamer.rename(from, to)).rejects.toThrow();
    from = to;
  }
  await site.time.pause(2 * MINUTE);
  return site;
}

/** A process that stands still for good in the rename of a directory, with all copies made. */
async function standingRename(site: TestSite): Promise<void> {
  const renamer = await site.client();
  await renamer.create('/memories/from/a', 'text');
  const standing = Promise.withResolvers<void>();
  renamer.intercept((call, proceed) => {
    if (call.verb !== 'delete') return proceed();
    standing.resolve();
    return new Promise(() => {});
  });
  void renamer.rename('/memories/from', '/memories/to');
  await standing.promise;
}

async function registerAge(site: TestSite): Promise<number> {
  const meta = await site.base.head('tenants/acme/journal/register' as ObjectKey);
  return meta === undefined ? Number.NaN : site.time.clock() - meta.lastModified;
}

describe('a verification', () => {
  it('counts the active key also where no object names it', async () => {
    const site = await createSite();
    await (await site.client()).create(FROM, 'text');
    await (await createOperator(site)).rotate();
    expect(await verifyTree((await (await site.client()).open()).tenant)).toMatchObject({
      keyVersions: [
        { version: 1, objects: 1, active: false },
        { version: 2, objects: 0, active: true },
      ],
    });
  });

  it('reads records that are larger than a file may be', async () => {
    const site = await createSite();
    const client = await site.client({ maxFileBytes: 1_000 });
    const work = await client.open();
    await putRecord(work, 'answers', 'an-id', bytes('x'.repeat(100_000)));
    expect((await verifyTree(work.tenant)).findings).toEqual([]);
  });

  it('tells the older place by the listing, which is more precise than the answer to a GET', async () => {
    const site = await duplicates([FROM, TO], 5);
    const client = await site.client();
    client.intercept(async (call, proceed) => {
      const answer: unknown = await proceed();
      if (call.verb !== 'get' || typeof answer !== 'object' || answer === null) return answer as never;
      return { ...answer, lastModified: Math.floor(site.time.clock() / 1_000) * 1_000 - 100_000 } as never;
    });
    expect((await verifyTree((await client.open()).tenant)).findings).toEqual([
      { kind: 'duplicate', state: 'left', older: FROM, newer: TO },
    ]);
  });

  it('knows a place by the version that it read, not by the one that was listed', async () => {
    const site = await duplicates([FROM, TO], 5);
    const client = await site.client();
    const operator = await createOperator(site);
    await operator.rotate();
    const work = await client.open();
    client.intercept(
      atFirst('list', async (proceed) => {
        const page = await proceed();
        await operator.migrate();
        return page;
      }),
    );
    expect((await verifyTree(work.tenant)).findings).toMatchObject([
      { kind: 'duplicate', state: 'in_progress' },
    ]);
  });

  it('repairs duplicates one after the other where two do not fit into memory together', async () => {
    for (const [concurrentBytes, atOnce] of [
      [1, 1],
      [1_048_576, 2],
    ] as const) {
      const site = await duplicates([FROM, TO], MINUTE);
      const renamer = await site.client();
      await renamer.create('/memories/three', 'text');
      await site.time.pause(MINUTE);
      dieAtDelete(renamer);
      await expect(renamer.rename('/memories/three', '/memories/four')).rejects.toThrow();
      await site.time.pause(2 * MINUTE);
      const client = await site.client();
      const { tenant } = await client.open();
      let [writing, most] = [0, 0];
      client.intercept(async (call, proceed) => {
        if (call.verb !== 'put') return proceed();
        most = Math.max(most, ++writing);
        await site.time.pause(10);
        return proceed().finally(() => writing--);
      });
      const { findings } = await verifyTree({ ...tenant, concurrentBytes }, { repair: true });
      expect(findings).toMatchObject([{ state: 'removed' }, { state: 'removed' }]);
      expect(most).toBe(atOnce);
    }
  });

  it('takes the last path for the newest of places that are equally old', async () => {
    const paths = ['c', 'e', 'a', 'f', 'b', 'd'].map((name) => `/memories/${name}`);
    const site = await duplicates(paths, 0);
    const { findings } = await verifyTree((await (await site.client()).open()).tenant);
    expect(findings).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((name) => ({
        kind: 'duplicate',
        state: 'undecided',
        older: `/memories/${name}`,
        newer: '/memories/f',
      })),
    );
  });

  it('counts an object under the key that a newer keyring than its own holds', async () => {
    const site = await createSite();
    const client = await site.client();
    await client.create(FROM, 'text');
    const work = await client.open();
    await (await createOperator(site)).rotate();
    await (await site.client()).create(TO, 'text');
    expect(await verifyTree(work.tenant)).toMatchObject({ files: 2, findings: [] });
  });

  it('names no whole file where junk has used up the looks at the keyring, and ends', async () => {
    const site = await createSite();
    const client = await site.client();
    await client.create(FROM, 'text');
    const work = await client.open();
    for (let junk = 0; junk < 300; junk++) {
      await work.tenant.keyrings.lookFor(work.tenant.random(16));
    }
    await (await createOperator(site)).rotate();
    await (await site.client()).create(TO, 'text');
    const key = `${client.layout.tenantPrefix}answers/junk` as ObjectKey;
    const stored = await site.base.get(await putRecord(work, 'answers', 'an-id', bytes('x')));
    const forged = typeof stored === 'object' ? stored.body.slice() : new Uint8Array();
    forged.fill(9, 60, 76);
    await site.base.put(key, forged, { mode: 'create' });
    expect(await verifyTree(work.tenant)).toMatchObject({
      files: 2,
      findings: [{ kind: 'unknown_key', name: '/answers/junk' }],
    });
  });

  it('takes no copy of a rename for a duplicate that began after it began itself', async () => {
    const site = await createSite();
    const client = await site.client();
    await client.create(FROM, 'text');
    const work = await client.open();
    client.intercept(
      atFirst('list', async (proceed) => {
        await standingRename(site);
        await site.time.pause(2 * MINUTE);
        return proceed();
      }),
    );
    expect((await verifyTree(work.tenant, { repair: true })).findings).toMatchObject([
      { kind: 'rename', state: 'expired', files: 1 },
    ]);
  });

  it('says nothing of a rename that another process finished first', async () => {
    const site = await createSite();
    await standingRename(site);
    await site.time.pause(MINUTE);
    const client = await site.client();
    const work = await client.open();
    client.intercept(
      atFirst('put', async (proceed) => {
        await (await site.client()).paths();
        return proceed();
      }),
    );
    expect((await verifyTree(work.tenant, { repair: true })).findings).toEqual([]);
  });

  it('ends when its caller cancels it while it finishes a rename', async () => {
    const site = await createSite();
    await standingRename(site);
    await site.time.pause(MINUTE);
    const client = await site.client();
    const work = await client.open();
    client.intercept(
      atFirst('put', () => Promise.reject(new MemoryError('aborted', 'the caller cancelled it'))),
    );
    await expect(verifyTree(work.tenant, { repair: true })).rejects.toMatchObject({ code: 'aborted' });
  });

  it.each([
    [10_000, 'in_progress'],
    [10_001, 'left'],
  ])('lets duplicates wait for a rename whose register was written %s ms ago: %s', async (ms, state) => {
    const site = await duplicates([FROM, TO], 5);
    await standingRename(site);
    await site.time.pause(ms - (await registerAge(site)));
    const { findings } = await verifyTree((await (await site.client()).open()).tenant);
    expect(findings.filter(({ kind }) => kind === 'duplicate')).toMatchObject([{ state, older: FROM }]);
  });
});
