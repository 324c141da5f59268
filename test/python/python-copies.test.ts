import { mkdtempSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { NameMode } from '../../src/format/names.ts';
import { open, rebind } from '../../src/format/object.ts';
import type { LogicalName, ObjectKey } from '../../src/format/object-keys.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyring, openKeyring, sealKeyring } from '../../src/keys/keyring.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { openTenant } from '../../src/open/open-memory.ts';
import { openFolderObjectStore } from '../../src/store/folder.ts';
import { osRandom as random } from '../../src/store/os-random.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { input } from '../format/format-vectors.ts';
import { keyringFields, objectFields, sealingKeys, vectorBytes } from '../format/vector-parts.ts';
import { isNotRun } from '../runner/not-run.ts';
import { copyToFolder } from '../stage/object-folder.ts';
import { findPython, type PythonRequest } from './python.ts';

await loadSodium();
const python = await findPython(process.env);
const isMissing = isNotRun('The copies of stores, read with Python', python);

const home = mkdtempSync(join(tmpdir(), 'sealed-memory-python-copies-'));
afterAll(() => rmSync(home, { recursive: true }));

const MODES: readonly NameMode[] = ['encrypted', 'plain'];
const TENANT = 'acme';
const ROOT = random(32);
const b64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const fromB64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));
const text = (content: string): Uint8Array => Buffer.from(content);
const at = parseMemoryPath;

/** Asks the second implementation; without it every test fails with the reason. */
async function ask<T>(request: PythonRequest): Promise<T> {
  if ('reason' in python) throw new Error(python.reason);
  const [answer] = await python.ask([request]);
  if (answer === undefined || answer.code !== undefined) throw new Error(`refused: ${answer?.code}`);
  return answer.result as T;
}

interface ReadFile {
  readonly content: string;
  readonly versionId: string;
  readonly mtime: number;
  readonly bound: string;
  readonly previous: string;
  readonly writer: string;
  readonly origin: string;
}

interface ReadStore {
  readonly keyring: { readonly epoch: number; readonly flags: number };
  readonly files: Readonly<Record<string, ReadFile>>;
  readonly records: Readonly<Record<string, ReadFile>>;
  readonly foreign: readonly string[];
}

/** A tenant's store in memory, and what the second implementation finds in a copy of it in a folder. */
function newTenant(names: NameMode) {
  const store = openSqliteObjectStore({ path: ':memory:' });
  const copy = async (): Promise<string> => {
    const folder = mkdtempSync(join(home, 'copy-'));
    await copyToFolder(store, folder);
    return folder;
  };
  const readFolder = (folder: string): Promise<ReadStore> =>
    ask({ action: 'readFolder', folder, root: b64(ROOT), tenant: TENANT, prefix: '' });
  return {
    store,
    copy,
    open: () => openTenant({ store, tenant: TENANT, rootKey: ROOT, names }),
    readFolder,
    read: async () => readFolder(await copy()),
  };
}

const zeros = b64(new Uint8Array(16));

describe.skipIf(isMissing)(
  'a store copied to a folder, read by the second implementation',
  { timeout: 60_000 },
  () => {
    it.each(MODES)('holds every file and record of it with %s names', async (names) => {
      const site = newTenant(names);
      const files: Readonly<Record<string, Uint8Array>> = {
        '/memories/a': text('a'),
        '/memories/a.sealed': text('named like a key'),
        '/memories/b/a': text(''),
        '/memories/B/A': random(70_000),
        '/memories/Größe 日本/👩\u200d💻 %41 ?&+#=;:.md': text('names of every kind'),
        [`/memories/${'é'.repeat(71)}/${'x'.repeat(143)}`]: text('the longest names'),
        [`/memories${'/d'.repeat(19)}/deep`]: text('deep'),
      };
      const { parts, close } = await site.open();
      for (const [path, content] of Object.entries(files)) await parts.tree.create(at(path), content);
      await parts.tree.rename({ from: at('/memories/b'), to: at('/memories/c') });
      await close();

      const folder = await site.copy();
      const onDisk = await readdir(folder, { recursive: true, withFileTypes: true });
      const { files: read, records, foreign } = await site.readFolder(folder);
      const expected = Object.entries(files).map(([path, content]) => [
        path.replace('/b/', '/c/'),
        b64(content),
      ]);
      expect(Object.fromEntries(Object.entries(read).map(([path, file]) => [path, file.content]))).toEqual(
        Object.fromEntries(expected),
      );
      expect(foreign).toEqual([]);
      expect(Object.keys(records)).toEqual(['/journal/register']);
      expect(onDisk.filter((entry) => entry.isFile())).toHaveLength(expected.length + 2);
    });

    it.each(MODES)('holds a file and a directory of one name side by side with %s names', async (names) => {
      const site = newTenant(names);
      const files = { '/memories/q': b64(text('above')), '/memories/q/below': b64(text('below')) };
      const request = { action: 'writeStore', root: b64(ROOT), tenant: TENANT, nameMode: names, prefix: '' };
      const objects = await ask<Record<string, string>>({ ...request, created: 1, files });
      for (const [key, body] of Object.entries(objects)) {
        await site.store.put(key as ObjectKey, fromB64(body), { mode: 'create' });
      }
      const folder = await site.copy();
      const { files: read } = await site.readFolder(folder);
      expect(Object.keys(read).sort()).toEqual(Object.keys(files));
      const { parts, close } = await openTenant({
        store: openFolderObjectStore({ path: folder }),
        tenant: TENANT,
        rootKey: ROOT,
      });
      const listed = await parts.tree.list(at('/memories'));
      expect(listed.files.map(({ path }) => path as string).sort()).toEqual(Object.keys(files));
      await close();
    });

    it('tells of each version which one it replaced, in order, also after a rename', async () => {
      const site = newTenant('encrypted');
      const { parts, close } = await site.open();
      const fileOf = async (path: string): Promise<ReadFile> => {
        const file = (await site.read()).files[path];
        if (file === undefined) throw new Error(`there is no ${path}`);
        return file;
      };
      const before = BigInt(Date.now()) << 16n;
      await parts.tree.create(at('/memories/a'), text('1'));
      const first = await fileOf('/memories/a');
      await parts.tree.edit(at('/memories/a'), () => ({ content: text('2'), result: undefined }));
      const second = await fileOf('/memories/a');
      await parts.tree.rename({ from: at('/memories/a'), to: at('/memories/b') });
      const moved = await fileOf('/memories/b');
      await close();

      expect(first).toMatchObject({ previous: zeros, writer: zeros, origin: zeros });
      expect(second).toMatchObject({ previous: first.versionId, writer: zeros, origin: zeros });
      const { versionId, mtime, previous, writer } = second;
      expect(moved).toMatchObject({ versionId, mtime, previous, writer });
      expect(moved.origin).not.toBe(zeros);
      const bounds = [first, second, moved].map(({ bound }) => BigInt(bound));
      for (const [index, bound] of bounds.entries())
        expect(bound > (bounds[index - 1] ?? before - 1n)).toBe(true);
    });
  },
);

