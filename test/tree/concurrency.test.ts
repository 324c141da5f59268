import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { migrateObjects } from '../../src/admin/migrate.ts';
import { restoreTree } from '../../src/admin/restore.ts';
import { verifyTree } from '../../src/admin/verify.ts';
import { eachSideBySide } from '../../src/tree/concurrency.ts';
import { movePath } from '../../src/tree/rename/rename.ts';
import { createRenameRegister } from '../../src/tree/rename/rename-register.ts';
import type { OpenVault } from '../../src/tree/session.ts';
import { roundsDuring } from '../support/event-loop.ts';
import { editorOf, rotate } from '../support/key-operator.ts';
import { at, createSite, type TestClient } from '../support/test-vault.ts';

/** Ends when everything that can happen without it has happened. */
const aWhile = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
const itself = (size: number): number => size;

describe('eachSideBySide', () => {
  /** The sizes that were at work together, at every start. */
  async function run(
    bounds: { readonly sideBySide: number; readonly bytesSideBySide: number },
    sizes: readonly number[],
  ): Promise<readonly (readonly number[])[]> {
    const [atWork, seen]: [number[], number[][]] = [[], []];
    const work = async (size: number): Promise<void> => {
      atWork.push(size);
      seen.push([...atWork]);
      await aWhile();
      atWork.splice(atWork.indexOf(size), 1);
    };
    await eachSideBySide(bounds, sizes, work, itself);
    return seen;
  }

  it('works on as many items at once as there may be, in their order', async () => {
    const seen = await run({ sideBySide: 3, bytesSideBySide: 1_000 }, [1, 2, 3, 4, 5]);
    expect(seen.slice(0, 3)).toEqual([[1], [1, 2], [1, 2, 3]]);
    expect(seen.map((atWork) => atWork.at(-1))).toEqual([1, 2, 3, 4, 5]);
    expect(Math.max(...seen.map(({ length }) => length))).toBe(3);
  });

  it('keeps what is at work within the bytes, and works on larger ones alone', async () => {
    const seen = await run({ sideBySide: 32, bytesSideBySide: 100 }, [60, 40, 1, 250, 10, 90, 1]);
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
    const bounds = { sideBySide: 3, bytesSideBySide: 1 };
    await expect(eachSideBySide(bounds, [1, 2, 3, 4, 5, 6, 7, 8], work)).rejects.toThrow('the second');
    expect(begun).toEqual([1, 2, 3]);
    expect(ended).toEqual([1, 3]);
  });

  it('lets everything else run between items whose work never waits', async () => {
    const bounds = { sideBySide: 32, bytesSideBySide: 1e9 };
    const atOnce = async (): Promise<void> => {};
    const small = Array.from({ length: 6_400 }, () => 0);
    expect(await roundsDuring(() => eachSideBySide(bounds, small, atOnce))).toBeGreaterThanOrEqual(99);
    const large = Array.from({ length: 20 }, () => 2 ** 20);
    expect(await roundsDuring(() => eachSideBySide(bounds, large, atOnce, itself))).toBeGreaterThanOrEqual(
      19,
    );
  });
});

const FILE_BYTES = 100_000;
const FILES = 12;
const MOST_BYTES = 350_000;

/** What reads or writes every file of a directory. */
const VERBS: Readonly<Record<string, (vault: OpenVault) => Promise<unknown>>> = {
  'the rename of a directory': (vault) =>
    movePath(vault, createRenameRegister(), { from: at('/memories/d'), to: at('/memories/e') }),
  'a verification': (vault) => verifyTree(vault),
  'a migration': (vault) => migrateObjects(vault, { editor: editorOf(vault) }),
  async 'a restore'(vault) {
    const base = await mkdtemp(join(tmpdir(), 'side-by-side-'));
    await restoreTree(vault, { to: join(base, 'to') }).finally(() => rm(base, { recursive: true }));
  },
};

describe.each(Object.entries(VERBS))('%s', (title, verb) => {
  async function withFiles(count: number, bytes: number): Promise<TestClient> {
    const client = await (await createSite()).client();
    for (let i = 0; i < count; i++) await client.create(`/memories/d/${i}`, 'x'.repeat(bytes));
    const vault = await client.open();
    if (title === 'a migration') await rotate(editorOf(vault), vault);
    return client;
  }

  it('holds no more bytes at once than it may, and comes near to that', async () => {
    const client = await withFiles(FILES, FILE_BYTES);
    const sizes = new Map<string, number>();
    const vault = await client.open();
    for await (const { objects } of vault.store.list({ prefix: vault.layout.data })) {
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
    await verb({ ...(await client.open()), bytesSideBySide: MOST_BYTES });
    expect(most).toBeLessThanOrEqual(MOST_BYTES);
    expect(most).toBeGreaterThan(MOST_BYTES - 1.5 * FILE_BYTES);
  });

  it('lets everything else run between large files on a store that answers at once', async () => {
    const client = await withFiles(FILES, 1_048_576);
    const vault = { ...(await client.open()), sideBySide: 1, maxFileBytes: 1_048_576 };
    expect(await roundsDuring(() => verb(vault))).toBeGreaterThanOrEqual(FILES);
  });
});
