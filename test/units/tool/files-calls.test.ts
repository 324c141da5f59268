import { beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { type Claim, createCommandOrder } from '../../../src/tool/command-order.ts';
import { createFiles, type Files } from '../../../src/tool/files.ts';
import type { Tree } from '../../../src/tree/tree.ts';

const A = '/memories/a';
const B = '/memories/b';
const listed = { path: A, size: 3, lastModified: 1_700_000_000_999, etag: 'v1' };
const refused = (code: string) => expect.objectContaining({ name: 'MemoryError', code });

let tree: Record<string, ReturnType<typeof vi.fn>>;
let isClosed: boolean;
let claimed: (readonly Claim[])[];
let files: Files;
const { signal } = new AbortController();
const onProgress = (): void => {};

beforeEach(() => {
  isClosed = false;
  claimed = [];
  tree = {
    read: vi.fn(async () => Uint8Array.of(97)),
    readVersion: vi.fn(async () => ({ content: Uint8Array.of(97), etag: 'v1' })),
    create: vi.fn(async () => 'v2'),
    overwrite: vi.fn(async () => 'v2'),
    replace: vi.fn(async () => 'v2'),
    edit: vi.fn(async () => undefined),
    stat: vi.fn(async () => listed),
    rename: vi.fn(async () => undefined),
    remove: vi.fn(async () => undefined),
    async *walk() {
      yield [listed, { directory: B }];
      yield [{ ...listed, path: '/memories/c' }];
    },
  } as never;
  tree['walk'] = vi.fn(tree['walk']);
  const order = createCommandOrder();
  files = createFiles({
    tree: tree as unknown as Tree,
    order: {
      ...order,
      run(claims, action, aborted) {
        claimed.push(claims);
        return order.run(claims, action, aborted);
      },
    },
    maxFileBytes: 4,
    actor: 'host',
    refuseWhenClosed() {
      if (isClosed) throw new MemoryError('aborted', 'closed');
    },
  });
});

const callsOf = (verb: string): readonly (readonly unknown[])[] => tree[verb]?.mock.calls ?? [];
/** The options of the last call, without the listener by which redactions are noted. */
function optionsOf(verb: string): object {
  const { onRedacted: _, ...options } = Object(callsOf(verb).at(-1)?.at(-1));
  return options;
}

describe('a call of memory.files', () => {
  it('writes by the mode that is asked for, as the actor of the memory where it names none', async () => {
    const written = { path: A, size: 1, version: 'v2' };
    expect(await files.write(A, 'x')).toEqual(written);
    expect(await files.write(A, 'x', { mode: 'create', actor: 'me', signal })).toEqual(written);
    expect(await files.write(A, 'x', { mode: { ifUnchanged: 'v1' }, onProgress })).toEqual(written);
    const content = Uint8Array.of(120);
    expect(callsOf('overwrite').map((args) => args.slice(0, 2))).toEqual([[A, content]]);
    expect(callsOf('create').map((args) => args.slice(0, 2))).toEqual([[A, content]]);
    expect(callsOf('replace').map((args) => args.slice(0, 2))).toEqual([[A, { content, version: 'v1' }]]);
    expect(optionsOf('overwrite')).toEqual({ actor: 'host' });
    expect(optionsOf('create')).toEqual({ actor: 'me', signal });
    expect(optionsOf('replace')).toEqual({ actor: 'host', onProgress });
    await expect(files.write(A, 'x', { mode: 'other' as 'create' })).rejects.toEqual(
      refused('invalid_command'),
    );
  });

  it('tells the size and the rules of what a policy wrote instead', async () => {
    tree['overwrite']?.mockImplementationOnce(async (_path, _content, { onRedacted }) => {
      onRedacted([{ rule: 'email' }, { rule: 'email' }], 9);
      return 'v3';
    });
    const redacted = [{ rule: 'email', findings: 2 }];
    expect(await files.write(A, 'x')).toEqual({ path: A, size: 9, version: 'v3', redacted });
    tree['edit']?.mockImplementationOnce(async (_path, _edit, { onRedacted }) => {
      onRedacted([{ rule: 'email' }, { rule: 'email' }], 9);
    });
    expect(await files.append(A, 'x')).toEqual({ path: A, redacted });
    expect(await files.append(A, 'x')).toEqual({ path: A });
    expect(optionsOf('edit')).toEqual({ actor: 'host' });
  });

  it('reads whole files, with a text only where they are one', async () => {
    const found = await files.read(A, { signal });
    expect(found).toMatchObject({ path: A, size: 1, version: 'v1', bytes: Uint8Array.of(97) });
    expect(found?.text()).toBe('a');
    expect(callsOf('readVersion')).toEqual([[A, { signal }]]);
    tree['readVersion']?.mockResolvedValueOnce({ content: Uint8Array.of(0xff, 0xfe, 0xfd), etag: 'v1' });
    const binary = await files.read(A);
    expect(() => binary?.text()).toThrow(expect.objectContaining({ code: 'not_text', details: { size: 3 } }));
    tree['readVersion']?.mockResolvedValueOnce(undefined);
    expect(await files.read(A)).toBeUndefined();
  });

  it('tells of files to the second, of directories, and of nothing', async () => {
    const file = { type: 'file', path: A, size: 3, version: 'v1', modified: new Date(1_700_000_000_000) };
    expect(await files.stat(A, { signal })).toEqual(file);
    expect(callsOf('stat')).toEqual([[A, { signal }]]);
    tree['stat']?.mockResolvedValueOnce('directory');
    expect(await files.stat(A)).toEqual({ type: 'directory', path: A });
    for (const [found, exists] of [
      [listed, true],
      ['directory', true],
      [undefined, false],
    ] as const) {
      tree['stat']?.mockResolvedValueOnce(found);
      expect(await files.exists(A)).toBe(exists);
    }
    tree['stat']?.mockRejectedValueOnce(new MemoryError('integrity', 'damaged'));
    expect(await files.exists(A)).toBe(true);
    tree['stat']?.mockRejectedValueOnce(new MemoryError('unavailable', 'down'));
    await expect(files.exists(A)).rejects.toEqual(refused('unavailable'));
  });

  it('copies files alone, to a new one unless a replacement is asked for', async () => {
    expect(await files.copy(A, B, { signal })).toEqual({ path: B, size: 1, version: 'v2' });
    expect(callsOf('read')).toEqual([[A, { signal }]]);
    expect(callsOf('create').at(-1)?.slice(0, 2)).toEqual([B, Uint8Array.of(97)]);
    expect(optionsOf('create')).toEqual({ actor: 'host', signal });
    await files.copy(A, B, { mode: 'replace' });
    expect(callsOf('overwrite')).toHaveLength(1);
    await expect(files.copy(A, B, { mode: 'other' as 'create' })).rejects.toEqual(refused('invalid_command'));
    for (const [found, code] of [
      ['directory', 'is_directory'],
      [undefined, 'not_found'],
    ] as const) {
      tree['read']?.mockResolvedValueOnce(undefined);
      tree['stat']?.mockResolvedValueOnce(found);
      await expect(files.copy(A, B)).rejects.toEqual(refused(code));
    }
    expect(callsOf('create')).toHaveLength(1);
  });

  it('renames and removes as the actor, a known version alone where one is named', async () => {
    await files.rename(A, B, { signal });
    expect(callsOf('rename')).toEqual([
      [
        { from: A, to: B },
        { signal, actor: 'host' },
      ],
    ]);
    await files.remove(A, { actor: 'me' });
    await files.remove(A, { ifUnchanged: 'v1' });
    expect(callsOf('remove')).toEqual([
      [A, { actor: 'me', version: undefined }],
      [A, { actor: 'host', version: 'v1' }],
    ]);
    await expect(files.remove(A, { ifUnchanged: '*' })).rejects.toEqual(refused('invalid_command'));
  });

  it('lists page by page, from the root unless told, behind a path only where all below is listed', async () => {
    const drain = async (entries: AsyncIterable<{ readonly path: string; readonly type: string }>) => {
      const seen: string[] = [];
      for await (const { path, type } of entries) seen.push(`${type} ${path}`);
      return seen;
    };
    expect(await drain(files.list())).toEqual([`file ${A}`, `directory ${B}`, 'file /memories/c']);
    await drain(files.list(A, { recursive: true, after: '/memories/a/x', signal }));
    expect(callsOf('walk')).toEqual([
      ['/memories', { after: undefined }],
      [A, { recursive: true, after: '/memories/a/x', signal }],
    ]);
    expect(() => files.list(A, { after: '/memories/a/x' })).toThrow(refused('invalid_command'));
    expect(() => files.list(A, { recursive: true, after: B })).toThrow(refused('invalid_command'));
  });

  it.each<[string, () => unknown]>([
    ['read', () => files.read(A)],
    ['write', () => files.write(A, 'x')],
    ['append', () => files.append(A, 'x')],
    ['stat', () => files.stat(A)],
    ['copy', () => files.copy(A, B)],
    ['rename', () => files.rename(A, B)],
    ['remove', () => files.remove(A)],
    ['list', () => files.list()[Symbol.asyncIterator]().next()],
  ])('is refused once the memory is closed, and asks nothing: %s', async (_, call) => {
    isClosed = true;
    await expect(call()).rejects.toEqual(refused('aborted'));
    for (const verb of ['read', 'readVersion', 'create', 'overwrite', 'edit', 'stat', 'rename', 'remove']) {
      expect(callsOf(verb), verb).toEqual([]);
    }
  });

  it.each<[string, () => unknown, readonly Claim['mode'][]]>([
    ['read', () => files.read(A), ['read']],
    ['stat', () => files.stat(A), ['read']],
    ['exists', () => files.exists(A), ['read']],
    [
      'list',
      () =>
        files
          .list(A as never)
          [Symbol.asyncIterator]()
          .next(),
      ['read'],
    ],
    ['write', () => files.write(A, 'x'), ['write']],
    ['append', () => files.append(A, 'x'), ['edit']],
    ['copy', () => files.copy(A, B), ['read', 'write']],
    ['rename', () => files.rename(A, B), ['write', 'write']],
    ['remove', () => files.remove(A), ['write']],
  ])('takes its place in the order by what it does to its paths: %s', async (_, call, modes) => {
    await call();
    expect(claimed).toEqual([modes.map((mode, index) => ({ path: [A, B][index], mode }))]);
  });

  it('waits for none but those on its path', async () => {
    const gate = Promise.withResolvers<string>();
    tree['overwrite']?.mockReturnValueOnce(gate.promise);
    const writing = files.write(A, 'x');
    const reading = files.read(A);
    expect(await files.read(B)).toBeDefined();
    const aborted = new AbortController();
    const cancelled = files.remove(A, { signal: aborted.signal });
    aborted.abort();
    await expect(cancelled).rejects.toEqual(refused('aborted'));
    expect(callsOf('readVersion').map(([path]) => path)).toEqual([B]);
    gate.resolve('v9');
    expect((await writing).version).toBe('v9');
    await reading;
    expect(callsOf('readVersion').map(([path]) => path)).toEqual([B, A]);
    expect(callsOf('remove')).toEqual([]);
  });
});