describe.skipIf(isMissing)('both implementations', { timeout: 60_000 }, () => {
  const fields = objectFields('with-all');
  const from = fields.name as LogicalName;
  const to = '/memories/elsewhere' as LogicalName;
  const ring = keyringFields('two');
  const place = {
    keyring: b64(vectorBytes('two')),
    roots: [b64(input(ring.root))],
    tenant: ring.tenant,
  };
  const kept = {
    content: b64(text(fields.text)),
    versionId: b64(input(fields.versionId)),
    drawnUnder: fields.drawnUnder,
    mtime: Number(fields.mtime),
    previous: b64(input(fields.previous)),
    writer: b64(input(fields.writer)),
  };

  it('re-bind an object so that the other one opens it, with all that stays', async () => {
    const object = vectorBytes('with-all');
    const bound = 2n ** 62n + 1n;
    const origin = random(16);
    const theirs = fromB64(
      await ask({
        action: 'rebind',
        ...place,
        object: b64(object),
        from,
        to,
        bound: `${bound}`,
        origin: b64(origin),
      }),
    );
    const { id, ...opened } = open({ keys: sealingKeys('two'), name: to, object: theirs });
    expect({
      ...opened,
      content: b64(opened.content),
      versionId: b64(id),
      previous: b64(opened.previous),
      writer: b64(opened.writer),
    }).toEqual({ ...kept, bound, origin });

    const again = rebind({ keys: sealingKeys('two'), object: theirs, from: to, to: from, clock: 0, random });
    const read = await ask<ReadFile>({ action: 'openObject', ...place, object: b64(again), name: from });
    expect(read).toEqual({ ...kept, bound: `${bound + 1n}`, origin: b64(origin) });
    for (const rebound of [theirs, again]) {
      expect(b64(rebound.slice(0, 60))).toBe(b64(object.slice(0, 60)));
      expect(b64(rebound.slice(224))).toBe(b64(object.slice(224)));
    }
  });

  it.each([
    { flags: 0, keepsHistory: false },
    { flags: 1, keepsHistory: true },
    { flags: 3, keepsHistory: true, keptSince: 1_700_000_000_000 },
  ])('say the same of a tenant that keeps history: $flags', async ({ flags, ...kept }) => {
    const keyring = { ...createKeyring({ nameMode: 'plain', random, created: 1 }), ...kept };
    const bytes = await sealKeyring({ keyring, tenant: TENANT, rootKey: envRootKey(ROOT), random });
    const request = { action: 'openKeyring', keyring: b64(bytes), roots: [b64(ROOT)], tenant: TENANT };
    expect(await ask(request)).toMatchObject({ flags, epoch: 1 });

    const objects = await ask<Record<string, string>>({
      action: 'writeStore',
      root: b64(ROOT),
      tenant: TENANT,
      nameMode: 'plain',
      prefix: '',
      created: 1,
      files: {},
      flags,
      since: kept.keptSince,
    });
    const theirs = fromB64(objects[`keyrings/${TENANT}`] ?? '');
    const opened = await openKeyring({ bytes: theirs, tenant: TENANT, rootKeys: [envRootKey(ROOT)] });
    expect(opened).toMatchObject(kept);
  });
});
