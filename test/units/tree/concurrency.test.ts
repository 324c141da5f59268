import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exportTree } from '../../../src/admin/export/export-tree.ts';
import { migrateObjects } from '../../../src/admin/keys/migrate.ts';
import { verifyTree } from '../../../src/admin/verify/verify.ts';
import { eachConcurrently } from '../../../src/tree/concurrency.ts';
import { createRenameRegister } from '../../../src/tree/rename/finish-renames.ts';
import { renamePath } from '../../../src/tree/rename/rename.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { editorOf, rotate } from '../../stage/key-operator.ts';
import { roundsDuring } from '../../stage/measures.ts';
import { at, createSite, type TestClient } from '../../stage/test-tree.ts';

/** Ends when everything that can happen without it has happened. */
const aWhile = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
const itself = (size: number): number => size;

describe('eachConcurrently', () => {
  /** The sizes that were at work together, at every start. */
  async function run(
    bounds: { readonly concurrency: number; readonly concurrentBytes: number },
    sizes: readonly number[],
  ): Promise<readonly (readonly number[])[]> {
    const [atWork, seen]: [number[], number[][]] = [[], []];
    const work = async (size: number): Promise<void> => {
      atWork.push(size);
      seen.push([...atWork]);
      await aWhile();
      atWork.splice(atWork.indexOf(size), 1);
    };
    await eachConcurrently(bounds, sizes, work, itself);
    return seen;
  }

  it('works on as many items at once as there may be, in their order', async () => {
    const seen = await run({ concurrency: 3, concurrentBytes: 1_000 }, [1, 2, 3, 4, 5]);
    expect(seen.slice(0, 3)).toEqual([[1], [1, 2], [1, 2, 3]]);
    expect(seen.map((atWork) => atWork.at(-1))).toEqual([1, 2, 3, 4, 5]);
    expect(Math.max(...seen.map(({ length }) => length))).toBe(3);
  });

  it('keeps what is at work within the bytes, and works on larger ones alone', async () => {
    const seen = await run({ concurrency: 32, concurrentBytes: 100 }, [60, 40, 1, 250, 10, 90, 1]);
    for (const atWork of seen) {
      const bytes = atWork.reduce((sum, size) => sum + size, 0);
      expect(bytes <= 100 || atWork.length === 1, atWork.join()).toBe(true);
    }
    expect(seen).toContainEqual([60, 40]);
    expect(seen).toContainEqual([250]);
    expect(seen).toContainEqual([10, 90]);
  });

  it('begins nothing after a failure, and throws the first one when the others have ended', async () => {
    const [begun, ended]: [number[], number[]] = [[], []];
    const work = async (item: number): Promise<void> => {
      begun.push(item);
      if (item === 2) throw new Error('the second');
      await aWhile();
      ended.push(item);
    };
    const bounds = { concurrency: 3, concurrentBytes: 1 };
    await expect(eachConcurrently(bounds, [1, 2, 3, 4, 5, 6, 7, 8], work)).rejects.toThrow('the second');
    expect(begun).toEqual([1, 2, 3]);
    expect(ended).toEqual([1, 3]);
  });

  it('throws the first of several failures', async () => {
    const failing = async (item: number): Promise<void> => {
      if (item === 1) await aWhile();
      throw new Error(`failure ${item}`);
    };
    const bounds = { concurrency: 3, concurrentBytes: 1 };
    await expect(eachConcurrently(bounds, [1, 2, 3], failing)).rejects.toThrow('failure 2');
  });

  it('lets everything else run between items whose work never waits', async () => {
    const bounds = { concurrency: 32, concurrentBytes: 1e9 };
    const atOnce = async (): Promise<void> => {};
    const small = Array.from({ length: 6_400 }, () => 0);
    const rounds = await roundsDuring(() => eachConcurrently(bounds, small, atOnce));
    expect(rounds).toBeGreaterThanOrEqual(99);
    expect(rounds).toBeLessThan(300);
    const large = Array.from({ length: 20 }, () => 2 ** 20);
    expect(await roundsDuring(() => eachConcurrently(bounds, large, atOnce, itself))).toBeGreaterThanOrEqual(
      19,
    );
  });
});

const FILE_BYTES = 100_000;
const FILES = 12;
const MOST_BYTES = 350_000;

/** The verbs that read or write every file of a directory. */
const VERBS: Readonly<Record<string, (work: Work) => Promise<unknown>>> = {
  'the rename of a directory': (work) =>
    renamePath(work, createRenameRegister(), { from: at('/memories/d'), to: at('/memories/e') }),
  'a verification': (work) => verifyTree(work.tenant),
  'a migration': (work) => migrateObjects(work.tenant, { editor: editorOf(work.tenant) }),
  async 'an export'(work) {
    const base = await mkdtemp(join(tmpdir(), 'side-by-side-'));
    await exportTree(work.tenant, { to: join(base, 'to') }).finally(() => rm(base, { recursive: true }));
  },
};

describe.each(Object.entries(VERBS))('%s', (title, verb) => {
  async function withFiles(count: number, bytes: number): Promise<TestClient> {
    const client = await (await createSite()).client();
    for (let i = 0; i < count; i++) await client.create(`/memories/d/${i}`, 'x'.repeat(bytes));
    const work = await client.open();
    if (title === 'a migration') await rotate(editorOf(work.tenant), work.tenant);
    return client;
  }

  it('holds no more bytes at once than it may, and comes near to that', async () => {
    const client = await withFiles(FILES, FILE_BYTES);
    const sizes = new Map<string, number>();
    const work = await client.open();
    for await (const { objects } of work.tenant.store.list({ prefix: work.tenant.layout.data })) {
      for (const { key, size } of objects) sizes.set(key, size);
    }
    let [bytes, most] = [0, 0];
    client.intercept(async (call, proceed) => {
      if (call.verb !== 'get' && call.verb !== 'put') return proceed();
      const size = call.verb === 'put' ? call.body.length : (sizes.get(call.key) ?? 0);
      bytes += size;
      most = Math.max(most, bytes);
      await aWhile();
      return proceed().finally(() => {
        bytes -= size;
      });
    });
    await verb({
      ...(await client.open()),
      tenant: { ...(await client.open()).tenant, concurrentBytes: MOST_BYTES },
    });
    expect(most).toBeLessThanOrEqual(MOST_BYTES);
    expect(most).toBeGreaterThan(MOST_BYTES - 1.5 * FILE_BYTES);
  });

  it('lets everything else run between large files on a store that answers at once', async () => {
    const client = await withFiles(FILES, 1_048_576);
    const work = {
      ...(await client.open()),
      tenant: { ...(await client.open()).tenant, concurrency: 1, maxFileBytes: 1_048_576 },
    };
    expect(await roundsDuring(() => verb(work))).toBeGreaterThanOrEqual(FILES);
  });
});
