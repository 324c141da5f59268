import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions, MountOptions } from '../../../src/open/options/options.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import type { Dump, Input, OpenDriver, Outcome } from '../../contracts/memory-tool/driver.ts';
import { describeMemoryTool } from '../../contracts/memory-tool.ts';
import { amount } from '../../runner/thorough.ts';
import { type Chance, createChance } from '../../simulation/chance.ts';
import { interceptStore } from '../../stage/store-wrappers.ts';

const rootKey = new Uint8Array(32).fill(1);
const opened: ObjectStore[] = [];
function newStore(): ObjectStore {
  const store = openSqliteObjectStore({ path: ':memory:' });
  opened.push(store);
  return store;
}
afterAll(() => Promise.all(opened.map((store) => store[Symbol.asyncDispose]())));

async function run(memory: Memory, input: Input): Promise<Outcome> {
  const result = await memory.execute(input);
  return result.isError
    ? { ok: false, content: result.content, code: result.error.code }
    : { ok: true, content: result.content };
}

async function dumpOf(memory: Memory): Promise<Dump> {
  const files: Record<string, string | { readonly base64: string }> = {};
  for await (const { path } of memory.files.list('/memories', { recursive: true })) {
    const bytes = (await memory.files.read(path))?.bytes ?? new Uint8Array();
    const text = Buffer.from(bytes).toString();
    files[path] = Buffer.from(text).equals(bytes) ? text : { base64: Buffer.from(bytes).toString('base64') };
  }
  return files;
}

/** A memory with three others mounted where the model sees no row of them, on stores and keys of their own. */
const besideMounts: OpenDriver = async ({ maxFileBytes, ...options } = {}) => {
  const memory = await openMemory({
    store: newStore(),
    tenant: `t-${randomBytes(8).toString('hex')}`,
    rootKey,
    ...options,
    limits: { fileBytes: maxFileBytes },
    mounts: ['.one', '.two', '.three'].map((name) => ({
      at: `/memories/${name}`,
      store: newStore(),
      tenant: 'org',
      rootKey: new Uint8Array(32).fill(2),
    })),
  });
  return {
    run: (input) => run(memory, input),
    runAll: (inputs) => Promise.all(inputs.map((input) => run(memory, input))),
    async put(path, bytes) {
      await memory.files.write(path, bytes);
    },
    dump: () => dumpOf(memory),
    async reset() {
      for await (const entry of memory.files.list()) {
        if (!entry.path.startsWith('/memories/.')) await memory.files.remove(entry.path);
      }
      for (const path of Object.keys(await dumpOf(memory))) await memory.files.remove(path);
    },
    close: () => memory.close(),
  };
};

describeMemoryTool('openMemory with three mounts', besideMounts, {
  shows: ['store', 'entry'],
  manyFiles: 120,
});

async function rawObjects(store: ObjectStore): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { objects } of store.list({ prefix: '' })) {
    for (const { key, etag, lastModified } of objects) found.push(`${key} ${etag} ${lastModified}`);
  }
  return found;
}

/** A command that would change something, or a path that may lead past the order to change nothing. */
function hostileInput({ pick }: Chance, paths: readonly string[]): Input {
  const path = `/memories/handbook${pick(paths)}`;
  const outside = pick(['/memories/mine', '/memories/handbook/elsewhere', '/memories/handbook']);
  return pick<Input>([
    { command: 'create', path, file_text: 'changed' },
    { command: 'str_replace', path, old_str: pick(['rule', 'two', '']), new_str: 'x' },
    { command: 'insert', path, insert_line: 0, insert_text: 'x' },
    { command: 'delete', path },
    { command: 'rename', old_path: path, new_path: outside },
    { command: 'rename', old_path: outside, new_path: path },
    { command: 'view', path },
  ]);
}

