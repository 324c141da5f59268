import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Finding } from '../../../../src/admin/findings.ts';
import { linesOf } from '../../../../src/cli/keys/export-backup.ts';
import { openMemory, openTenant } from '../../../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { CLI_MEMORY_ENV, type CliRun, runCli, startCli } from '../../../stage/cli.ts';
import { copyToFolder, digestOf, textsIn } from '../../../stage/object-folder.ts';
import { at } from '../../../stage/test-tree.ts';

const { SEALED_MEMORY_STORE: _none, ...ENV } = CLI_MEMORY_ENV;
const FILES = { 'a.md': 'text of a', 'b/c.md': 'the secret words' };

describe('sealed-memory export --from', { timeout: 60_000 }, () => {
  let folder: string;
  let home: string;
  let file: string;
  let backup: string;
  let to: string;
  let count = 0;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-export-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeEach(async () => {
    home = join(folder, `${count++}`);
    mkdirSync(home);
    [file, backup, to] = [join(home, 'store.sqlite'), join(home, 'backup'), join(home, 'exported')];
    await using store = openSqliteObjectStore({ path: file });
    const { SEALED_MEMORY_ROOT_KEY: rootKey = '' } = ENV;
    await using memory = await openMemory({ store, tenant: 'acme', rootKey });
    for (const [path, text] of Object.entries(FILES)) {
      await memory.execute({ command: 'create', path: `/memories/${path}`, file_text: text });
    }
    await copyToFolder(store, backup);
  });

  const exported = (
    from: string,
    options: { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<CliRun> =>
    runCli(['export', '--json', '--from', from, to, ...(options.args ?? [])], {
      env: { ...ENV, ...options.env },
      cwd: home,
    });

  it('exports a folder of raw objects and answers with JSON lines', async () => {
    const before = await digestOf(backup);
    const { code, stdout, stderr } = await exported('backup');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const done = { event: 'done', files: 2, bytes: 25, findings: [] };
    const lines = stdout.split('\n');
    expect(lines.slice(-2)).toEqual([JSON.stringify(done), '']);
    for (const line of lines.slice(0, -2)) {
      expect(JSON.parse(line)).toMatchObject({ event: 'progress', total: 2 });
    }
    expect(await textsIn(to)).toEqual(FILES);
    expect(await digestOf(backup)).toBe(before);
  });

  it('exports an SQLite file without a change to it', async () => {
    const before = statSync(file, { bigint: true });
    const { code, stderr } = await exported(`sqlite:${file}`, { args: ['--json'] });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(await textsIn(to)).toEqual(FILES);
    const after = statSync(file, { bigint: true });
    expect([after.mtimeNs, after.ctimeNs, after.size]).toEqual([before.mtimeNs, before.ctimeNs, before.size]);
  });

  it('stops at Ctrl-C, leaves nothing behind and says so', async () => {
    await using store = openSqliteObjectStore({ path: ':memory:' });
    const { parts, close } = await openTenant({
      store,
      tenant: 'acme',
      rootKey: ENV['SEALED_MEMORY_ROOT_KEY'] ?? '',
    });
    const create = (_: unknown, i: number) => parts.tree.create(at(`/memories/${i}`), new Uint8Array(1));
    await Promise.all(Array.from({ length: 1_500 }, create));
    await close();
    const many = join(home, 'many');
    await copyToFolder(store, many);

    const child = startCli(['export', '--json', '--from', many, to], { env: ENV });
    let [said, complained] = ['', ''];
    child.stderr.on('data', (chunk) => {
      complained += chunk;
    });
    child.stdout.on('data', (chunk) => {
      said += chunk;
    });
    await vi.waitUntil(() => existsSync(`${to}.partial`), { timeout: 30_000, interval: 1 });
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([130, null]);
    expect(said).toMatch(/\{"event":"interrupted"\}\n$/);
    expect(complained).toMatch(/^sealed-memory: interrupted: /);
    expect(existsSync(to) || existsSync(`${to}.partial`)).toBe(false);
  });
});

describe('linesOf', () => {
  const path = at('/memories/a');
  const said = (findings: readonly Finding[]): readonly string[] =>
    linesOf({ files: 1, bytes: 2, findings }, 'out');

  it.each<readonly [Finding, RegExp]>([
    [{ kind: 'damaged', path }, /^FAIL {2}\/memories\/a is damaged .* — try an older backup$/],
    [{ kind: 'too_large', path }, /^FAIL {2}\/memories\/a .* — raise SEALED_MEMORY_MAX_FILE_BYTES$/],
    [{ kind: 'unreadable', path }, /^FAIL {2}\/memories\/a cannot be read .* — check its permissions/],
    [{ kind: 'vanished', path }, /^FAIL {2}\/memories\/a went away .* — run the export again/],
    [{ kind: 'clash', path }, /^FAIL {2}\/memories\/a is a file and a directory/],
    [{ kind: 'unwritable', path, code: 'EILSEQ' }, /^FAIL {2}\/memories\/a .* refuses \(EILSEQ\) — /],
    [{ kind: 'foreign', objects: 2 }, /^FAIL {2}2 objects among the files, .*, not exported$/],
  ])('says what to do about %o', (finding, line) => {
    const [first, summary] = said([finding]);
    expect(first).toMatch(line);
    expect(summary).toBe('FAIL  exported 1 file, 2 bytes, to out: 1 finding');
  });

  it('says in one line that all is well', () => {
    expect(said([])).toEqual(['ok    exported 1 file, 2 bytes, to out: all well']);
  });
});
