import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCat } from '../../src/cli/files/cat.ts';
import { runCp } from '../../src/cli/files/cp.ts';
import { runExport } from '../../src/cli/files/export.ts';
import { runGrep } from '../../src/cli/files/grep.ts';
import { runDu, runLs, runTree } from '../../src/cli/files/list.ts';
import { runRm } from '../../src/cli/files/rm.ts';
import type { Action } from '../../src/cli/run/invocation.ts';
import type { NameMode } from '../../src/format/names.ts';
import type { ObjectKey } from '../../src/format/object-keys.ts';
import { memoryDriver } from '../../src/hosts/unstorage.ts';
import { createMemoryServer } from '../../src/mcp/index.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory, openTenant } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import type { TenantAdmin } from '../../src/open/tenant-admin.ts';
import { searchedTree, searchFiles } from '../../src/page/server/search-files.ts';
import { openTenantView } from '../../src/page/server/tenant-view.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import type { Tenant } from '../../src/tree/tenant.ts';
import { invocationOf } from '../stage/invocation.ts';
import { putUnchecked } from '../stage/rare-writes.ts';

const ROOT_KEY = Buffer.alloc(32, 7).toString('base64');
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };
/** A file of this library's own making, in each of the cases. */
const OWN = '/memories/own.md';

let folder: string;
let options: MemoryOptions;
let memory: Memory;
let admin: TenantAdmin;
/** The tenant that another writer works on, below everything that refuses a name. */
let tenant: Tenant;
const closing: (() => Promise<unknown>)[] = [];

async function open(names: NameMode, history: 'on' | 'off'): Promise<void> {
  options = {
    store: `sqlite:${join(folder, 'store.sqlite')}`,
    tenant: 'acme',
    rootKey: ROOT_KEY,
    names,
    logger: SILENT,
  };
  admin = await openAdmin(options);
  closing.push(() => admin.close());
  if (history === 'on') await admin.switchHistory('on');
  memory = await openMemory(options);
  closing.push(() => memory.close());
  const { parts, close } = await openTenant(options);
  closing.push(close);
  tenant = parts.context;
  await memory.files.write(OWN, 'kestrel of our own\n');
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-names-'));
  writeFileSync(join(folder, 'root.key'), ROOT_KEY, { mode: 0o600 });
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true });
});

/** Answers what a verb of the command line prints, and what it resolves to. */
async function said(action: Action) {
  const flags = { store: String(options.store), tenant: 'acme', rootKeyFile: join(folder, 'root.key') };
  const { invocation, shown, complaints } = invocationOf({ flags });
  const code = await action(invocation);
  return { code, text: shown.join(''), complaints };
}

async function listed(): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const { path } of memory.files.list('/memories', { recursive: true })) paths.push(path);
  return paths.sort();
}

async function say(input: Readonly<Record<string, unknown>>): Promise<unknown> {
  const { isError, content } = await memory.execute(input);
  if (isError) throw new Error(String(content));
  return content;
}

/** Names of other writers that hold the tenant's keys: all decode, and none is what this library would make. */
const THEIRS: Readonly<Record<string, string>> = {
  'in NFD': '/memories/e\u0301.md',
  'in NFD, below a directory in NFD': '/memories/u\u0308ber/o\u0308.md',
  'with one of our own beside it in NFC': '/memories/a\u0308.md',
  'that is longer in NFC than a segment may be': `/memories/${'\u0958'.repeat(47)}`,
  'with more segments than a path may have': `/memories/deep${'/s'.repeat(20)}`,
};
const TWIN = '/memories/\u00e4.md';

