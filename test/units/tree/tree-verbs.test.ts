import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { HistorySaver, Tenant } from '../../../src/tree/tenant.ts';
import type { Touch } from '../../../src/tree/touches.ts';
import { versionName } from '../../../src/tree/touches.ts';
import { createTree, type Tree } from '../../../src/tree/tree.ts';
import { putUnchecked } from '../../stage/rare-writes.ts';
import { countCalls, noAnswer } from '../../stage/store-wrappers.ts';
import { at, bytes, type ClientOptions, createSite } from '../../stage/test-tree.ts';

const [ROOT, A, B, D, DEEP] = [
  at('/memories'),
  at('/memories/a'),
  at('/memories/d/b'),
  at('/memories/d'),
  at(`/memories/${Array.from({ length: 21 }, () => 'd').join('/')}`),
];
const TOO_DEEP = { code: 'invalid_path', details: { rule: 'too_many_segments' } };
const AT_ROOT = { code: 'invalid_command', details: { reason: 'root' } };

/** A process with a file of its own and one in a directory, and trees of it that differ in a few things. */
async function start(options: ClientOptions = {}) {
  const site = await createSite();
  const client = await site.client(options);
  for (const path of [A, B]) await client.create(path, 'text');
  const etag = (await client.tree.readVersion(A))?.etag;
  if (etag === undefined) throw new Error('there is no file');
  client.calls.length = 0;
  const treeWith = (changes: Partial<Tenant>): Tree => createTree({ ...client.tenant, ...changes });
  return { site, client, tree: client.tree, etag, treeWith };
}

type Writing = (tree: Tree, etag: Awaited<ReturnType<typeof start>>['etag']) => Promise<unknown>;

const WRITES: readonly (readonly [verb: string, write: Writing])[] = [
  ['create', (tree) => tree.create(at('/memories/new'), bytes('x'))],
  ['overwrite', (tree) => tree.overwrite(A, bytes('x'))],
  ['replace', (tree, version) => tree.replace(A, { content: bytes('x'), version })],
  ['edit', (tree) => tree.edit(A, () => ({ content: bytes('x'), result: undefined }))],
  ['rename', (tree) => tree.rename({ from: A, to: at('/memories/c') })],
  ['remove', (tree) => tree.remove(A)],
];

