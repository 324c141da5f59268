import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { countCalls, interceptStore, recordInto, type StoreCall } from '../../stage/store-wrappers.ts';

const rootKey = new Uint8Array(32).fill(3);
/** Made up, in the form of a token of GitHub. */
const SECRET = `ghp_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
const HANDBOOK = { at: '/memories/handbook', tenant: 'org' };

let base: ObjectStore;
let calls: StoreCall[];
const opened: Memory[] = [];

beforeEach(() => {
  base = openSqliteObjectStore({ path: ':memory:' });
  calls = [];
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((memory) => memory.close()));
  await base[Symbol.asyncDispose]();
});

/** As a process of its own would: what it has counted is known to no other one. */
async function open(options: Partial<MemoryOptions> = {}): Promise<Memory> {
  const store = interceptStore(base, recordInto(calls));
  const memory = await openMemory({ store, tenant: 'acme', rootKey, ...options });
  opened.push(memory);
  return memory;
}

const create = (path: string, text: string) => ({ command: 'create', path, file_text: text });
const puts = (): number => countCalls(calls)['put'] ?? 0;

async function pathsOf({ files }: Memory): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const { path } of files.list('/memories', { recursive: true })) paths.push(path);
  return paths.sort();
}

describe('a memory with limits', () => {
  it('refuses in sentences that the model can act on, and writes nothing after them', async () => {
    const memory = await open({ limits: { files: 2, tenantBytes: 20 } });
    await memory.execute(create('/memories/a', 'twelve bytes'));
    await memory.execute(create('/memories/b', 'x'));
    const before = puts();
    expect(await memory.execute(create('/memories/c', ''))).toMatchObject({
      isError: true,
      content:
        'Error: Nothing was written: with /memories/c there would be 3 files in this memory, but at most 2 are allowed. Delete files that are not needed there, or add to one of them',
    });
    const longer = { command: 'insert', path: '/memories/b', insert_line: 0, insert_text: 'much longer' };
    expect(await memory.execute(longer)).toMatchObject({
      isError: true,
      content:
        'Error: Nothing was written: with /memories/b the files in this memory would have 25 bytes together, but at most 20 are allowed. Write less, or shorten or delete files that are not needed there',
    });
    const { files } = memory;
    for (const write of [
      () => files.write('/memories/c', ''),
      () => files.write('/memories/b', 'much longer', {}),
      () => files.append('/memories/b', 'much longer'),
      () => files.append('/memories/c', ''),
      () => files.copy('/memories/a', '/memories/c'),
      () => files.copy('/memories/a', '/memories/b', { mode: 'replace' }),
    ]) {
      await expect(write()).rejects.toMatchObject({ code: 'limit_exceeded' });
    }
    expect(puts()).toBe(before);
    // The model does what it was told to do, which works.
    await memory.execute({ command: 'delete', path: '/memories/b' });
    expect(await memory.execute(create('/memories/c', 'y'))).toMatchObject({ isError: false });
  });

  it('writes nothing for a tenant that is new, not even a keyring', async () => {
    const memory = await open({ limits: { tenantBytes: 3 } });
    const refused = await memory.execute(create('/memories/a', 'four'));
    expect(refused).toMatchObject({ isError: true, error: { code: 'limit_exceeded' } });
    expect(puts()).toBe(0);
    expect(await memory.execute(create('/memories/a', 'abc'))).toMatchObject({ isError: false });
  });

  it('asks nothing more of the store where no limit is set', async () => {
    const [plain, limited] = [await open(), await open({ tenant: 'other', limits: { files: 9 } })];
    const cost = async ({ execute }: Memory, name: string): Promise<unknown> => {
      calls.length = 0;
      await execute(create(`/memories/${name}`, 'x'));
      return countCalls(calls);
    };
    await cost(plain, 'first');
    await cost(limited, 'first');
    expect(await cost(plain, 'a')).toEqual({ put: 1, list: 1 });
    expect(await cost(limited, 'a')).toEqual({ put: 1, list: 1 });
  });

  it('counts once for all memories of a tenant in a process, whoever opened them', async () => {
    const limits = { files: 3 };
    const pool = createMemoryPool({ store: base, rootKey, limits });
    const identity = { accessKeyId: 'a', secretAccessKey: 'b' };
    const memories = await Promise.all([
      pool.open('acme'),
      pool.open('acme', { credentials: identity, credentialsKey: 'other' }),
      open({ store: base, limits }),
    ]);
    const outcomes = await Promise.all(
      memories.flatMap(({ execute }, index) =>
        [1, 2, 3].map((i) => execute(create(`/memories/${index}-${i}`, 'x'))),
      ),
    );
    expect(outcomes.filter(({ isError }) => !isError)).toHaveLength(3);
    await pool.close();
  });

  it.each([{ files: 0 }, { files: 1.5 }, { tenantBytes: 0 }, { tenantBytes: 2e15 }, { file: 1 }])(
    'is not opened with %o',
    async (limits) => {
      await expect(open({ limits })).rejects.toMatchObject({ code: 'misconfigured' });
    },
  );
});

describe('a limit beside another policy', () => {
  it('counts the memory that is mounted, and says where room must be made', async () => {
    const memory = await open({ limits: { files: 1 }, mounts: [HANDBOOK] });
    await memory.execute(create('/memories/own', 'x'));
    expect(await memory.execute(create('/memories/handbook/a', 'x'))).toMatchObject({ isError: false });
    const { content } = await memory.execute(create('/memories/handbook/b', 'x'));
    expect(content).toContain('there would be 2 files below /memories/handbook, but at most 1 are allowed');
    await memory.execute({ command: 'delete', path: '/memories/own' });
    expect(await memory.execute(create('/memories/handbook/b', 'x'))).toMatchObject({ isError: true });
    expect(await memory.execute(create('/memories/own', 'x'))).toMatchObject({ isError: false });
  });

  it('is of the mount itself where it has one, and shared by two mounts of one tenant', async () => {
    const limits = { files: 2 };
    const memory = await open({
      mounts: [
        { ...HANDBOOK, limits },
        { ...HANDBOOK, at: '/memories/same', limits },
      ],
    });
    for (const name of ['a', 'b', 'c']) await memory.files.write(`/memories/${name}`, 'x');
    const outcomes = await Promise.allSettled(
      ['handbook/1', 'same/2', 'handbook/3', 'same/4'].map((name) =>
        memory.files.write(`/memories/${name}`, 'x'),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  });

  it('and a policy are not lost where a mount gives undefined for them', async () => {
    const unsaid = { limits: undefined, policy: undefined, rootKey: undefined, store: undefined };
    const memory = await open({
      limits: { files: 1 },
      policy: 'secrets',
      mounts: [{ ...HANDBOOK, ...unsaid }],
    });
    expect(await memory.execute(create('/memories/handbook/a', SECRET))).toMatchObject({
      error: { code: 'policy_refused' },
    });
    await memory.execute(create('/memories/handbook/a', 'x'));
    expect(await memory.execute(create('/memories/handbook/b', 'x'))).toMatchObject({
      error: { code: 'limit_exceeded' },
    });
  });

  it('comes after read-only, which asks nothing of the store', async () => {
    const memory = await open({
      limits: { files: 1 },
      readOnly: true,
      mounts: [{ ...HANDBOOK, readOnly: true }],
    });
    calls.length = 0;
    for (const path of ['/memories/a', '/memories/handbook/a']) {
      expect(await memory.execute(create(path, 'x'))).toMatchObject({ error: { code: 'read_only' } });
    }
    expect(calls).toEqual([]);
  });

  it('comes after the policy, and counts what that has left of a text', async () => {
    const placeholder = '[redacted: github/GITHUB_TOKEN]';
    const limits = { tenantBytes: placeholder.length };
    const memory = await open({ limits, policy: 'secrets,redact' });
    expect(SECRET.length).toBeGreaterThan(placeholder.length);
    expect(await memory.execute(create('/memories/a', SECRET))).toMatchObject({ isError: false });
    expect(await memory.files.stat('/memories/a')).toMatchObject({ size: placeholder.length });
    const refusing = await open({ tenant: 'other', limits: { tenantBytes: 5 }, policy: 'secrets' });
    expect(await refusing.execute(create('/memories/a', SECRET))).toMatchObject({
      error: { code: 'policy_refused' },
    });
  });

  it('holds for redactions that make a text longer', async () => {
    const memory = await open({ limits: { tenantBytes: 20 }, policy: 'email,redact' });
    expect(await memory.execute(create('/memories/a', 'a@b.example'))).toMatchObject({ isError: false });
    expect(await memory.execute(create('/memories/b', 'a@b.example'))).toMatchObject({
      error: { code: 'limit_exceeded' },
    });
  });

  it('leaves the order of commands as it is: a delete before a create makes room for it', async () => {
    const memory = await open({ limits: { files: 1 } });
    await memory.execute(create('/memories/a', 'x'));
    const [removed, created] = await Promise.all([
      memory.execute({ command: 'delete', path: '/memories/a' }),
      memory.execute(create('/memories/a', 'y')),
    ]);
    expect([removed.isError, created.isError]).toEqual([false, false]);
    expect(await pathsOf(memory)).toEqual(['/memories/a']);
  });
});
