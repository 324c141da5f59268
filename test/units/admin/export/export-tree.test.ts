import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type ExportReport, exportTree } from '../../../../src/admin/export/export-tree.ts';
import type { NameMode } from '../../../../src/format/names.ts';
import { fileKey } from '../../../../src/format/object-keys.ts';
import { TOMBSTONE_BYTES } from '../../../../src/format/sizes.ts';
import { createTombstone } from '../../../../src/format/tombstone.ts';
import { openTenant } from '../../../../src/open/open-memory.ts';
import { openFolderObjectStore } from '../../../../src/store/folder.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import type { CallOptions } from '../../../../src/tree/tenant.ts';
import { copyToFolder, digestOf, textsIn } from '../../../stage/object-folder.ts';
import { interceptStore } from '../../../stage/store-wrappers.ts';
import { at, bytes, openSite, type TestClient } from '../../../stage/test-tree.ts';

const ROOT_KEY = Buffer.alloc(32, 7).toString('base64');
const MODES: readonly NameMode[] = ['encrypted', 'plain'];
const FILES: Readonly<Record<string, string>> = {
  'a.md': 'text of a',
  empty: '',
  'notes/b.md': 'text of b',
  'notes/c.md': 'text of c',
  'notes/Größe 日本/👩\u200d💻 %41 ?"<>:.md': 'names of every kind',
  [`${'d/'.repeat(19)}deep`]: 'deep',
};

