import { describe, expect, it } from 'vitest';
import { directoryPrefix, fileKey, type ObjectKey } from '../../../src/format/object-keys.ts';
import type { MemoryPath } from '../../../src/language/path.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { statPath } from '../../../src/tree/stat-path.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { walkDirectory } from '../../../src/tree/walk-directory.ts';
import { countCalls } from '../../stage/store-wrappers.ts';
import {
  at,
  bytes,
  createSite,
  describeOnBothKinds,
  type TestClient,
  withTenant,
} from '../../stage/test-tree.ts';

type Options = Parameters<typeof walkDirectory>[2];

async function walked(work: Work, directory: string, options: Partial<Options> = {}) {
  const pages: (readonly string[])[] = [];
  for await (const page of walkDirectory(work, at(directory), { recursive: false, ...options })) {
    pages.push(page.map((entry) => ('directory' in entry ? `${entry.directory}/` : entry.path)));
  }
  return pages;
}

async function filled(client: TestClient, names: readonly string[]): Promise<Work> {
  for (const name of names) await client.create(`/memories/${name}`, 'x');
  const work = await client.open();
  client.calls.length = 0;
  return work;
}

describeOnBothKinds('a walk', (newSite) => {
  const NAMES = ['a', 'd/b', 'd/c', 'd/e/f', 'd0', 'g/h', 'z'];

  async function start() {
    const client = await (await newSite()).client({ names: 'plain' });
    return { client, work: await filled(client, NAMES) };
  }

  it('shows the files of a directory, and each of its directories once', async () => {
    const { client, work } = await start();
    const top = ['a', 'd/', 'd0', 'g/', 'z'].map((name) => `/memories/${name}`);
    expect(await walked(work, '/memories')).toEqual([top]);
    expect(await walked(work, '/memories/d')).toEqual([['/memories/d/b', '/memories/d/c', '/memories/d/e/']]);
    expect(countCalls(client.calls)).toEqual({ list: 2 });
  });

  it('shows every file below a directory when it is recursive', async () => {
    const { work } = await start();
    const all = NAMES.map((name) => `/memories/${name}`);
    expect(await walked(work, '/memories', { recursive: true })).toEqual([all]);
    expect(await walked(work, '/memories/d', { recursive: true })).toEqual([
      ['/memories/d/b', '/memories/d/c', '/memories/d/e/f'],
    ]);
  });

  it.each<[string, readonly string[]]>([
    ['/memories/d/b', ['/memories/d/c', '/memories/d/e/f', '/memories/d0', '/memories/g/h', '/memories/z']],
    ['/memories/d/x', ['/memories/d0', '/memories/g/h', '/memories/z']],
    ['/memories/z', []],
  ])('begins behind the place of a file, of one that is gone too: %s', async (after, files) => {
    const { work } = await start();
    const pages = await walked(work, '/memories', { recursive: true, after: at(after) });
    expect(pages.flat()).toEqual(files);
  });

  it('shows nothing of a directory that is missing', async () => {
    const { client, work } = await start();
    expect((await walked(work, '/memories/none')).flat()).toEqual([]);
    expect(client.logged).toEqual([]);
  });

  it.each([false, true])(
    'passes over what no writer of the tenant made, and tells how much (recursive: %s)',
    async (recursive) => {
      const { client, work } = await start();
      await work.tenant.store.put(`${client.layout.data}foreign` as ObjectKey, bytes('x'), {
        mode: 'create',
      });
      const all = (await walked(work, '/memories', { recursive })).flat();
      expect(all).toHaveLength(recursive ? NAMES.length : 5);
      expect(client.logged).toMatchObject([
        { fields: { foreign: 1 }, message: expect.stringContaining('passed over') },
      ]);
    },
  );
});