describe('a mounted memory', () => {
  let store: ObjectStore;
  let other: ObjectStore;
  beforeEach(() => {
    store = newStore();
    other = newStore();
  });

  const open = (mounts: MemoryOptions['mounts'], options: Partial<MemoryOptions> = {}): Promise<Memory> =>
    openMemory({ store, tenant: 'acme', rootKey, ...options, mounts });
  const create = (path: string, text = 'x') => ({ command: 'create', path, file_text: text });
  const HANDBOOK = { at: '/memories/handbook', tenant: 'org' };

  it('answers every command as a memory of its own would, but for its place', async () => {
    const name = fc.constantFrom('a', 'b', 'c/d', 'c/e.md', 'c');
    const text = fc.constantFrom('', 'one\n', 'one\ntwo\none\n', '日本');
    const command = fc.oneof(
      fc.record({ command: fc.constant('view'), path: name }),
      fc.record({ command: fc.constant('create'), path: name, file_text: text }),
      fc.record({
        command: fc.constant('str_replace'),
        path: name,
        old_str: fc.constantFrom('one', 'two'),
        new_str: text,
      }),
      fc.record({ command: fc.constant('insert'), path: name, insert_line: fc.nat(3), insert_text: text }),
      fc.record({ command: fc.constant('delete'), path: name }),
      fc.record({ command: fc.constant('rename'), old_path: name, new_path: name }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 12 }), async (commands) => {
        const alone = await openMemory({ store: newStore(), tenant: 'org', rootKey });
        const mounted = await openMemory({
          store: newStore(),
          tenant: 'acme',
          rootKey,
          mounts: [{ ...HANDBOOK, store: newStore(), rootKey: new Uint8Array(32).fill(3) }],
        });
        const below = (directory: string, fields: Input): Input =>
          Object.fromEntries(
            Object.entries(fields).map(([field, value]) =>
              field.endsWith('path') ? [field, `${directory}/${String(value)}`] : [field, value],
            ),
          );
        for (const each of [...commands, { command: 'view', path: '' }]) {
          const expected = await run(alone, below('/memories', each));
          const outcome = await run(mounted, below('/memories/handbook', each));
          const content = String(outcome.content).replaceAll('/memories/handbook', '/memories');
          expect({ ...outcome, content }).toEqual(expected);
        }
        await Promise.all([alone.close(), mounted.close()]);
      }),
      { numRuns: amount({ quick: 10, usual: 40, thorough: 400 }) },
    );
  });

  it('is listed, also with nothing in it, and hides what the memory has at its place', async () => {
    const plain = await open([]);
    await run(plain, create('/memories/handbook/mine', 'hidden'));
    await run(plain, create('/memories/a', 'abc'));
    const memory = await open([HANDBOOK, { at: '/memories/empty', tenant: 'none' }]);
    await run(memory, create('/memories/handbook/rules.md', 'rules'));
    const listing = [
      "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
      ...[
        '8B\t/memories',
        '3B\t/memories/a',
        '0B\t/memories/empty/',
        '5B\t/memories/handbook/',
        '5B\t/memories/handbook/rules.md',
      ],
    ].join('\n');
    expect(await run(memory, { command: 'view', path: '/memories' })).toEqual({ ok: true, content: listing });
    expect((await run(memory, { command: 'view', path: '/memories/empty' })).content).toContain(
      '0B\t/memories/empty',
    );
    expect(await dumpOf(memory)).toEqual({ '/memories/a': 'abc', '/memories/handbook/rules.md': 'rules' });
    const entries: string[] = [];
    for await (const { type, path } of memory.files.list()) entries.push(`${type} ${path}`);
    expect(entries.sort()).toEqual([
      'directory /memories/empty',
      'directory /memories/handbook',
      'file /memories/a',
    ]);
    expect(await memory.files.stat('/memories/empty')).toEqual({
      type: 'directory',
      path: '/memories/empty',
    });
    expect(await memory.files.stat('/memories/handbook/rules.md')).toMatchObject({
      path: '/memories/handbook/rules.md',
    });
    expect(await dumpOf(plain)).toMatchObject({ '/memories/handbook/mine': 'hidden' });
  });

  it('is listed from behind any path on, in the place of its mount', async () => {
    const mounts = ['one', 'two'].map((name) => ({
      at: `/memories/${name}`,
      store: newStore(),
      tenant: name,
      rootKey,
    }));
    await using memory = await openMemory({ store: newStore(), tenant: 'acme', rootKey, mounts });
    for (const path of ['a', 'b/c', 'one/d', 'one/e/f', 'two/g/h/i', 'two/h', 'zz'])
      await memory.files.write(`/memories/${path}`, path);
    const listed = async (after?: string, path = '/memories'): Promise<readonly string[]> => {
      const found: string[] = [];
      const options = { recursive: true, ...(after !== undefined && { after }) };
      for await (const entry of memory.files.list(path, options)) found.push(entry.path);
      return found;
    };
    const all = await listed();
    expect(all).toHaveLength(7);
    for (const [index, after] of all.entries()) expect(await listed(after)).toEqual(all.slice(index + 1));
    const inOne = all.filter((path) => path.startsWith('/memories/one/'));
    expect(await listed(inOne[0], '/memories/one')).toEqual(inOne.slice(1));
  });

  it('is the memory of its own tenant, store and keys', async () => {
    const key = new Uint8Array(32).fill(9);
    const memory = await open([{ ...HANDBOOK, store: other, rootKey: key }]);
    await run(memory, create('/memories/handbook/a', 'theirs'));
    await memory.close();
    const org = await openMemory({ store: other, tenant: 'org', rootKey: key });
    expect(await dumpOf(org)).toEqual({ '/memories/a': 'theirs' });
    await expect(open([{ ...HANDBOOK, store: other }])).rejects.toMatchObject({ code: 'key_unavailable' });
  });

  it('can be neither deleted, renamed, written over nor left by a rename, and says so', async () => {
    const memory = await open([HANDBOOK]);
    await run(memory, create('/memories/a'));
    await run(memory, create('/memories/handbook/b'));
    const before = await dumpOf(memory);
    const refusals: readonly (readonly [Input, string])[] = [
      [
        { command: 'delete', path: '/memories/handbook' },
        'Error: Cannot delete /memories/handbook: another memory is mounted there',
      ],
      [
        { command: 'rename', old_path: '/memories/handbook', new_path: '/memories/x' },
        'Error: Cannot rename /memories/handbook: another memory is mounted there',
      ],
      [
        { command: 'rename', old_path: '/memories/a', new_path: '/memories/handbook' },
        'Error: The destination /memories/handbook already exists',
      ],
      [create('/memories/handbook'), 'Error: Cannot create a file at /memories/handbook: it is a directory'],
      [
        { command: 'rename', old_path: '/memories/a', new_path: '/memories/handbook/a' },
        'Error: Cannot rename /memories/a to /memories/handbook/a: they lie in different memories. View the file, create it at the new path, then delete the old one if you may',
      ],
    ];
    for (const [input, content] of refusals) {
      expect(await run(memory, input)).toMatchObject({ ok: false, content });
    }
    await expect(memory.files.copy('/memories/a', '/memories/handbook/a')).resolves.toMatchObject({
      size: 1,
    });
    await memory.files.remove('/memories/handbook/a');
    expect(await dumpOf(memory)).toEqual(before);
  });

  const hostile = amount({ quick: 1_000, usual: 10_000 });
  it(`changes no byte under ${hostile} hostile commands where it is read-only, and asks its store to write nothing`, async () => {
    const org = await openMemory({ store: other, tenant: 'org', rootKey });
    await run(org, create('/memories/rules.md', 'rule one\n'));
    await run(org, create('/memories/deep/er/b', 'two'));
    await org.close();
    const verbs = new Set<string>();
    const watched = interceptStore(other, ({ verb }, proceed) => {
      verbs.add(verb);
      return proceed();
    });
    const memory = await open([{ ...HANDBOOK, store: watched, readOnly: true }], { onExists: 'overwrite' });
    const before = await rawObjects(other);
    const chance = createChance('hostile');
    const paths = [
      '',
      '/rules.md',
      '/deep',
      '/deep/er/b',
      '/new',
      '/../handbook/rules.md',
      '//rules.md',
      '/rules.md/x',
    ];
    for (let sent = 0; sent < hostile; sent += 100) {
      const inputs = Array.from({ length: 100 }, () => hostileInput(chance, paths));
      await Promise.all(inputs.map((input) => run(memory, input)));
      await memory.files.append('/memories/handbook/rules.md', 'x').catch(() => undefined);
    }
    expect(await rawObjects(other)).toEqual(before);
    expect([...verbs].filter((verb) => verb === 'put' || verb === 'delete')).toEqual([]);
    expect(await run(memory, { command: 'delete', path: '/memories/handbook/rules.md' })).toMatchObject({
      ok: false,
      code: 'read_only',
    });
    expect(await run(memory, create('/memories/own', 'x'))).toMatchObject({ ok: true });
  }, 120_000);

  it('is written to beside a memory that is read-only', async () => {
    const memory = await open([HANDBOOK], { readOnly: true });
    expect(await run(memory, create('/memories/a'))).toMatchObject({ code: 'read_only' });
    expect(await run(memory, create('/memories/handbook/a'))).toMatchObject({ ok: true });
  });

  it('must lie directly below the root, each at a place of its own, with options that exist', async () => {
    for (const at of ['/memories', '/memories/a/b', '/etc', '/memories/../a']) {
      await expect(open([{ ...HANDBOOK, at }])).rejects.toMatchObject({
        code: expect.stringMatching(/misconfigured|invalid_path/),
      });
    }
    await expect(open([HANDBOOK, HANDBOOK])).rejects.toThrow('Two mounts cannot lie at one path.');
    await expect(open([{ at: '/memories/x' } as never])).rejects.toThrow('mounts[0].tenant is not set');
    await expect(open([{ ...HANDBOOK, tennant: 'x' } as never])).rejects.toThrow('tennant');
  });
});

it.each(['plain', 'encrypted'] as const)(
  'a mount has the names of its tenant, in a memory with %s names',
  async (names) => {
    const store = newStore();
    const other = names === 'plain' ? 'encrypted' : 'plain';
    {
      await using org = await openMemory({ store, tenant: 'org', rootKey, names: other });
      await org.files.write('/memories/rules.md', 'be kind');
    }
    const mounts = [{ at: '/memories/handbook', tenant: 'org' }];
    await using memory = await openMemory({ store, tenant: 'acme', rootKey, names, mounts });
    expect((await memory.files.read('/memories/handbook/rules.md'))?.text()).toBe('be kind');
    const wrong = [{ ...mounts[0], names } as MountOptions];
    await expect(openMemory({ store, tenant: 'acme', rootKey, mounts: wrong })).rejects.toMatchObject({
      details: { reason: 'name_mode' },
    });
  },
);