describe.each(MODES)('exportTree of a memory with %s names', (names) => {
  const base = mkdtempSync(join(tmpdir(), 'export-'));
  afterAll(() => rmSync(base, { recursive: true }));
  let count = 0;
  let home: string;
  let backup: string;
  let to: string;
  let keys: Readonly<Record<string, string>>;

  beforeEach(async () => {
    home = join(base, `${count++}`);
    mkdirSync(home);
    [backup, to] = [join(home, 'backup'), join(home, 'exported')];
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const { parts, close } = await openTenant({ store, tenant: 'acme', rootKey: ROOT_KEY, names });
    for (const [path, text] of Object.entries(FILES)) {
      await parts.tree.create(at(`/memories/${path}`), bytes(text));
    }
    const loaded = await parts.context.keyrings.load();
    if (loaded === undefined) throw new Error('there is no keyring');
    keys = Object.fromEntries(
      Object.keys(FILES).map((path) => [
        path,
        fileKey(parts.context.layout, loaded.names, at(`/memories/${path}`)),
      ]),
    );
    await copyToFolder(store, backup);
    await close();
  });

  async function exported(
    options: CallOptions & {
      readonly store?: ObjectStore;
      readonly rootKey?: string;
      readonly fileBytes?: number;
      readonly tenant?: string;
    } = {},
  ): Promise<ExportReport> {
    const {
      store = openFolderObjectStore({ path: backup }),
      rootKey = ROOT_KEY,
      tenant = 'acme',
      fileBytes,
      ...verb
    } = options;
    const { parts, close } = await openTenant({ store, tenant, rootKey, limits: { fileBytes } });
    try {
      return await exportTree(parts.context, { to, ...verb });
    } finally {
      await close();
    }
  }

  /** Answers the place of a file's object in the backup. */
  const placeOf = (path: string): string => join(backup, keys[path] ?? '');
  const without = (...paths: readonly string[]): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(FILES).filter(([path]) => !paths.includes(path)));

  it('writes every file, with its content and time, and nothing to the source', async () => {
    const before = await digestOf(backup);
    const seen: number[] = [];
    const report = await exported({ onProgress: ({ done, total }) => seen.push(done, total) });
    const total = Object.keys(FILES).length;
    const size = Object.values(FILES).reduce((sum, text) => sum + bytes(text).length, 0);
    expect(report).toEqual({ files: total, bytes: size, findings: [] });
    expect(await textsIn(to)).toEqual(FILES);
    expect(Math.abs(statSync(join(to, 'a.md')).mtimeMs - Date.now())).toBeLessThan(60_000);
    expect(seen.slice(-2)).toEqual([total, total]);
    expect(await digestOf(backup)).toBe(before);
    expect(readdirSync(home)).toEqual(['backup', 'exported']);
  });

  it('exports the rest when objects are damaged, cut short, swapped or foreign', async () => {
    const damaged = readFileSync(placeOf('a.md'));
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
    writeFileSync(placeOf('a.md'), damaged);
    writeFileSync(placeOf('empty'), readFileSync(placeOf('empty')).subarray(0, 40));
    const [b, c] = [readFileSync(placeOf('notes/b.md')), readFileSync(placeOf('notes/c.md'))];
    writeFileSync(placeOf('notes/b.md'), c);
    writeFileSync(placeOf('notes/c.md'), b);
    writeFileSync(join(backup, 'tenants/acme/data/.'.concat('\u200b')), 'x');
    const { files, findings } = await exported();
    expect(findings).toEqual([
      { kind: 'damaged', path: '/memories/a.md' },
      { kind: 'damaged', path: '/memories/empty' },
      { kind: 'damaged', path: '/memories/notes/b.md' },
      { kind: 'damaged', path: '/memories/notes/c.md' },
      { kind: 'foreign', objects: 1 },
    ]);
    expect(files).toBe(2);
    expect(await textsIn(to)).toEqual(without('a.md', 'empty', 'notes/b.md', 'notes/c.md'));
  });

  it('passes over the mark of a deletion that was under way', async () => {
    writeFileSync(
      placeOf('empty'),
      createTombstone((length) => new Uint8Array(length).fill(1)),
    );
    expect(await exported()).toMatchObject({ files: 5, findings: [] });
    expect(await textsIn(to)).toEqual(without('empty'));
  });

  it('says which files are too large for the limit', async () => {
    expect((await exported({ fileBytes: 10 })).findings).toEqual([
      { kind: 'too_large', path: `/memories/${Object.keys(FILES)[4]}` },
    ]);
  });

  it('follows no link in the source', async () => {
    const outside = join(home, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'b'), readFileSync(placeOf('notes/b.md')));
    unlinkSync(placeOf('notes/b.md'));
    symlinkSync(join(outside, 'b'), placeOf('notes/b.md'));
    expect((await exported()).findings).toEqual([{ kind: 'unreadable', path: '/memories/notes/b.md' }]);
    expect(await textsIn(to)).toEqual(without('notes/b.md'));
    rmSync(to, { recursive: true });

    const data = join(backup, 'tenants/acme/data');
    rmSync(data, { recursive: true });
    symlinkSync(outside, data);
    await expect(exported()).rejects.toMatchObject({ code: 'access_denied' });
    expect(existsSync(to)).toBe(false);
  });

  it('exports what lies below a file and names the file', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const { parts, close } = await openTenant({ store, tenant: 'acme', rootKey: ROOT_KEY, names });
    await parts.tree.create(at('/memories/x/y'), bytes('below'));
    const work = await parts.context.keyrings.load();
    if (work === undefined) throw new Error('there is no keyring');
    const key = fileKey(parts.context.layout, work.names, at('/memories/x'));
    await store.put(key, new Uint8Array(200), { mode: 'create' });
    expect(await exported({ store })).toMatchObject({
      files: 1,
      findings: [{ kind: 'clash', path: '/memories/x' }],
    });
    expect(await textsIn(to)).toEqual({ 'x/y': 'below' });
    await close();
  });

  it('names a file that went away meanwhile, also one of the size of the mark of a deletion', async () => {
    writeFileSync(placeOf('empty'), new Uint8Array(TOMBSTONE_BYTES));
    const store = interceptStore(openFolderObjectStore({ path: backup }), async (call, proceed) => {
      for (const path of ['a.md', 'empty'])
        if (call.verb === 'get' && call.key === keys[path]) rmSync(placeOf(path), { force: true });
      return proceed();
    });
    expect((await exported({ store })).findings).toEqual([
      { kind: 'vanished', path: '/memories/a.md' },
      { kind: 'vanished', path: '/memories/empty' },
    ]);
  });

  it('needs the keyring and the root key of the tenant, and says which is missing', async () => {
    const wrong = { rootKey: Buffer.alloc(32, 8).toString('base64') };
    await expect(exported(wrong)).rejects.toMatchObject({ code: 'key_unavailable' });
    await expect(exported({ tenant: 'other' })).rejects.toMatchObject({
      code: 'key_unavailable',
      message: expect.stringContaining('keyrings/<tenant>'),
    });
    unlinkSync(join(backup, 'keyrings/acme'));
    await expect(exported()).rejects.toMatchObject({
      code: 'key_unavailable',
      message: expect.stringContaining('keyrings/<tenant>'),
    });
    writeFileSync(join(backup, 'keyrings/acme'), new Uint8Array(20_000));
    await expect(exported()).rejects.toMatchObject({ code: 'integrity' });
    expect(readdirSync(home)).toEqual(['backup']);
  });

  it("opens nothing with another tenant's keyring", async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const { parts, close } = await openTenant({ store, tenant: 'acme', rootKey: ROOT_KEY, names });
    await parts.tree.create(at('/memories/theirs'), bytes('theirs'));
    await close();
    const theirs = join(home, 'theirs');
    await copyToFolder(store, theirs);
    writeFileSync(join(backup, 'keyrings/acme'), readFileSync(join(theirs, 'keyrings/acme')));
    const { files, findings } = await exported();
    expect(files).toBe(0);
    expect(findings.map(({ kind }) => kind)).toEqual(
      names === 'plain' ? Array.from({ length: 6 }, () => 'damaged') : ['foreign'],
    );
    expect(await textsIn(to)).toEqual({});
  });

  it('exports into no folder that holds anything', async () => {
    mkdirSync(to);
    writeFileSync(join(to, 'mine'), 'mine');
    await expect(exported()).rejects.toMatchObject({ code: 'misconfigured' });
    expect(await textsIn(to)).toEqual({ mine: 'mine' });
    expect(readdirSync(home)).toEqual(['backup', 'exported']);
  });

  it('leaves nothing behind when its caller cancels it with the last file', async () => {
    const cancelling = new AbortController();
    const onProgress = ({ done, total }: { readonly done: number; readonly total: number }): void => {
      if (done === total) cancelling.abort();
    };
    await expect(exported({ signal: cancelling.signal, onProgress })).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(readdirSync(home)).toEqual(['backup']);
  });

  it('leaves nothing behind when it is cancelled or the source fails', async () => {
    const caller = new AbortController();
    const onProgress = ({ done }: { readonly done: number }) => done === 3 && caller.abort();
    await expect(exported({ signal: caller.signal, onProgress })).rejects.toMatchObject({ code: 'aborted' });
    expect(readdirSync(home)).toEqual(['backup']);
    const failing = interceptStore(openFolderObjectStore({ path: backup }), (call, proceed) =>
      call.verb === 'get' && call.key === keys['a.md']
        ? Promise.reject(new Error('the disk is gone'))
        : proceed(),
    );
    await expect(exported({ store: failing })).rejects.toThrow('the disk is gone');
    expect(readdirSync(home)).toEqual(['backup']);
  });
});

