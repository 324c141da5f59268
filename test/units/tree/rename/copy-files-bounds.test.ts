import { afterEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { readFile } from '../../../../src/tree/read-file.ts';
import { copyAgain, copyFiles } from '../../../../src/tree/rename/copy-files.ts';
import type { DirectoryRename } from '../../../../src/tree/rename/register.ts';
import type { Progress, Work } from '../../../../src/tree/tenant.ts';
import { migrateFile } from '../../../stage/rare-writes.ts';
import { atFirst, countCalls, noAnswer } from '../../../stage/store-wrappers.ts';
import {
  at,
  createSite,
  leased,
  type TestClient,
  type TestSite,
  withTenant,
} from '../../../stage/test-tree.ts';

const RENAME: DirectoryRename = {
  from: at('/memories/from'),
  to: at('/memories/to'),
  id: new Uint8Array(16).fill(9),
};
const DOWN = new MemoryError('unavailable', 'down');

describe('copying the files of a directory', () => {
  let site: TestSite;
  afterEach(() => site.base[Symbol.asyncDispose]());

  const filesOf = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ path: at(`/memories/from/${i}`), size: 6 }));
  async function start(count: number): Promise<{ client: TestClient; other: TestClient; work: Work }> {
    site = await createSite();
    const [client, other] = [await site.client(), await site.client()];
    for (let i = 0; i < count; i++) await client.create(`/memories/from/${i}`, `text ${i}`);
    const work = withTenant(await client.open(), { concurrency: 1 });
    client.calls.length = 0;
    return { client, other, work };
  }

  it('begins no further copy after a failure, in either phase', async () => {
    for (const phase of ['copying', 'moving'] as const) {
      const { client, work } = await start(3);
      client.intercept(atFirst('get', () => Promise.reject(DOWN)));
      const outcome = await copyFiles(leased(work), RENAME, { files: filesOf(3), phase });
      expect(outcome).toEqual({ copied: [], taken: [], left: [], failure: DOWN });
      expect(countCalls(client.calls)).toEqual({ get: 1 });
      await site.base[Symbol.asyncDispose]();
    }
    site = await createSite();
  });

  it('goes on behind a target that is taken, and behind a refusal, only while moving', async () => {
    const refusal = new MemoryError('integrity', 'damaged');
    for (const [phase, count] of [
      ['copying', 0],
      ['moving', 1],
    ] as const) {
      const { client, other, work } = await start(3);
      await other.create('/memories/to/0', 'theirs');
      const taken = await copyFiles(leased(work), RENAME, { files: filesOf(2), phase });
      expect(taken).toMatchObject({ taken: ['/memories/from/0'], failure: undefined, left: [] });
      expect(taken.copied).toHaveLength(count);
      client.intercept(atFirst('get', () => Promise.reject(refusal)));
      const refused = await copyFiles(leased(work), RENAME, { files: filesOf(3).slice(1), phase });
      expect(refused.copied).toHaveLength(count);
      expect(refused).toMatchObject(
        phase === 'moving'
          ? { left: [{ path: '/memories/from/1', cause: refusal }], failure: undefined }
          : { left: [], failure: refusal },
      );
      await site.base[Symbol.asyncDispose]();
    }
    site = await createSite();
  });

  it('keeps the unknown outcome of one copy, whatever fails beside it, and else what failed first', async () => {
    const timeout = new MemoryError('timeout', 'slow');
    for (const [first, second, told] of [
      [noAnswer(), DOWN, { code: 'outcome_unknown' }],
      [DOWN, noAnswer(), { code: 'outcome_unknown' }],
      [DOWN, timeout, DOWN],
    ] as const) {
      const { client, work } = await start(2);
      let gets = 0;
      client.intercept(async (call, proceed) => {
        if (call.verb !== 'get') return proceed();
        const failure = gets++ === 0 ? first : second;
        await work.tenant.pause(gets);
        throw failure;
      });
      const files = filesOf(2);
      const { failure } = await copyFiles(leased(withTenant(work, { concurrency: 2 })), RENAME, {
        files,
        phase: 'copying',
      });
      expect(failure).toMatchObject(told);
      await site.base[Symbol.asyncDispose]();
    }
    site = await createSite();
  });

  it('has no more bytes on their way than it may, and tells how far it has come', async () => {
    const { client, work } = await start(4);
    let [running, most] = [0, 0];
    client.intercept(async (call, proceed) => {
      if (call.verb !== 'get') return proceed();
      most = Math.max(most, ++running);
      await work.tenant.pause(5);
      running--;
      return proceed();
    });
    const seen: Progress[] = [];
    const bounded: Work = {
      ...work,
      tenant: { ...work.tenant, concurrency: 4, concurrentBytes: 12 },
      call: { onProgress: (progress) => seen.push(progress) },
    };
    await copyFiles(leased(bounded), RENAME, { files: filesOf(4), phase: 'copying' });
    expect(most).toBe(2);
    expect(seen).toEqual([1, 2, 3, 4].map((done) => ({ done, total: 4 })));
  });

  it('follows its copy through two migrations of keys in a row, not through three', async () => {
    for (const [migrations, isTaken] of [
      [2, false],
      [3, true],
    ] as const) {
      const { client, other, work } = await start(1);
      const [first] = (await copyFiles(leased(work), RENAME, { files: filesOf(1), phase: 'copying' })).copied;
      if (first === undefined) throw new Error('nothing was copied');
      await other.append('/memories/from/0', '+');
      let left: number = migrations;
      client.intercept(async (call, proceed) => {
        if (call.verb === 'put' && left-- > 0) await migrateFile(other, '/memories/to/0', 'bound');
        return proceed();
      });
      const again = await copyAgain(leased(work), RENAME, first);
      expect(again === 'taken').toBe(isTaken);
      expect(await other.text('/memories/to/0')).toBe(isTaken ? 'text 0' : 'text 0+');
      await site.base[Symbol.asyncDispose]();
    }
    site = await createSite();
  });

  it('tells that a copy is taken which was deleted, and not that its source is gone', async () => {
    const { other, work } = await start(1);
    const [first] = (await copyFiles(leased(work), RENAME, { files: filesOf(1), phase: 'copying' })).copied;
    if (first === undefined) throw new Error('nothing was copied');
    await other.append('/memories/from/0', '+');
    await other.remove('/memories/to/0');
    expect(await copyAgain(leased(work), RENAME, first)).toBe('taken');
  });

  it('tries again where its target was there and is gone, or changed, when it looks', async () => {
    const { client, other, work } = await start(1);
    await other.create('/memories/to/0', 'theirs');
    client.intercept(
      atFirst('put', async (proceed) => {
        const answer = await proceed();
        await other.remove('/memories/to/0');
        return answer;
      }),
    );
    const gone = await copyFiles(leased(work), RENAME, { files: filesOf(1), phase: 'copying' });
    expect(gone).toMatchObject({ taken: [], failure: undefined });
    expect(gone.copied).toHaveLength(1);
    await other.append('/memories/from/0', '+');
    let puts = 0;
    client.intercept(async (call, proceed) => {
      if (call.verb === 'put' && ++puts === 2) await migrateFile(other, '/memories/to/0', 'bound');
      return proceed();
    });
    const changed = await copyFiles(leased(work), RENAME, { files: filesOf(1), phase: 'copying' });
    expect(changed).toMatchObject({ taken: [], failure: undefined });
    expect(await other.text('/memories/to/0')).toBe('text 0+');
  });

  it('gives a renewed copy a bound above that of the one it replaces', async () => {
    const { other, work } = await start(1);
    const ahead = withTenant(work, { clock: () => work.tenant.clock() + 3_600_000 });
    await copyFiles(leased(ahead), RENAME, { files: filesOf(1), phase: 'copying' });
    const before = await readFile(work, at('/memories/to/0'));
    await other.append('/memories/from/0', '+');
    await copyFiles(leased(work), RENAME, { files: filesOf(1), phase: 'copying' });
    const after = await readFile(work, at('/memories/to/0'));
    expect((after?.bound ?? 0n) > (before?.bound ?? 0n)).toBe(true);
  });
});