describe('the verbs of a tree', () => {
  it.each(WRITES)('refuse to change a memory that was opened for reading: %s', async (_, write) => {
    const { client, treeWith, etag } = await start();
    await expect(write(treeWith({ readOnly: true }), etag)).rejects.toMatchObject({ code: 'read_only' });
    expect(client.calls).toEqual([]);
  });

  it.each([
    [false, [A], { get: 2 }],
    [true, [], { get: 1 }],
  ])(
    'note and finish nothing where they read a memory that is read only: %j',
    async (readOnly, noted, cost) => {
      const { client, treeWith } = await start();
      const recorded: unknown[] = [];
      const accessRecords = { record: async (_: unknown, path: unknown) => void recorded.push(path) };
      const tree = treeWith({ readOnly, accessRecords });
      expect(await tree.read(A)).toEqual(bytes('text'));
      expect([recorded, countCalls(client.calls)]).toEqual([noted, cost]);
      expect(await tree.read(at('/memories/none'))).toBeUndefined();
      expect(recorded).toEqual(noted);
    },
  );

  it('read nothing, and ask nothing, at the root', async () => {
    const { client, tree } = await start();
    expect([await tree.read(ROOT), await tree.stat(ROOT), tree.isAlwaysDirectory(ROOT)]).toEqual([
      undefined,
      'directory',
      true,
    ]);
    expect([client.calls, tree.isAlwaysDirectory(D)]).toEqual([[], false]);
  });

  it.each<readonly [string, Writing]>([
    ['create', (tree) => tree.create(ROOT, bytes('x'))],
    ['overwrite', (tree) => tree.overwrite(ROOT, bytes('x'))],
    ['replace', (tree, version) => tree.replace(ROOT, { content: bytes('x'), version })],
    ['remove', (tree) => tree.remove(ROOT)],
    ['rename', (tree) => tree.rename({ from: ROOT, to: A })],
  ])('refuse to change the root itself, before all else: %s', async (_, write) => {
    const { client, treeWith, etag } = await start();
    await expect(write(treeWith({ readOnly: true }), etag)).rejects.toMatchObject(AT_ROOT);
    expect(client.calls).toEqual([]);
  });

  it.each<readonly [string, Writing]>([
    ['create', (tree) => tree.create(DEEP, bytes('x'))],
    ['edit', (tree) => tree.edit(DEEP, () => ({ content: bytes('x'), result: undefined }))],
    ['remove', (tree) => tree.remove(DEEP)],
    ['list', (tree) => tree.list(DEEP)],
  ])('refuse a path that is too deep for the file which is not there: %s', async (_, verb) => {
    const { tree, etag } = await start();
    await expect(verb(tree, etag)).rejects.toMatchObject(TOO_DEEP);
  });

  it('pass on what else is wrong with a path that is too deep', async () => {
    const { client, tree } = await start();
    client.intercept(() => Promise.reject(new MemoryError('unavailable', 'down')));
    await expect(tree.remove(DEEP)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('find files, directories and their entries', async () => {
    const { tree, site } = await start();
    expect(await tree.stat(A)).toMatchObject({ path: A, size: 4 });
    expect([await tree.stat(D), await tree.stat(at('/memories/none'))]).toEqual(['directory', undefined]);
    const walk = async (of: Tree, options?: Parameters<Tree['walk']>[1]): Promise<readonly string[]> => {
      const found: string[] = [];
      for await (const entries of of.walk(ROOT, options))
        for (const entry of entries) found.push('directory' in entry ? `${entry.directory}/` : entry.path);
      return found;
    };
    const walked = async (...call: Parameters<typeof walk>) => (await walk(...call)).toSorted();
    expect(await walked(tree)).toEqual([A, `${D}/`]);
    expect(await walked(tree, { recursive: true })).toEqual([A, B]);
    const [first, second] = await walk(tree, { recursive: true });
    expect(await walk(tree, { recursive: true, after: at(first ?? '') })).toEqual([second]);
    const empty = await site.client({ tenant: 'empty' });
    expect(await walked(empty.tree)).toEqual([]);
    expect(await empty.tree.list(ROOT)).toEqual({ files: [], foreign: 0, truncated: false });
  });

  it('list no more files than they are asked for', async () => {
    const { tree } = await start();
    expect(await tree.list(ROOT, { maxFiles: 1 })).toMatchObject({ files: { length: 1 }, truncated: true });
  });

  it('know where a listing saw directories, of a thousand files at most', async () => {
    const { client, tree } = await start();
    const seen = () => [ROOT, D, at('/memories/e')].map((path) => tree.wasDirectory(path));
    expect(seen()).toEqual([false, false, false]);
    for (let n = 0; n < 998; n++) await putUnchecked(client, `/memories/e/${n}`);
    await tree.list(ROOT);
    expect(seen()).toEqual([true, true, true]);
    await tree.remove(at('/memories/d/b'));
    await tree.list(D);
    expect(seen()).toEqual([true, false, true]);
    for (const name of ['d/b', 'd/c']) await client.create(`/memories/${name}`, '');
    await tree.list(ROOT);
    expect(seen()).toEqual([true, false, true]);
  });

  it('tell what they touched once it is certain, and nothing of what failed', async () => {
    const { tree, etag } = await start();
    const touched: Touch[] = [];
    const options = { onTouch: (touch: Touch) => void touched.push(touch) };
    const read = await tree.readVersion(A, options);
    const version = read && versionName(read);
    const to = at('/memories/c');
    await tree.rename({ from: A, to }, options);
    await tree.remove(to, options);
    const failing = [
      tree.readVersion(A, options),
      tree.rename({ from: A, to }, options),
      tree.remove(to, options),
    ];
    await Promise.allSettled(failing);
    expect(touched).toEqual([
      { kind: 'read', path: A, version },
      { kind: 'renamed', path: A, to },
      { kind: 'deleted', path: to },
    ]);
    expect(etag).toBe(read?.etag);
  });

  it('call a read unavailable whose notes may have been written or not', async () => {
    const { treeWith } = await start();
    for (const [error, code] of [
      [noAnswer(), 'unavailable'],
      [new MemoryError('access_denied', 'no'), 'access_denied'],
    ] as const) {
      const tree = treeWith({ accessRecords: { record: () => Promise.reject(error) } });
      await expect(tree.read(A)).rejects.toMatchObject(
        code === error.code ? { code } : { code, cause: error },
      );
    }
  });
});

describe('the policy and the limits of a tenant', () => {
  it.each([
    [{}, 1],
    [{ wasAdmitted: true }, 0],
  ])('judge what replaces a version, unless it was judged before: %j', async (options, asked) => {
    const { treeWith, etag } = await start();
    const judged: string[] = [];
    const policy = ({ path }: { readonly path: string }) => {
      judged.push(path);
      return { redact: bytes('***'), findings: [{ rule: 'r' }] };
    };
    const tree = treeWith({ policy });
    await tree.replace(A, { content: bytes('new'), version: etag }, options);
    expect(judged).toHaveLength(asked);
    expect(await tree.read(A)).toEqual(bytes(asked === 1 ? '***' : 'new'));
  });

  it('judge a new name before a request is sent', async () => {
    const { client, treeWith } = await start();
    const tree = treeWith({ policy: ({ path }) => ({ refuse: [{ rule: path }] }) });
    await expect(tree.rename({ from: A, to: at('/memories/c') })).rejects.toMatchObject({
      code: 'policy_refused',
      details: { rules: ['/memories/c'] },
    });
    expect(client.calls).toEqual([]);
  });

  it('refuse the first file of a tenant whose limits it exceeds, and create no keyring for it', async () => {
    const site = await createSite();
    const client = await site.client({ limits: { tenantBytes: 3 } });
    const beyond = { code: 'limit_exceeded', details: { limit: 'tenant_bytes', value: 4, max: 3 } };
    await expect(client.create(A, 'text')).rejects.toMatchObject(beyond);
    expect(await site.base.head(client.layout.keyring)).toBeUndefined();
    await client.create(A, 'tex');
    await expect(client.create(B, 'text')).rejects.toMatchObject({
      details: { limit: 'tenant_bytes', value: 7 },
    });
  });
});

describe('what saves versions', () => {
  it.each(WRITES.filter(([verb]) => verb !== 'rename'))(
    'learns who writes before the request that writes, and that it deletes: %s',
    async (verb, write) => {
      const { client, treeWith, etag } = await start({ keepsHistory: true });
      const named: unknown[] = [];
      const saver = await client.tenant.loadSaver();
      const nameActor: HistorySaver['nameActor'] = async (_, before) => {
        named.push([before, client.calls.some((call) => call.verb === 'put' || call.verb === 'delete')]);
      };
      await write(treeWith({ loadSaver: async () => ({ ...saver, nameActor }) }), etag);
      expect(named).toEqual([[verb === 'remove' ? 'delete' : undefined, false]]);
    },
  );
});