describe('exportTree beside another process', () => {
  /** Exports while the writer acts behind the first listing; what was written, by its path below the folder. */
  async function exportedBeside(act: (writer: TestClient) => Promise<unknown>) {
    const site = await openSite();
    const writer = await site.client();
    await writer.create('/memories/a', 'one');
    await writer.create('/memories/b', 'two');
    const { tenant, layout, intercept } = await site.client();
    let hasActed = false;
    intercept(async (call, proceed) => {
      const answer = await proceed();
      if (!hasActed && call.verb === 'list' && call.prefix === layout.data) {
        hasActed = true;
        await act(writer);
      }
      return answer;
    });
    const files: Record<string, string> = {};
    const { findings } = await exportTree(tenant, { to: '' }, async () => ({
      async write({ segments, content }) {
        files[segments.join('/')] = new TextDecoder().decode(content);
        return undefined;
      },
      finish: async () => {},
      abandon: async () => {},
    }));
    expect(hasActed).toBe(true);
    return { files, findings };
  }

  it('has a file that is renamed meanwhile, and the one that takes its place', async () => {
    const beside = await exportedBeside(async (writer) => {
      await writer.rename('/memories/a', '/memories/c');
      await writer.create('/memories/a', 'three');
    });
    expect(beside).toEqual({ files: { a: 'three', b: 'two', c: 'one' }, findings: [] });
  });

  it('names the path that a file has left, and has the file', async () => {
    const beside = await exportedBeside((writer) => writer.rename('/memories/a', '/memories/c'));
    expect(beside).toEqual({
      files: { b: 'two', c: 'one' },
      findings: [{ kind: 'vanished', path: '/memories/a' }],
    });
  });
});