for (const names of ['plain', 'encrypted'] as const) {
  describe(`a file that another writer gave a name of its own, with ${names} names`, () => {
    const texts: Record<string, string> = {};

    beforeEach(async () => {
      await open(names, 'on');
      await memory.files.write(TWIN, 'kestrel, the twin\n');
      texts[OWN] = 'kestrel of our own\n';
      texts[TWIN] = 'kestrel, the twin\n';
      for (const [what, path] of Object.entries(THEIRS)) {
        texts[path] = `kestrel ${what}\n`;
        await putUnchecked({ tenant }, path, texts[path]);
      }
    });

    it('is read under that name by whatever lists it: files, commands, resources, keys, the page', async () => {
      expect(await listed()).toEqual(Object.keys(texts).sort());
      for (const path of await listed()) {
        const text = texts[path];
        expect((await memory.files.read(path))?.text()).toBe(text);
        expect(await memory.files.stat(path)).toMatchObject({
          type: 'file',
          path,
          size: Buffer.byteLength(text ?? ''),
        });
        expect(await say({ command: 'view', path })).toContain(text?.trimEnd());
      }
      expect(await say({ command: 'view', path: '/memories' })).toContain(THEIRS['in NFD']);

      const [near, far] = InMemoryTransport.createLinkedPair();
      const client = new Client({ name: 'test', version: '1' });
      await createMemoryServer(memory).connect(far);
      await client.connect(near);
      closing.push(() => client.close());
      const { resources } = await client.listResources();
      expect(resources).toHaveLength(Object.keys(texts).length);
      for (const { uri } of resources) {
        const [content] = (await client.readResource({ uri })).contents;
        expect(Object.values(texts)).toContain((content as { text: string }).text);
      }

      const driver = memoryDriver(memory);
      const items = await Promise.all(
        (await driver.getKeys('', {})).map((key: string) => driver.getItem(key, {})),
      );
      expect(items.sort()).toEqual(Object.values(texts).sort());

      await using view = await openTenantView(options, { lineOf: () => '' });
      const asking = { signal: new AbortController().signal, send: async () => {} };
      for (const path of Object.keys(texts))
        expect(await view.questions['file']?.({ path }, asking)).toMatchObject({ path });
    });

    it('is read by the verbs of the command line, each file under its own name', async () => {
      const grep = await said((run) => runGrep({ pattern: 'kestrel', path: '/memories' }, {}, run));
      expect(grep.code).toBe(0);
      expect(grep.text.trimEnd().split('\n').sort()).toEqual(
        Object.entries(texts)
          .map(([path, text]) => `${path}:1:${text.trimEnd()}`)
          .sort(),
      );
      for (const [path, text] of Object.entries(texts))
        expect((await said((run) => runCat([path], {}, run))).text).toBe(text);
      const to = join(folder, 'out');
      expect((await said((run) => runExport({ path: '/memories', to }, {}, run))).code).toBe(0);
      const written = readdirSync(to, { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      );
      expect(written.map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8')).sort()).toEqual(
        Object.values(texts).sort(),
      );
      const page = join(folder, 'all.html');
      expect(
        (await said((run) => runExport({ path: '/memories', to: page }, { html: true }, run))).code,
      ).toBe(0);
      for (const text of Object.values(texts)) expect(readFileSync(page, 'utf8')).toContain(text.trimEnd());
      const { text: rows } = await said((run) => runLs('/memories', { recursive: true }, run));
      expect(rows.trimEnd().split('\n')).toHaveLength(Object.keys(texts).length);
    });

    it('is walked behind, edited, copied, renamed and removed under that name', async () => {
      const { files } = memory;
      const all = await listed();
      const behind: string[] = [];
      for (let after: string | undefined; ; after = behind.at(-1)) {
        const options = { recursive: true, ...(after !== undefined && { after }) };
        const { value, done } = await files.list('/memories', options)[Symbol.asyncIterator]().next();
        if (done) break;
        behind.push(value.path);
      }
      expect(behind.sort()).toEqual(all);
      for (const path of Object.values(THEIRS)) {
        await files.append(path, 'last\n');
        await say({ command: 'str_replace', path, old_str: 'last\n', new_str: 'most\n' });
        await say({ command: 'insert', path, insert_line: 0, insert_text: 'first\n' });
        const found = await files.read(path);
        expect(found?.text()).toBe(`first\n${texts[path]}most\n`);
        await files.write(path, 'over', { mode: { ifUnchanged: String(found?.version) } });
        await files.copy(path, '/memories/copy', { mode: 'replace' });
        expect(await listed()).toEqual([...all, '/memories/copy'].sort());
        await say({ command: 'rename', old_path: path, new_path: '/memories/moved' });
        expect(await listed()).not.toContain(path);
        expect((await files.read('/memories/moved'))?.text()).toBe('over');
        for (const gone of ['/memories/moved', '/memories/copy'])
          await say({ command: 'delete', path: gone });
        await putUnchecked({ tenant }, path, 'again');
        await files.remove(path);
        await putUnchecked({ tenant }, path, 'again');
      }
      await say({ command: 'delete', path: '/memories/u\u0308ber' });
      expect(await listed()).not.toContain(THEIRS['in NFD, below a directory in NFD']);
      expect((await files.read(TWIN))?.text()).toBe(texts[TWIN]);
    });

    it('has a history of its own', async () => {
      const { history, files } = memory;
      for (const path of Object.values(THEIRS)) {
        await files.write(path, 'second\n');
        expect((await history.list()).filter((entry) => entry.path === path)).toHaveLength(2);
        const written = await history.list(path);
        expect(written.map((entry) => entry.path)).toEqual([path, path]);
        const [second, first] = written.map((entry) => (entry.kind === 'written' ? entry.version : ''));
        expect((await history.read({ path, version: String(first) })).text()).toBe(texts[path]);
        const before = new Date();
        await history.restore({ path, version: String(first) });
        expect((await files.read(path))?.text()).toBe(texts[path]);
        await history.redact({ path, version: String(second) });
        await files.remove(path);
        await history.restoreAt(before, { below: path, partial: true });
        await history.undo({ writer: 'nobody' });
        expect((await history.trace({ path })).versions.length).toBeGreaterThan(0);
      }
      const { line } = await admin.checkpoint();
      expect((await admin.verify({ since: line })).findings).toEqual([]);
    });

    it('is meant by a text in another form only where nothing lies under that', async () => {
      const { files } = memory;
      await files.write('/memories/\u00f1.md', 'made by us');
      expect((await files.read('/memories/n\u0303.md'))?.text()).toBe('made by us');
      await files.write('/memories/n\u0303.md', 'and changed');
      expect(await listed()).not.toContain('/memories/n\u0303.md');
      expect(await say({ command: 'view', path: '/memories/n\u0303.md' })).toContain('and changed');
      await memory.files.remove('/memories/a\u0308.md');
      expect((await files.read('/memories/a\u0308.md'))?.text()).toBe(texts[TWIN]);
    });
  });
}

const data = 'tenants/acme/data/';
const SIZE_OF_A_FILE = 260;

/** Keys that a writer without keys can put into a store that takes any key, and sizes. */
const JUNK: Readonly<Record<string, { readonly key: string; readonly size: number }>> = {
  'a key above 1,024 bytes': {
    key: `${data}${`${'x'.repeat(140)}/`.repeat(8)}x.sealed`,
    size: SIZE_OF_A_FILE,
  },
  'a key far above 1,024 bytes': { key: `${data}${'y/'.repeat(1_500)}y.sealed`, size: SIZE_OF_A_FILE },
  'a name like any other': { key: `${data}junk.md.sealed`, size: SIZE_OF_A_FILE },
  'a name in NFD': { key: `${data}e\u0301.md.sealed`, size: SIZE_OF_A_FILE },
  'a name that is too long in NFC': { key: `${data}${'\u0958'.repeat(47)}.sealed`, size: SIZE_OF_A_FILE },
  'a path that is too deep': { key: `${data}${'z/'.repeat(30)}z.sealed`, size: SIZE_OF_A_FILE },
  'no size of an object': { key: `${data}small.md.sealed`, size: 7 },
  'nothing in it': { key: `${data}empty.md.sealed`, size: 0 },
  'the size of a tombstone': { key: `${data}stone.md.sealed`, size: 40 },
  'no suffix': { key: `${data}bare`, size: SIZE_OF_A_FILE },
  'an empty segment': { key: `${data}a//b.sealed`, size: SIZE_OF_A_FILE },
  'a directory that ends like a file': { key: `${data}own.md.sealed/x.sealed`, size: SIZE_OF_A_FILE },
  'a control character': { key: `${data}a\u0001b.sealed`, size: SIZE_OF_A_FILE },
  'a parent segment': { key: `${data}../x.sealed`, size: SIZE_OF_A_FILE },
  'no class': { key: 'tenants/acme/nothing/x', size: SIZE_OF_A_FILE },
  'an id that no record has': { key: 'tenants/acme/history/x', size: SIZE_OF_A_FILE },
  'an id that is none': { key: 'tenants/acme/history/x y', size: SIZE_OF_A_FILE },
};

const FOREIGN_TEXT = 'kestrel of our own';

/** Each goes on for the other files; what it tells of ours is checked. */
const VERBS: Readonly<Record<string, () => Promise<unknown>>> = {
  'a view of all': async () => expect(await say({ command: 'view', path: '/memories' })).toContain('own.md'),
  'a list': async () => expect(await listed()).toContain(OWN),
  'a read': async () => expect((await memory.files.read(OWN))?.text()).toContain(FOREIGN_TEXT),
  ls: async () =>
    expect((await said((run) => runLs('/memories', { recursive: true, long: true }, run))).text).toContain(
      'own.md',
    ),
  tree: async () => expect((await said((run) => runTree('/memories', run))).text).toContain('own.md'),
  du: async () => expect((await said((run) => runDu('/memories', run))).text).toContain('own.md'),
  grep: async () =>
    expect((await said((run) => runGrep({ pattern: 'kestrel', path: '/memories' }, {}, run))).text).toBe(
      `${OWN}:1:${FOREIGN_TEXT}\n`,
    ),
  export: async () => {
    const to = mkdtempSync(join(folder, 'out-'));
    await said((run) => runExport({ path: '/memories', to }, {}, run));
    expect(readFileSync(join(to, 'own.md'), 'utf8')).toContain(FOREIGN_TEXT);
    // No folder is made for what cannot be read.
    expect(readdirSync(to)).toEqual(['own.md']);
  },
  'the search of the page': async () => {
    const found: object[] = [];
    const asking = {
      signal: new AbortController().signal,
      send: async (line: object) => void found.push(line),
    };
    const { parts, close } = await openTenant(options);
    await searchFiles(searchedTree(parts.tree), 'kestrel', asking);
    await close();
    expect(found).toContainEqual(expect.objectContaining({ path: OWN }));
  },
  verify: async () => expect(await admin.verify()).toMatchObject({ files: 1 }),
  checkpoint: async () => expect(await admin.checkpoint()).toMatchObject({ files: 1 }),
  'verify since': async () => {
    const { line } = await admin.checkpoint();
    expect((await admin.verify({ since: line })).since).toBeDefined();
  },
  log: async () => expect((await memory.history.list()).map(({ path }) => path)).toContain(OWN),
  'log of a file': async () => expect(await memory.history.list(OWN)).toHaveLength(1),
  'restore-at': async () => {
    const before = new Date();
    await memory.files.write(OWN, 'changed');
    await memory.history.restoreAt(before, { partial: true });
    expect((await memory.files.read(OWN))?.text()).toContain(FOREIGN_TEXT);
  },
  undo: async () => {
    await memory.files.write(OWN, 'changed', { actor: 'mallory' });
    await memory.history.undo({ writer: 'mallory' });
    expect((await memory.files.read(OWN))?.text()).toContain(FOREIGN_TEXT);
  },
  redact: async () => {
    await memory.files.write(OWN, 'changed');
    const [, first] = await memory.history.list(OWN);
    if (first?.kind !== 'written') throw new Error('there is no version');
    await memory.history.redact({ path: OWN, version: first.version });
  },
  trace: async () => expect((await memory.history.trace({ path: OWN })).versions).toHaveLength(1),
  rotate: async () => expect(await admin.rotate()).toBeDefined(),
  'an export by the operator': async () => {
    const to = join(folder, 'exported');
    await admin.export({ to });
    expect(readFileSync(join(to, 'own.md'), 'utf8')).toContain(FOREIGN_TEXT);
    // No folder is made for what cannot be read.
    expect(readdirSync(to)).toEqual(['own.md']);
  },
  expire: async () => expect(await admin.expire({ dryRun: true, afterDays: 30 })).toBeDefined(),
  'a write within limits': async () => {
    const limited = await openMemory({ ...options, limits: { files: 100, tenantBytes: 1_000_000 } });
    await limited.files.write('/memories/new.md', 'new').finally(() => limited.close());
  },
  'the rename of another directory': async () => {
    await memory.files.write('/memories/other/f', 'text');
    await say({ command: 'rename', old_path: '/memories/other', new_path: '/memories/another' });
  },
  'the delete of another directory': async () => {
    await memory.files.write('/memories/other/f', 'text');
    await say({ command: 'delete', path: '/memories/other' });
  },
  'a copy of another directory': async () => {
    await memory.files.write('/memories/other/f', 'text');
    const [from, to] = ['/memories/other', '/memories/copied'];
    expect((await said((run) => runCp({ from, to }, { recursive: true }, run))).code).toBe(0);
  },
};

describe('entries that no writer of this tenant made', () => {
  it.each(Object.entries(VERBS))('do not stop %s', async (_, verb) => {
    await open('plain', 'on');
    for (const { key, size } of Object.values(JUNK)) {
      await tenant.store.put(key as ObjectKey, new Uint8Array(size).fill(9), { mode: 'create' });
    }
    await verb();
  });

  it('are removed by their names, whatever their size', async () => {
    await open('plain', 'on');
    const names = ['junk.md', 'small.md', 'empty.md', 'stone.md'];
    for (const { key, size } of Object.values(JUNK)) {
      if (names.some((name) => key === `${data}${name}.sealed`))
        await tenant.store.put(key as ObjectKey, new Uint8Array(size), { mode: 'create' });
    }
    const paths = names.map((name) => `/memories/${name}`);
    expect((await said((run) => runRm(paths, {}, run))).code).toBe(0);
    for (const path of paths) expect(await memory.files.exists(path)).toBe(false);
    expect((await admin.verify()).findings).toEqual([]);
  });

  it('go with the directory that they lie in, where history is kept as well', async () => {
    await open('plain', 'on');
    const { key, size } = JUNK['a key above 1,024 bytes'] ?? { key: '', size: 0 };
    await tenant.store.put(key as ObjectKey, new Uint8Array(size), { mode: 'create' });
    const [top = ''] = key.slice(data.length).split('/');
    expect((await said((run) => runRm([`/memories/${top}`], { recursive: true }, run))).code).toBe(0);
    expect(await listed()).toEqual([OWN]);
  });
});
