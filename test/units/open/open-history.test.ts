import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createMemoryPool, type MemoryOptions, openAdmin, openMemory } from '../../../src/index.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { succeed } from '../../stage/succeed.ts';

const ROOT_KEY = Buffer.alloc(32, 7).toString('base64');
const PATH = '/memories/a';
const DAY = 86_400_000;

let store: ObjectStore;
/** How far the store's clock is ahead of this machine's. */
let ahead: number;

beforeEach(() => {
  ahead = 0;
  store = openSqliteObjectStore({ path: ':memory:', clock: () => Date.now() + ahead });
});
afterEach(() => store[Symbol.asyncDispose]());

const options = (more: Partial<MemoryOptions> = {}): MemoryOptions => ({
  store,
  tenant: 'acme',
  rootKey: ROOT_KEY,
  history: { days: 30 },
  ...more,
});

async function keys(prefix: string): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { objects } of store.list({ prefix: `tenants/acme/${prefix}` }))
    found.push(...objects.map(({ key }) => key));
  return found;
}

describe('memory.history', () => {
  it('has what a tenant kept that was created with days, and who wrote it', async () => {
    await using memory = await openMemory(options({ actor: 'ann' }));
    await succeed(memory, { command: 'create', path: PATH, file_text: 'one' });
    await memory.execute(
      { command: 'str_replace', path: PATH, old_str: 'one', new_str: 'two' },
      { actor: 'turn 1' },
    );
    await memory.files.write(PATH, 'three');
    const entries = await memory.history.list(PATH);
    expect(entries.map(({ kind, writer }) => [kind, writer])).toEqual([
      ['written', 'ann'],
      ['written', 'turn 1'],
      ['written', 'ann'],
    ]);
    const [, second] = entries;
    if (second === undefined) throw new Error('there is no second version');
    expect((await memory.history.read(second)).text()).toBe('two');
    expect(await memory.history.restore(second)).toMatchObject({ restored: true });
    expect((await memory.files.read(PATH))?.text()).toBe('two');
    expect((await memory.history.list(PATH))[0]).toMatchObject({ writer: 'ann', end: 'current', size: 3 });
  });

  it('is one for all memories of a pool, each with its own actor', async () => {
    await using pool = createMemoryPool({ store, rootKey: ROOT_KEY, history: { days: 30 } });
    const [ann, bob] = await Promise.all(['ann', 'bob'].map((actor) => pool.open('acme', { actor })));
    await ann?.files.write(PATH, 'one');
    await bob?.files.append(PATH, ' two');
    const writers = (await ann?.history.list(PATH))?.map(({ writer }) => writer);
    expect(writers).toEqual(['bob', 'ann']);
    await Promise.all([ann?.close(), bob?.close()]);
  });

  it('is refused once the memory is closed, and restores nothing where it may only be read', async () => {
    const memory = await openMemory(options());
    await memory.files.write(PATH, 'one');
    await memory.files.write(PATH, 'two');
    const [, first] = await memory.history.list(PATH);
    if (first === undefined) throw new Error('there is no version');
    await memory.close();
    await expect(memory.history.list()).rejects.toMatchObject({ code: 'aborted' });
    await using reader = await openMemory(options({ readOnly: true }));
    expect((await reader.history.read(first)).text()).toBe('one');
    await expect(reader.history.restore(first)).rejects.toMatchObject({ code: 'read_only' });
  });

  it('is nothing that the model reaches, and nothing in the names and bytes of the store', async () => {
    await using memory = await openMemory(options({ actor: 'someone@example.org' }));
    await memory.files.write('/memories/secret-plan.md', 'the first text');
    await memory.files.write('/memories/secret-plan.md', 'the second text');
    await memory.files.rename('/memories/secret-plan.md', '/memories/b.md');
    await memory.files.remove('/memories/b.md');
    expect(await succeed(memory, { command: 'view', path: '/memories' })).not.toMatch(/secret|history/);
    expect(Object.keys(memory.handlers)).toHaveLength(6);
    const stored = await keys('');
    expect(stored.filter((key) => key.includes('/history/'))).toHaveLength(4);
    expect(stored.filter((key) => key.includes('/actors/'))).toHaveLength(1);
    for (const key of stored) {
      const object = await store.get(key as never);
      const bytes = typeof object === 'object' ? Buffer.from(object.body).toString('latin1') : '';
      expect(key + bytes).not.toMatch(/secret-plan|example\.org|the first text|the second text/);
    }
  });
});

