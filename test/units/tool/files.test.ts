import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { describeFiles } from '../../contracts/files.ts';
import { QUICK } from '../../runner/thorough.ts';
import { countCalls, interceptStore, recordInto, type StoreCall } from '../../stage/store-wrappers.ts';

const folder = mkdtempSync(join(tmpdir(), 'files-'));
afterAll(() => rmSync(folder, { recursive: true }));

describeFiles('memory:', async () => ({ options: { store: 'memory:' }, shared: false, many: 1_100 }));
if (!QUICK) {
  describeFiles('SQLite', async () => ({
    options: { store: `sqlite:${join(folder, 'store.db')}` },
    shared: true,
    many: 1_100,
  }));
  describeFiles('SQLite with plain names', async () => ({
    options: { store: `sqlite:${join(folder, 'plain.db')}`, names: 'plain' },
    shared: true,
    many: 1_100,
  }));
}

it('memory.files reads behind a removal that was called before', async () => {
  await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32) });
  const { files } = memory;
  await files.write('/memories/a', 'x');
  const removing = files.remove('/memories/a');
  expect(await files.read('/memories/a')).toBeUndefined();
  await removing;
});

describe('the requests of memory.files', () => {
  it('are one for a read, a stat and a write of a known version, and a page of a listing each 1,000 files', async () => {
    const calls: StoreCall[] = [];
    const store = interceptStore(openSqliteObjectStore({ path: ':memory:' }), recordInto(calls));
    await using memory = await openMemory({ store, tenant: 'acme', rootKey: new Uint8Array(32) });
    const { files } = memory;
    for (let start = 0; start < 2_100; start += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, i) => files.write(`/memories/d/${start + i}`, 'x')));
    }
    const { version } = await files.write('/memories/a', 'x');
    const cost = async (action: () => Promise<unknown>) => {
      calls.length = 0;
      await action();
      return countCalls(calls);
    };
    expect(await cost(() => files.read('/memories/a'))).toEqual({ get: 1 });
    expect(await cost(() => files.stat('/memories/a'))).toEqual({ head: 1 });
    expect(await cost(() => files.stat('/memories/d'))).toEqual({ head: 1, list: 1 });
    const mode = { ifUnchanged: version };
    expect(await cost(() => files.write('/memories/a', 'y', { mode }))).toEqual({ put: 1 });
    expect(await cost(() => files.append('/memories/a', 'y'))).toEqual({ put: 1 });
    const all = (recursive: boolean) => async () => {
      for await (const _entry of files.list('/memories', { recursive }));
    };
    expect(await cost(all(true))).toEqual({ list: 3 });
    // The directory is passed over by a LIST behind it, unless its first page was not full.
    expect(await cost(all(false))).toEqual({ list: 2 });
  });
});
