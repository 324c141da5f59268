import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMemoryPool, type MemoryOptions, openAdmin, openMemory } from '../../../src/index.ts';
import { openTenantView } from '../../../src/page/server/tenant-view.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';

const ROOT_KEY = Buffer.alloc(32, 7).toString('base64');
const PATH = '/memories/a.md';
const COMMAND = '"sealed-memory tenant history on --tenant acme"';
const OFF = { code: 'misconfigured', message: expect.stringContaining(COMMAND) };

let store: ReturnType<typeof openSqliteObjectStore>;
beforeEach(() => {
  store = openSqliteObjectStore({ path: ':memory:' });
});
afterEach(() => store[Symbol.asyncDispose]());

const options = (more: Partial<MemoryOptions> = {}): MemoryOptions => ({
  store,
  tenant: 'acme',
  rootKey: ROOT_KEY,
  ...more,
});

describe('taking back where the tenant keeps no history', () => {
  beforeEach(async () => {
    await using memory = await openMemory(options({ actor: 'ann' }));
    await memory.files.write(PATH, 'one');
  });

  it.each([undefined, true])(
    'is refused with the command that turns history on, as a dry run: %s',
    async (dryRun) => {
      await using memory = await openMemory(options());
      await using admin = await openAdmin(options());
      const asked = dryRun === undefined ? {} : { dryRun };
      for (const { history } of [memory, admin]) {
        await expect(history.undo({ writer: 'ann', ...asked })).rejects.toMatchObject(OFF);
        await expect(history.restoreAt(new Date(), asked)).rejects.toMatchObject(OFF);
      }
    },
  );

  it('is refused by the page as well', async () => {
    await using view = await openTenantView(options(), { lineOf: () => '', canWrite: true });
    const asking = { signal: new AbortController().signal, send: async () => {} };
    for (const input of [{ undo: 'ann' }, { at: new Date().toISOString() }]) {
      const { plan, carryOut } = view.questions;
      await expect(plan?.(input, asking)).rejects.toMatchObject(OFF);
      await expect(carryOut?.({ ...input, digest: 'x' }, asking)).rejects.toMatchObject(OFF);
    }
  });
});

describe('days of history for a tenant that exists without it', () => {
  const warned: string[] = [];
  const logger = { debug() {}, info() {}, warn: (line: string) => void warned.push(line), error() {} };
  const dated = (more: Partial<MemoryOptions> = {}) => options({ history: { days: 30 }, logger, ...more });
  beforeEach(async () => {
    await using memory = await openMemory(options());
    await memory.files.write(PATH, 'one');
    warned.length = 0;
  });

  it.each([false, true])('are warned of once, with the command, lazy: %s', async (lazy) => {
    await using memory = await openMemory(dated({ lazy }));
    await memory.files.write(PATH, 'two');
    await memory.files.write(PATH, 'three');
    expect(warned).toEqual([expect.stringContaining(COMMAND)]);
    expect(await memory.history.state()).toBe('off');
  });

  it('are warned of once in a pool, and for a mount that takes writes', async () => {
    const { tenant: _, ...shared } = dated();
    await using pool = createMemoryPool({ ...shared, mounts: [{ at: '/memories/team', tenant: 'acme' }] });
    for (const tenant of ['begins', 'acme', 'acme']) await (await pool.open(tenant)).close();
    expect(warned).toEqual([expect.stringContaining(COMMAND)]);
  });

  it.each<[string, Partial<MemoryOptions>]>([
    ['a tenant that keeps it', { tenant: 'keeps' }],
    ['a tenant that begins', { tenant: 'begins' }],
    ['a memory that is only read', { readOnly: true }],
    [
      'a mount that is only read',
      { tenant: 'begins', mounts: [{ at: '/memories/m', tenant: 'acme', readOnly: true }] },
    ],
    ['a memory without days', { history: undefined }],
  ])('are nothing to warn of: %s', async (_, more) => {
    await using keeps = await openMemory(dated({ tenant: 'keeps' }));
    await keeps.files.write(PATH, 'one');
    await using memory = await openMemory(dated(more));
    await memory.files.read(PATH);
    expect(warned).toEqual([]);
    expect(await keeps.history.state()).toBe('on');
    await using nobody = await openMemory(dated({ tenant: 'nobody' }));
    expect(await nobody.history.state()).toBe('absent');
  });
});

describe('taking back where nothing is to be changed', () => {
  it('answers nothing, never written', async () => {
    await using memory = await openMemory(options({ actor: 'ann', history: { days: 30 } }));
    const { history } = memory;
    const nothing = { outcome: 'nothing', changes: [], left: [] };
    expect(await history.undo({ writer: 'ann' })).toEqual(nothing);
    await memory.files.write(PATH, 'one');
    expect(await history.undo({ writer: 'bob' })).toEqual(nothing);
    // A write counts as later than the moment of its own millisecond.
    await sleep(5);
    expect(await history.restoreAt(new Date())).toEqual(nothing);
    expect(await history.undo({ writer: 'bob', dryRun: true })).toMatchObject(nothing);
    expect(await history.undo({ writer: 'ann', actor: 'bob' })).toMatchObject({ outcome: 'written' });
  });
});