describe('a tenant without history', () => {
  it('keeps nothing, also where an actor is named', async () => {
    const { history: _, ...without } = options({ actor: 'ann' });
    await using memory = await openMemory(without);
    await memory.files.write(PATH, 'one');
    await memory.files.write(PATH, 'two');
    expect([...(await keys('history/')), ...(await keys('actors/'))]).toEqual([]);
    expect(await memory.history.list(PATH)).toHaveLength(1);
  });

  it('begins to keep it when its administration turns it on', async () => {
    const { history: _, ...without } = options();
    await using memory = await openMemory({ ...without, keyring: { ttlMs: 0 } });
    await memory.files.write(PATH, 'one');
    await using admin = await openAdmin(without);
    expect(await admin.switchHistory('on')).toMatchObject({ history: 'on', changed: true });
    await memory.files.write(PATH, 'two');
    expect((await admin.history.list(PATH)).map((entry) => 'end' in entry && entry.end)).toEqual([
      'current',
      'replaced',
    ]);
    expect(await admin.switchHistory('off')).toMatchObject({ history: 'off', changed: true });
    await memory.files.write(PATH, 'three');
    await expect(admin.switchHistory('perhaps' as 'on')).rejects.toMatchObject({ code: 'misconfigured' });
    expect(await keys('history/')).toHaveLength(1);
  });

  it('is turned on before anything is written, and the first version that is replaced is kept', async () => {
    const { history: _, ...without } = options();
    await using admin = await openAdmin(without);
    await expect(admin.switchHistory('off')).rejects.toMatchObject({ code: 'key_unavailable' });
    expect(await admin.switchHistory('on')).toEqual({ history: 'on', changed: true, epoch: 2 });
    await using memory = await openMemory(without);
    for (const text of ['one', 'two']) await memory.files.write(PATH, text);
    expect(await memory.history.list(PATH)).toHaveLength(2);
  });

  it('is begun anew by one write of the keyring: it stays on, counts from now on, and its texts stay', async () => {
    await using memory = await openMemory(options());
    await using admin = await openAdmin(options());
    for (const text of ['one', 'two']) await memory.files.write(PATH, text);
    const before = await admin.keyStatus();
    const begun = Date.now();
    expect(await admin.switchHistory('anew')).toEqual({ history: 'on', changed: true, epoch: 2 });
    const after = await admin.keyStatus();
    if (before.state !== 'open' || after.state !== 'open') expect.unreachable('there is a keyring');
    expect(after.history).toBe('on');
    expect(before.historySince).toBeLessThanOrEqual(begun);
    expect(after.historySince).toBeGreaterThanOrEqual(begun);
    const [, first] = await admin.history.list(PATH);
    const version = first?.kind === 'written' ? first.version : expect.unreachable('there is no version');
    expect((await admin.history.read({ path: PATH, version })).text()).toBe('one');
  });

  it('is begun anew no earlier than every writer keeps it, and not where it is off', async () => {
    const { history: _, ...without } = options();
    await using admin = await openAdmin(without);
    await admin.switchHistory('on');
    const before = await admin.keyStatus();
    await admin.switchHistory('anew');
    expect(await admin.keyStatus()).toMatchObject({
      historySince: before.state === 'open' ? before.historySince : expect.unreachable('there is a keyring'),
    });
    await admin.switchHistory('off');
    await expect(admin.switchHistory('anew')).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('cannot be turned on where it may only be read', async () => {
    await using reader = await openAdmin(options({ readOnly: true }));
    await expect(reader.switchHistory('on')).rejects.toMatchObject({ code: 'read_only' });
  });
});

describe('what an operator does with a tenant that keeps history', () => {
  it.each([false, true])(
    'keeps its versions readable through a change of keys, sealed again: %s',
    async (reencrypt) => {
      await using memory = await openMemory(options({ actor: 'ann', keyring: { ttlMs: 0 } }));
      for (const text of ['one', 'two', 'three']) await memory.files.write(PATH, text);
      await memory.files.rename(PATH, '/memories/b');
      await using admin = await openAdmin(options());
      await admin.rotate();
      ahead = DAY;
      const report = await admin.migrate({ reencrypt });
      expect(report).toMatchObject({ retired: [1], problems: [] });
      await memory.files.write('/memories/b', 'four');
      const entries = await memory.history.list('/memories/b');
      const written = entries.filter(({ kind }) => kind === 'written');
      const texts = await Promise.all(
        written.map(async (entry) => (await memory.history.read(entry)).text()),
      );
      expect(texts).toEqual(['four', 'three', 'two', 'one']);
      expect(entries.map(({ writer }) => writer)).toEqual(Array(5).fill('ann'));
      expect((await admin.verify()).findings).toEqual([]);
    },
  );

  it('leaves nothing readable when the tenant is shredded', async () => {
    await using memory = await openMemory(options({ actor: 'ann' }));
    for (const text of ['one', 'two']) await memory.files.write(PATH, text);
    await using admin = await openAdmin(options());
    await admin.shred({ ttlMs: 0 });
    await using late = await openAdmin(options());
    await expect(late.history.list()).rejects.toMatchObject({ code: 'key_unavailable' });
  });

  it('verifies a version of the largest file that may be written', async () => {
    const bytes = 16_777_216;
    await using memory = await openMemory(options({ limits: { fileBytes: bytes } }));
    await memory.files.write(PATH, new Uint8Array(bytes));
    await memory.files.write(PATH, 'small');
    await using admin = await openAdmin(options({ limits: { fileBytes: bytes } }));
    expect((await admin.verify()).findings).toEqual([]);
  });
});

describe('the expiry of history', () => {
  it('deletes what was written into it too long ago by the store, and no file', async () => {
    await using memory = await openMemory(options());
    await memory.files.write(PATH, 'one');
    await memory.files.write(PATH, 'two');
    ahead = 20 * DAY;
    await memory.files.write(PATH, 'three');
    ahead = 31 * DAY;
    await using admin = await openAdmin(options());
    expect(await admin.expire({ dryRun: true })).toMatchObject({ history: 1, deleted: 0 });
    expect(await keys('history/')).toHaveLength(2);
    expect(await admin.expire()).toMatchObject({ history: 1, deleted: 0 });
    expect(await keys('history/')).toHaveLength(1);
    expect((await memory.files.read(PATH))?.text()).toBe('three');
    expect(await memory.history.list(PATH)).toHaveLength(2);
  });

  it('touches none where no days are configured, and says nothing of it', async () => {
    await using memory = await openMemory(options());
    await memory.files.write(PATH, 'one');
    await memory.files.write(PATH, 'two');
    ahead = 4_000 * DAY;
    const { history: _, ...without } = options();
    await using admin = await openAdmin(without);
    expect(await admin.expire()).not.toHaveProperty('history');
    expect(await keys('history/')).toHaveLength(1);
  });

  it.each([0, 3_651, 1.5, '30'])('refuses %j days', async (days) => {
    const opening = openMemory(options({ history: { days: days as number } }));
    await expect(opening).rejects.toMatchObject({ code: 'misconfigured' });
  });
});
