import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { openFolderObjectStore } from '../../../src/store/folder.ts';
import { isFolder } from '../../../src/store/folder-files.ts';
import type { ListOptions, ObjectStore } from '../../../src/store/port.ts';
import { describeObjectStore } from '../../contracts/object-store.ts';
import { writableFolder } from '../../stage/object-folder.ts';

const base = mkdtempSync(join(tmpdir(), 'folder-object-store-'));
afterAll(() => rmSync(base, { recursive: true }));

describeObjectStore(
  'a folder',
  () => {
    const path = join(base, 'contract');
    mkdirSync(path);
    return writableFolder(path);
  },
  { readingOnly: true },
);

describe('openFolderObjectStore', () => {
  let count = 0;
  let folder: string;
  let store: ObjectStore;
  beforeEach(() => {
    folder = join(base, `${count++}`);
    mkdirSync(folder);
    store = openFolderObjectStore({ path: folder });
  });

  const write = (path: string, text = `text of ${path}`): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  it('tells a folder from a file, and from nothing', async () => {
    write('there/file');
    const kinds = ['there', 'there/file', 'absent', 'absent/below'].map((path) =>
      isFolder(folder, path.split('/')),
    );
    expect(await Promise.all(kinds)).toEqual([true, false, false, false]);
  });

  const listed = async (request: Partial<ListOptions> = {}): Promise<readonly string[]> => {
    const names: string[] = [];
    for await (const { objects } of store.list({ prefix: '', ...request })) {
      names.push(...objects.map(({ key }) => key));
    }
    return names;
  };
  const denied = { code: 'access_denied' };

  it('lists files by their paths, and no folder for itself', async () => {
    write('tenants/acme/data/x');
    write('keyrings/acme');
    mkdirSync(join(folder, 'tenants/acme/empty/below'), { recursive: true });
    expect(await listed()).toEqual(['keyrings/acme', 'tenants/acme/data/x']);
    expect(await listed({ prefix: 'none/at/all/' })).toEqual([]);
    expect(await listed({ prefix: 'keyrings/acme/' })).toEqual([]);
  });

  it('starts after a key at any depth', async () => {
    for (const path of ['a/b/c', 'a/b/d', 'a/b-', 'a0', 'b/x']) write(path);
    expect(await listed()).toEqual(['a/b-', 'a/b/c', 'a/b/d', 'a0', 'b/x']);
    expect(await listed({ startAfter: 'a/b/c' })).toEqual(['a/b/d', 'a0', 'b/x']);
    expect(await listed({ startAfter: 'a/b/' })).toEqual(['a/b/c', 'a/b/d', 'a0', 'b/x']);
    expect(await listed({ startAfter: 'a/z' })).toEqual(['a0', 'b/x']);
  });

  it('orders names by the bytes of UTF-8, beyond the basic plane too', async () => {
    const names = ['a', '\u{d7ff}', '\u{e000}', '\u{ffff}', '\u{10000}', '\u{103ff}', '\u{10ffff}'];
    for (const name of [...names].reverse()) write(name);
    expect(await listed()).toEqual(names);
    expect(await listed({ startAfter: '\u{ffff}' })).toEqual(names.slice(4));
  });

  it('leaves out what went while it was listed', async () => {
    for (const path of ['a', 'b', 'c/d', 'e']) write(path);
    const pages = store.list({ prefix: '', maxKeys: 1 })[Symbol.asyncIterator]();
    const [first, second] = [await pages.next(), pages];
    expect(first.value?.objects).toMatchObject([{ key: 'a' }]);
    for (const name of ['c', 'e']) rmSync(join(folder, name), { recursive: true });
    const rest: string[] = [];
    for await (const { objects } of { [Symbol.asyncIterator]: () => second })
      rest.push(...objects.map(({ key }) => key));
    expect(rest).toEqual(['b']);
  });

  it.each([
    ['a file', 'c'],
    ['a folder', 'c/'],
  ])('ends a listing for a caller that cancels before %s', async (_, next) => {
    for (const path of ['a', 'b']) write(path);
    if (next.endsWith('/')) mkdirSync(join(folder, next));
    else write(next);
    const call = new AbortController();
    const pages = store.list({ prefix: '', maxKeys: 1, signal: call.signal })[Symbol.asyncIterator]();
    expect((await pages.next()).value?.objects).toMatchObject([{ key: 'a' }]);
    call.abort();
    await expect(pages.next()).rejects.toMatchObject({ code: 'aborted' });
  });

  it('reads no folder before its turn', async () => {
    write('a/1');
    write('b/1');
    const pages = store.list({ prefix: '', maxKeys: 1 })[Symbol.asyncIterator]();
    write('b/2');
    expect((await pages.next()).value?.objects.map(({ key }: { key: string }) => key)).toEqual(['a/1']);
    write('b/3');
    const rest: string[] = [];
    for (let page = await pages.next(); !page.done; page = await pages.next()) {
      rest.push(...page.value.objects.map(({ key }) => key));
    }
    expect(rest).toEqual(['b/1', 'b/2']);
  });

  it('finds nothing under keys that are no paths below it', async () => {
    write('a/b');
    writeFileSync(join(base, 'outside'), 'outside');
    const keys = ['../outside', 'a/../a/b', './a/b', 'a//b', '/a/b', 'a/b/', 'a', 'a/b/c', '', 'a\0b'];
    for (const key of [...keys, 'x'.repeat(300), join(base, 'outside')]) {
      expect(await store.get(key as ObjectKey), key).toBeUndefined();
      expect(await store.head(key as ObjectKey), key).toBeUndefined();
    }
    expect(await listed({ prefix: '../' })).toEqual([]);
    expect(await listed({ prefix: 'a/../a/' })).toEqual([]);
  });

  it('lists links and special files, and neither follows nor opens them', async () => {
    const outside = join(base, 'secret');
    mkdirSync(outside, { recursive: true });
    writeFileSync(join(outside, 'file'), 'outside');
    write('data/whole');
    symlinkSync(join(outside, 'file'), join(folder, 'data/link'));
    symlinkSync(outside, join(folder, 'data/folder-link'));
    symlinkSync('nowhere', join(folder, 'data/dangling'));
    const socket = createServer().listen(join(folder, 'data/socket'));
    await once(socket, 'listening');
    const odd = ['data/dangling', 'data/folder-link', 'data/link', 'data/socket'];
    expect(await listed()).toEqual([...odd, 'data/whole']);
    for (const key of [...odd, 'data/folder-link/file']) {
      await expect(store.get(key as ObjectKey), key).rejects.toMatchObject(denied);
      await expect(store.head(key as ObjectKey), key).rejects.toMatchObject(denied);
    }
    await expect(listed({ prefix: 'data/folder-link/' })).rejects.toMatchObject(denied);
    expect(await store.get('data/whole' as ObjectKey)).toMatchObject({ size: 18 });
    socket.close();
  });

  it('may itself be named through a link', async () => {
    write('a');
    const link = join(base, `link-${count}`);
    symlinkSync(folder, link);
    store = openFolderObjectStore({ path: link });
    expect(await listed()).toEqual(['a']);
    expect(await store.get('a' as ObjectKey)).toMatchObject({ size: 9 });
  });

  it('names a version by five facts of its file', async () => {
    write('a');
    expect((await store.head('a' as ObjectKey))?.etag).toMatch(/^"[0-9a-z]+(-[0-9a-z]+){4}"$/);
  });

  it('tells a file that took the place of another apart from it', async () => {
    write('a', 'same');
    const before = await store.head('a' as ObjectKey);
    write('b', 'same');
    renameSync(join(folder, 'b'), join(folder, 'a'));
    expect((await store.head('a' as ObjectKey))?.etag).not.toBe(before?.etag);
  });

  it('does not hand out a file that was written while it was read', async () => {
    write('a', 'x'.repeat(1_000));
    let asked = 0;
    // Asked between the look at the file and the reading of it.
    const signal = {
      get aborted() {
        if (++asked === 2) write('a', 'y'.repeat(1_000));
        return false;
      },
    } as AbortSignal;
    await expect(store.get('a' as ObjectKey, { signal })).rejects.toMatchObject({ code: 'unavailable' });
    expect(await store.get('a' as ObjectKey)).toMatchObject({ size: 1_000 });
  });

  it('writes and deletes nothing', async () => {
    write('a');
    const refused = { code: 'read_only' };
    const body = new Uint8Array(1);
    await expect(store.put('a' as ObjectKey, body, { mode: 'overwrite' })).rejects.toMatchObject(refused);
    await expect(store.delete([{ key: 'a' as ObjectKey }])).rejects.toMatchObject(refused);
    expect(await listed()).toEqual(['a']);
  });

  it('says when the folder is not there', async () => {
    write('file');
    const failing = openFolderObjectStore({ path: join(folder, 'none') }).head('a' as ObjectKey);
    await expect(failing).rejects.toMatchObject({ cause: { code: 'ENOENT' } });
    for (const path of [join(folder, 'none'), join(folder, 'file')]) {
      const missing = openFolderObjectStore({ path });
      await expect(missing.get('a' as ObjectKey)).rejects.toMatchObject({ code: 'misconfigured' });
      await expect(missing.head('a' as ObjectKey)).rejects.toMatchObject({ code: 'misconfigured' });
    }
  });
});
