import { describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { parseMemoryPath } from '../../../src/language/path.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { countBytes, countFor, countRequests, createCounts } from '../../../src/tool/call-counts.ts';
import type { Tree } from '../../../src/tree/tree.ts';

const key = 'a' as ObjectKey;
const path = parseMemoryPath('/memories/a');
const bytes = (length: number) => new Uint8Array(length);

describe('the requests of a call', () => {
  it('are counted by their kind, for it and for the call around it, and for no other', async () => {
    await using base = openSqliteObjectStore({ path: ':memory:' });
    const store = countRequests(base);
    const [outer, inner] = [createCounts(), createCounts()];
    await countFor(outer, async () => {
      await store.put(key, bytes(1), { mode: 'create' });
      await countFor(inner, async () => {
        await store.get(key);
        await store.get(key);
        await store.head(key);
      });
      await store.delete([{ key }]);
    });
    await store.get(key);
    expect(inner.requests).toEqual({ get: 2, head: 1 });
    expect(outer.requests).toEqual({ put: 1, get: 2, head: 1, delete: 1 });
    expect(createCounts()).toEqual({ bytesRead: 0, bytesWritten: 0, requests: {} });
  });

  it('are those that a change of many objects replaces, and a page of a list each', async () => {
    const changeAll = vi.fn(async () => ({ done: true }));
    const closed = vi.fn(async () => {});
    const base = {
      get() {},
      head() {},
      put() {},
      delete() {},
      changeAll,
      async *list() {
        yield { objects: [] };
        yield { objects: [] };
      },
      [Symbol.asyncDispose]: closed,
    } as unknown as ObjectStore;
    const store = countRequests(base);
    const [counts, listed] = [createCounts(), createCounts()];
    const put = { key, body: bytes(1) } as never;
    await countFor(counts, async () => {
      const options = {};
      const changes = { puts: [put, put], deletes: [] };
      expect(await store.changeAll?.(changes, options)).toEqual({ done: true });
      expect(changeAll).toHaveBeenLastCalledWith(changes, options);
      expect(counts.requests).toEqual({ put: 2 });
      await store.changeAll?.({ puts: [], deletes: [{ key }, { key }] as never }, options);
    });
    expect(counts.requests).toEqual({ put: 2, delete: 1 });
    await countFor(listed, async () => {
      for await (const _ of store.list({ prefix: '' }));
    });
    expect(listed.requests).toEqual({ list: 2 });
    await store[Symbol.asyncDispose]();
    expect(closed).toHaveBeenCalledTimes(1);
    expect('changeAll' in countRequests({ ...base, changeAll: undefined } as unknown as ObjectStore)).toBe(
      false,
    );
  });
});

describe('the bytes of a call', () => {
  /** A tree whose policy writes `size` bytes instead, where that is given. */
  function treeOf(size?: number) {
    const seen: unknown[] = [];
    const write = async (...args: readonly unknown[]) => {
      const options = args.at(-1) as Parameters<Tree['create']>[2];
      seen.push(args);
      if (size !== undefined) options?.onRedacted?.([], size);
      return 'etag';
    };
    const tree = {
      read: async () => bytes(3),
      readVersion: async () => ({ content: bytes(4), etag: 'etag' }),
      create: write,
      overwrite: write,
      replace: write,
      async edit(at: unknown, edit: (content: Uint8Array) => unknown, options: unknown) {
        edit(bytes(9));
        edit(bytes(5));
        return write(at, options);
      },
      wasDirectory: () => true,
    } as unknown as Tree;
    return { tree: countBytes(tree), seen };
  }
  const edit = (content: Uint8Array) => ({ content: bytes(content.length + 1), result: 'result' });
  const actor = { actor: 'me' };

  it('are those of files that were read', async () => {
    const { tree } = treeOf();
    const counts = createCounts();
    await countFor(counts, async () => {
      expect(await tree.read(path)).toHaveLength(3);
      expect((await tree.readVersion(path))?.content).toHaveLength(4);
    });
    expect(counts).toEqual({ bytesRead: 7, bytesWritten: 0, requests: {} });
  });

  it('are none for a file that is missing', async () => {
    const none = countBytes({
      read: async () => undefined,
      readVersion: async () => undefined,
    } as unknown as Tree);
    const counts = createCounts();
    await countFor(counts, async () => {
      expect(await none.read(path)).toBeUndefined();
      expect(await none.readVersion(path)).toBeUndefined();
    });
    expect(counts.bytesRead).toBe(0);
  });

  const WRITES: readonly (readonly [string, number, (tree: Tree) => Promise<unknown>])[] = [
    ['create', 6, (tree) => tree.create(path, bytes(6), actor)],
    ['overwrite', 7, (tree) => tree.overwrite(path, bytes(7), actor)],
    ['replace', 8, (tree) => tree.replace(path, { content: bytes(8), version: 'v' as never }, actor)],
    ['edit', 6, (tree) => tree.edit(path, edit, actor)],
  ];

  it.each(WRITES)(
    'are those that are written by %s, be they more or fewer after redaction',
    async (verb, size, write) => {
      for (const redacted of [undefined, 0, 99]) {
        const { tree, seen } = treeOf(redacted);
        const counts = createCounts();
        expect(await countFor(counts, () => write(tree))).toBe('etag');
        expect(counts.bytesWritten).toBe(redacted ?? size);
        expect(counts.bytesRead).toBe(verb === 'edit' ? 5 : 0);
        expect(seen).toEqual([expect.arrayContaining([path, expect.objectContaining(actor)])]);
      }
    },
  );

  it.each(WRITES)('are of nobody where no call is counted: %s', async (_, __, write) => {
    const { tree } = treeOf(3);
    expect(await write(tree)).toBe('etag');
    expect(await tree.read(path)).toHaveLength(3);
    expect((await tree.readVersion(path))?.content).toHaveLength(4);
  });

  it('are told after redaction to who listens, too, and other verbs are passed on', async () => {
    const { tree } = treeOf(2);
    const onRedacted = vi.fn();
    await tree.create(path, bytes(6), { onRedacted });
    expect(onRedacted.mock.calls).toEqual([[[], 2]]);
    await tree.create(path, bytes(6));
    await tree.edit(path, edit);
    expect(tree.wasDirectory(path)).toBe(true);
  });
});