describe('a walk of many files', () => {
  /** A process whose tenant has a file "a" in plain names, and its bytes once more under each of those names. */
  async function start(names: readonly string[]) {
    const site = await createSite();
    const client = await site.client({ names: 'plain' });
    await client.create('/memories/a', 'x');
    const work = await client.open();
    const keyOf = (name: string) => fileKey(client.layout, work.keyring.names, at(`/memories/${name}`));
    const found = await site.base.get(keyOf('a'));
    if (typeof found !== 'object') throw new Error('there is no file');
    for (const name of names) await site.base.put(keyOf(name), found.body, { mode: 'create' });
    client.calls.length = 0;
    const starts: (string | undefined)[] = [];
    const before = directoryPrefix(client.layout, work.keyring.names, at('/memories')).length;
    const store: ObjectStore = {
      ...work.tenant.store,
      list(options) {
        starts.push(options.startAfter?.slice(before));
        return work.tenant.store.list(options);
      },
    };
    return { client, work: withTenant(work, { store }), starts };
  }
  const many = (directory: string, count: number) =>
    Array.from({ length: count }, (_, i) => `${directory}/${10_000 + i}`);

  it('passes over the rest of a large directory by one LIST', async () => {
    const { client, work, starts } = await start([...many('d', 2_500), 'e']);
    const shown = await walked(work, '/memories');
    expect(shown).toEqual([['/memories/a', '/memories/d/'], ['/memories/e']]);
    expect(starts).toEqual([undefined, 'd0']);
    expect(countCalls(client.calls)).toEqual({ list: 2 });
  });

  it('shows a directory once that fills several pages, and reads them one by one when it is recursive', async () => {
    const { client, work, starts } = await start([...many('d', 2_500), 'e']);
    const pages = await walked(work, '/memories', { recursive: true });
    expect(pages.map((page) => page.length)).toEqual([1_000, 1_000, 502]);
    expect(starts).toEqual([undefined]);
    expect(countCalls(client.calls)).toEqual({ list: 3 });
  });

  it('reads on behind a full page that ends with a file', async () => {
    const names = ['aa/1', ...Array.from({ length: 1_499 }, (_, i) => `b${10_000 + i}`)];
    const { client, work, starts } = await start(names);
    const pages = await walked(work, '/memories');
    expect(pages.map((page) => page.length)).toEqual([1_000, 501]);
    expect(starts).toEqual([undefined]);
    expect(countCalls(client.calls)).toEqual({ list: 2 });
  });

  it('ends with a page that ends within a directory but is not full', async () => {
    const { work, starts } = await start(many('d', 998));
    expect(await walked(work, '/memories')).toEqual([['/memories/a', '/memories/d/']]);
    expect(starts).toEqual([undefined]);
  });

  it('looks behind a directory with which a full page ends', async () => {
    const { work, starts } = await start(many('d', 999));
    expect((await walked(work, '/memories')).flat()).toEqual(['/memories/a', '/memories/d/']);
    expect(starts).toEqual([undefined, 'd0']);
  });
});

describe('the kind of a path', () => {
  async function start() {
    const client = await (await createSite()).client();
    return { client, work: await filled(client, ['a', 'd/b']) };
  }
  const stat = (work: Work, path: MemoryPath | string) => statPath(work, at(path));

  it('of the root is a directory, without a request', async () => {
    const { client, work } = await start();
    expect(await stat(work, '/memories')).toBe('directory');
    expect(client.calls).toEqual([]);
  });

  it('is a file by one HEAD, with its size', async () => {
    const { client, work } = await start();
    expect(await stat(work, '/memories/a')).toMatchObject({ path: '/memories/a', size: 1 });
    expect(countCalls(client.calls)).toEqual({ head: 1 });
  });

  it('is a directory, or nothing, by one LIST more', async () => {
    const { client, work } = await start();
    expect(await stat(work, '/memories/d')).toBe('directory');
    expect(await stat(work, '/memories/none')).toBeUndefined();
    expect(countCalls(client.calls)).toEqual({ head: 2, list: 2 });
  });

  it('is refused for an object whose size no file has', async () => {
    const { work } = await start();
    const found = await stat(work, '/memories/a');
    if (typeof found !== 'object') throw new Error('there is no file');
    await work.tenant.store.put(found.key, bytes('short'), { mode: 'overwrite' });
    await expect(stat(work, '/memories/a')).rejects.toMatchObject({ code: 'integrity' });
  });

  it('ends with the call of its caller', async () => {
    const { work } = await start();
    const call = { signal: AbortSignal.abort() };
    await expect(statPath({ ...work, call }, at('/memories/a'))).rejects.toMatchObject({ code: 'aborted' });
  });
});
