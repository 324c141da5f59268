import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { Decrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ExportArguments, runExport } from '../../../../src/cli/files/export.ts';
import { runImport } from '../../../../src/cli/files/import.ts';
import { runPut } from '../../../../src/cli/files/put.ts';
import { runRm } from '../../../../src/cli/files/rm.ts';
import type { Action, Flags } from '../../../../src/cli/run/invocation.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import { sealedSize } from '../../../../src/format/sizes.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import { invocationOf } from '../../../doubles/invocation.ts';
import { startCli } from '../../../support/cli.ts';

let folder: string;
let flags: Flags;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-transfer-'));
  const rootKeyFile = join(folder, 'root.key');
  writeFileSync(rootKeyFile, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
  flags = { store: `sqlite:${join(folder, 'store.sqlite')}`, tenant: 'acme', rootKeyFile };
});
afterEach(() => rmSync(folder, { recursive: true }));

async function said(action: Action) {
  const { invocation, shown } = invocationOf({ flags });
  const code = await action(invocation);
  return { code, text: shown.join('') };
}

const FILES: Readonly<Record<string, Uint8Array>> = {
  'a.md': Buffer.from('\ufeffone\r\ntwo'),
  'notes/empty': Buffer.alloc(0),
  'notes/deep/bytes': Buffer.from([0xff, 0, 0xfe, 10]),
  'notes/日本 b.md': Buffer.from('text'),
};

function write(root: string, files = FILES): string {
  for (const [name, bytes] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), bytes);
  }
  return root;
}

function read(root: string): Readonly<Record<string, Uint8Array>> {
  const names = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = names.map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(paths.sort().map((path) => [path.slice(root.length + 1), readFileSync(path)]));
}

const importFrom = (from: string, options = {}, path = '/memories') =>
  said((run) => runImport({ from, path }, options, run));
const exportTo = (to: string, options: ExportArguments = {}, path = '/memories') =>
  said((run) => runExport({ path, to }, options, run));

describe('sealed-memory import and export', { timeout: 120_000 }, () => {
  it('carry every byte both ways, and again only what is missing', async () => {
    const from = write(join(folder, 'in'));
    const out = join(folder, 'out');
    expect(await importFrom(from)).toEqual({ code: 0, text: 'ok    4 files written to /memories\n' });
    expect(await exportTo(out)).toEqual({ code: 0, text: `ok    4 files written to ${out}\n` });
    expect(read(out)).toEqual(read(from));
    expect(statSync(join(out, 'a.md')).mode & 0o777).toBe(0o600);
    rmSync(join(out, 'notes/deep'), { recursive: true });
    expect((await exportTo(out)).text).toBe(`ok    1 file written to ${out}, 3 there already\n`);
    writeFileSync(join(from, 'new'), 'x');
    expect((await importFrom(from)).text).toBe('ok    1 file written to /memories, 4 there already\n');
  });

  it('give a file that is exported the time at which it was written', async () => {
    await importFrom(write(join(folder, 'in')));
    const database = new DatabaseSync(join(folder, 'store.sqlite'));
    database.exec('UPDATE objects SET last_modified = 1700000000123');
    database.close();
    const out = join(folder, 'out');
    await exportTo(out);
    expect(Math.round(statSync(join(out, 'a.md')).mtimeMs / 1_000)).toBe(1_700_000_000);
  });

  it('leave what differs, name it and end with 1, unless told to replace it', async () => {
    const from = write(join(folder, 'in'));
    await importFrom(from);
    await said((run) => runPut('/memories/a.md', { text: 'newer' }, run));
    expect(await importFrom(from)).toEqual({
      code: 1,
      text:
        `FAIL  ${from}/a.md differs from /memories/a.md; --force replaces that\n` +
        'FAIL  0 files written to /memories, 3 there already, 1 left\n',
    });
    const out = join(folder, 'out');
    await exportTo(out);
    writeFileSync(join(out, 'a.md'), 'mine');
    expect((await exportTo(out)).text).toContain(`FAIL  /memories/a.md differs from ${out}/a.md`);
    expect(readFileSync(join(out, 'a.md'), 'utf8')).toBe('mine');
    expect((await exportTo(out, { force: true })).code).toBe(0);
    expect(readFileSync(join(out, 'a.md'), 'utf8')).toBe('newer');
    expect((await importFrom(from, { force: true })).code).toBe(0);
    await exportTo(out, { force: true });
    expect(read(out)).toEqual(read(from));
  });

  it('take a part of the tree, and put one below another directory', async () => {
    await importFrom(write(join(folder, 'in')), {}, '/memories/from/here');
    const out = join(folder, 'out');
    await exportTo(out, {}, '/memories/from/here/notes');
    expect(Object.keys(read(out))).toEqual(['deep/bytes', 'empty', '日本 b.md']);
    const one = join(folder, 'one');
    await exportTo(one, {}, '/memories/from/here/a.md');
    expect(Object.keys(read(one))).toEqual(['a.md']);
  });

  it('import leaves links, names that a memory refuses and files above the limit', async () => {
    const from = write(join(folder, 'in'), {
      ...FILES,
      'back\\slash': Buffer.from('x'),
      big: Buffer.alloc(1_048_577),
    });
    symlinkSync('/etc/passwd', join(from, 'link'));
    const { code, text } = await importFrom(from);
    expect(code).toBe(1);
    expect(text).toMatch(/^FAIL {2}\S+back\\slash was refused: .*backslash/m);
    expect(text).toMatch(
      /^FAIL {2}\S+big is larger than 1048576 bytes, which SEALED_MEMORY_MAX_FILE_BYTES sets$/m,
    );
    expect(text).toMatch(/^FAIL {2}\S+link is a link or a special file$/m);
    expect(text).toMatch(/^FAIL {2}4 files written to \/memories, 3 left$/m);
    await expect(importFrom(join(folder, 'none'))).rejects.toThrow('is no folder that can be read (ENOENT)');
  });

  it("import takes the folder of the SDK's filesystem tool for what lies below its memories", async () => {
    write(join(folder, 'sdk'), { 'memories/a.md': Buffer.from('x') });
    await importFrom(join(folder, 'sdk'));
    const out = join(folder, 'out');
    await exportTo(out);
    expect(Object.keys(read(out))).toEqual(['a.md']);
  });

  it('export follows no link out of the folder', async () => {
    await importFrom(write(join(folder, 'in')));
    const [out, outside] = [join(folder, 'out'), join(folder, 'outside')];
    mkdirSync(out);
    mkdirSync(outside);
    symlinkSync(outside, join(out, 'notes'));
    expect((await exportTo(out)).code).toBe(1);
    expect(readdirSync(outside)).toEqual([]);
  });

  it('export replaces a link in the place of a file with --force alone, and leaves its file as it is', async () => {
    await importFrom(write(join(folder, 'in')));
    const [out, outside] = [join(folder, 'out'), join(folder, 'outside')];
    mkdirSync(join(out, 'notes'), { recursive: true });
    const theirs = write(outside, { a: Buffer.from('theirs'), same: FILES['a.md'] ?? Buffer.alloc(0) });
    symlinkSync(join(outside, 'same'), join(out, 'a.md'));
    symlinkSync(join(outside, 'a'), join(out, 'notes/empty'));
    symlinkSync('nowhere', join(out, 'notes/日本 b.md'));
    const before = read(theirs);
    const { code, text } = await exportTo(out);
    expect(code).toBe(1);
    expect(text).toContain(`FAIL  /memories/a.md would replace a link, ${out}/a.md; --force replaces that\n`);
    expect(text).toContain('FAIL  1 file written to');
    expect((await exportTo(out, { force: true })).code).toBe(0);
    expect(read(outside)).toEqual(before);
    expect(read(out)).toEqual(FILES);
    expect(lstatSync(join(out, 'a.md')).isFile()).toBe(true);
  });

  it('export opens no pipe, no folder and no socket in the place of a file', async () => {
    await importFrom(write(join(folder, 'in')));
    const out = join(folder, 'out');
    mkdirSync(join(out, 'notes/empty'), { recursive: true });
    const program = 'mkfifo';
    execFileSync(program, [join(out, 'a.md'), join(out, 'notes/deep')]);
    const socket = createServer().listen(join(out, 'notes/日本 b.md'));
    await once(socket, 'listening');
    for (const force of [false, true]) {
      const { code, text } = await exportTo(out, { force });
      expect(code).toBe(1);
      for (const name of ['a.md', 'notes/empty', 'notes/日本 b.md'])
        expect(text).toContain(
          `FAIL  /memories/${name} has no room: ${out}/${name} is neither a file nor a link\n`,
        );
      expect(text).toContain('FAIL  /memories/notes/deep/bytes cannot be written (ENOTDIR)\n');
    }
    socket.close();
  });

  it('import waits for no pipe that a file became since it was listed', async () => {
    const from = write(join(folder, 'in'));
    const { invocation, shown } = invocationOf({ flags });
    const program = 'mkfifo';
    const progress = ({ done }: { readonly done?: number }): void => {
      if (done !== 0) return;
      rmSync(join(from, 'a.md'));
      execFileSync(program, [join(from, 'a.md')]);
    };
    const report = { ...invocation.report, progress } as typeof invocation.report;
    expect(await runImport({ from, path: '/memories' }, {}, { ...invocation, report })).toBe(1);
    expect(shown.join('')).toContain(`FAIL  ${from}/a.md is a link or a special file`);
  });

  it('import takes one of two names that are one path, and leaves the other', async () => {
    const [apart, whole] = ['cafe\u0301.md', 'caf\u00e9.md'];
    // The first one takes longer to be read.
    const one = Buffer.alloc(900_000, 'one');
    const from = write(join(folder, 'in'), { [apart]: one, [whole]: Buffer.from('two') });
    await said((run) => runPut('/memories/café.md', { text: 'zero' }, run));
    const { code, text } = await importFrom(from, { force: true });
    expect({ code, text }).toEqual({
      code: 1,
      text:
        `FAIL  ${from}/${whole} has the path of a file that was imported: the names differ in accents typed apart\n` +
        'FAIL  1 file written to /memories, 1 left\n',
    });
    await exportTo(join(folder, 'out'));
    expect(read(join(folder, 'out'))).toEqual({ [whole]: one });
    writeFileSync(join(from, whole), one);
    expect(await importFrom(from, { force: true })).toMatchObject({ code: 0 });
  });

  it('import takes files of yours that end like those of an export, and says which it passes over', async () => {
    const from = write(join(folder, 'in'), {
      'a.partial': Buffer.from('mine'),
      '.sealed-memory.partial': Buffer.from('mine'),
      'notes/.sealed-memory-1-01234567.partial': Buffer.from('half'),
    });
    const { invocation, shown, complaints } = invocationOf({ flags });
    expect(await runImport({ from, path: '/memories' }, {}, invocation)).toBe(0);
    expect(shown.join('')).toBe('ok    2 files written to /memories\n');
    expect(complaints).toEqual([
      `${from}/notes/.sealed-memory-1-01234567.partial is of an export that has not finished: passed over`,
    ]);
  });

  it('export --age makes one archive that age and tar open, and nothing readable beside it', async () => {
    const from = write(join(folder, 'in'));
    await importFrom(from);
    const identity = await generateX25519Identity();
    const to = join(folder, 'memories.tar.age');
    const age = [await identityToRecipient(identity)];
    expect((await exportTo(to, { age })).code).toBe(0);
    const sealed = readFileSync(to);
    expect(statSync(to).mode & 0o777).toBe(0o600);
    expect(sealed.subarray(0, 21).toString()).toBe('age-encryption.org/v1');
    // Each long enough that random bytes do not hold it by chance.
    for (const text of ['notes/deep/bytes', 'notes/日本 b.md', 'one\r\ntwo'])
      expect(sealed.includes(text)).toBe(false);
    const decrypter = new Decrypter();
    decrypter.addIdentity(identity);
    const opened = join(folder, 'opened');
    mkdirSync(opened);
    execFileSync('tar', ['-x', '-C', opened], { input: await decrypter.decrypt(sealed) });
    expect(read(opened)).toEqual(read(from));
    await expect(exportTo(to, { age })).rejects.toThrow('--force replaces it');
    await expect(exportTo(join(folder, 'x'), { age: ['ssh-rsa x'] })).rejects.toThrow('begins with age1');
    expect(readdirSync(folder).filter((name) => name.includes('partial') || name === 'x')).toEqual([]);
    expect((await exportTo(to, { age, force: true })).code).toBe(0);
  });

  it('import goes on after a file that cannot be read, and after one that a policy refuses', async () => {
    const from = write(join(folder, 'in'), {
      'b.md': Buffer.from('here when the folder is listed'),
      'c.md': Buffer.from('mail me@example.org'),
      'd.md': Buffer.from('fine'),
    });
    symlinkSync('nowhere', join(from, 'a'));
    const latin = Buffer.concat([Buffer.from(`${from}/caf`), Buffer.from([0xe9])]);
    writeFileSync(latin, 'x');
    writeFileSync(join(folder, 'config.toml'), '[default]\npolicy = "email"\n');
    const { invocation, shown } = invocationOf({ flags });
    // Told for the first time when the folder is listed and no file is read yet.
    const progress = () => rmSync(join(from, 'b.md'), { force: true });
    const report = { ...invocation.report, progress };
    process.env['SEALED_MEMORY_CONFIG'] = join(folder, 'config.toml');
    try {
      expect(await runImport({ from, path: '/memories' }, {}, { ...invocation, report })).toBe(1);
    } finally {
      delete process.env['SEALED_MEMORY_CONFIG'];
    }
    const lines = shown.join('').split('\n');
    expect(lines).toEqual([
      `FAIL  ${from}/a is a link or a special file`,
      `FAIL  ${from}/b.md cannot be read (ENOENT)`,
      expect.stringMatching(/^FAIL {2}\S+c\.md was refused: .*\(email\)/),
      `FAIL  ${from}/caf\ufffd has a name that is not UTF-8`,
      'FAIL  1 file written to /memories, 4 left',
      '',
    ]);
  });

  it('import names what lies in its way, file by file', async () => {
    await said((run) => runPut('/memories/notes', { text: 'a file' }, run));
    await said((run) => runPut('/memories/a.md/below', { text: 'a directory' }, run));
    const from = write(join(folder, 'in'), { 'a.md': Buffer.from('x'), 'notes/b.md': Buffer.from('y') });
    for (const force of [false, true]) {
      const { code, text } = await importFrom(from, { force });
      expect(code).toBe(1);
      expect(text).toMatch(/^FAIL {2}\S+a\.md was refused: .*director/m);
      expect(text).toMatch(/^FAIL {2}\S+b\.md was refused: /m);
      expect(text).toMatch(/^FAIL {2}0 files written to \/memories, 2 left$/m);
    }
  });

  it('import takes the memory of a project of Claude Code, and leaves its sessions', async () => {
    const files = {
      'MEMORY.md': Buffer.from('- [Build](build.md)\n'),
      'build.md': Buffer.from('---\nname: build\n---\nuse make\n'),
      'CLAUDE.md': Buffer.from('# Rules\n'),
    };
    const project = join(folder, 'projects', '-home-me-project');
    write(join(project, 'memory'), files);
    write(project, { '0b8e1f3a.jsonl': Buffer.from('{"type":"user"}\n') });
    const { invocation, shown, complaints } = invocationOf({ flags });
    expect(await runImport({ from: project, path: '/memories' }, {}, invocation)).toBe(0);
    expect(shown.join('')).toBe('ok    3 files written to /memories\n');
    expect(complaints).toEqual([`the memory in this folder is ${project}/memory`]);
    expect(await importFrom(join(project, 'memory'))).toMatchObject({
      text: 'ok    0 files written to /memories, 3 there already\n',
    });
    const back = join(folder, 'back');
    await exportTo(back);
    expect(read(back)).toEqual(files);
  });

  it("export makes a folder that the SDK's filesystem tool goes on with, and import takes its work", async () => {
    await importFrom(write(join(folder, 'in')));
    const theirs = join(folder, 'theirs');
    await exportTo(join(theirs, 'memories'));
    const tool = await BetaLocalFilesystemMemoryTool.init(theirs);
    await tool.create({ command: 'create', path: '/memories/new/c.md', file_text: 'theirs\n' });
    await tool.rename({ command: 'rename', old_path: '/memories/notes/empty', new_path: '/memories/none' });
    expect((await importFrom(theirs)).text).toBe('ok    2 files written to /memories, 3 there already\n');
    await said((run) => runRm(['/memories/notes/empty'], {}, run));
    const back = join(folder, 'back');
    await exportTo(back);
    expect(read(back)).toEqual(read(join(theirs, 'memories')));
  });

  it('two exports and two imports at once do the same as one', async () => {
    const from = write(join(folder, 'in'));
    const imports = await Promise.all([importFrom(from), importFrom(from)]);
    expect(imports.map(({ code }) => code)).toEqual([0, 0]);
    const out = join(folder, 'out');
    const exports = await Promise.all([exportTo(out), exportTo(out)]);
    expect(exports.map(({ code }) => code)).toEqual([0, 0]);
    expect(read(out)).toEqual(read(from));
  });

  it('export removes what one that was killed has left, and import passes over it', async () => {
    const from = write(join(folder, 'in'));
    const gone = spawnSync('true').pid;
    const [abandoned, running] = [gone, process.pid].map((pid) => `.sealed-memory-${pid}-01234567.partial`);
    for (const name of [abandoned, running]) writeFileSync(join(from, 'notes', String(name)), 'half');
    expect((await importFrom(from)).text).toBe('ok    4 files written to /memories\n');
    await exportTo(from);
    expect(readdirSync(join(from, 'notes')).filter((name) => name.endsWith('.partial'))).toEqual([running]);
  });

  it('export goes on after a file above the limit, and after one that is damaged', async () => {
    await importFrom(write(join(folder, 'in')));
    process.env['SEALED_MEMORY_MAX_FILE_BYTES'] = '5';
    const store = openSqliteObjectStore({ path: `${flags.store}`.slice('sqlite:'.length) });
    const keys: ObjectKey[] = [];
    for await (const page of store.list({ prefix: 'tenants/acme/data/' })) {
      for (const { key, size } of page.objects) if (size === sealedSize(0)) keys.push(key);
    }
    expect(keys).toHaveLength(1);
    for (const key of keys) {
      await store.put(key, new Uint8Array(sealedSize(0)).fill(1), { mode: 'overwrite' });
    }
    await store[Symbol.asyncDispose]();
    try {
      const { code, text } = await exportTo(join(folder, 'out'));
      expect(code).toBe(1);
      expect(text).toMatch(
        /^FAIL {2}\/memories\/a\.md was refused: .*SEALED_MEMORY_MAX_FILE_BYTES sets the limit/m,
      );
      expect(text).toMatch(/^FAIL {2}\/memories\/notes\/empty is damaged: "sealed-memory verify"/m);
      expect(text).toMatch(/^FAIL {2}2 files written to \S+, 2 left$/m);
    } finally {
      delete process.env['SEALED_MEMORY_MAX_FILE_BYTES'];
    }
  });

  it('export says in one sentence that the folder cannot be made', async () => {
    await importFrom(write(join(folder, 'in')));
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect(exportTo(join(file, 'out'))).rejects.toMatchObject({
      code: 'invalid_command',
      message: `${file}/out cannot be written (ENOTDIR).`,
    });
  });

  it('stop between two files at Ctrl-C, say so, and go on from there', async () => {
    const many = Array.from({ length: 60 }, (_, i) => [`many/${i}`, Buffer.from(`${i}`)] as const);
    const from = write(join(folder, 'in'), { ...FILES, ...Object.fromEntries(many) });
    symlinkSync('nowhere', join(from, 'b'));
    const { invocation, complaints } = invocationOf({ flags });
    const interruption = new AbortController();
    const { signal } = interruption;
    const report = { ...invocation.report, entry: async () => interruption.abort() };
    const interrupted = { ...invocation, signal, report };
    await expect(runImport({ from, path: '/memories' }, {}, interrupted)).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(complaints).toEqual([
      'interrupted: what is done stays done, and the same command continues from there',
    ]);
    const { text } = await importFrom(from);
    const [, written, there] =
      /(\d+) files written to \/memories, (\d+) there already, 1 left/.exec(text) ?? [];
    expect(Number(written) + Number(there)).toBe(64);
    // As many as were under way beside the link.
    expect(Number(there)).toBeLessThanOrEqual(32);
    expect(Number(there)).toBeGreaterThan(0);
  });

  it('go on where a process was killed, without a rest of it', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `many/${i}`);
    const from = write(join(folder, 'in'), {
      ...FILES,
      ...Object.fromEntries(names.map((name) => [name, Buffer.alloc(2_000, name)])),
    });
    symlinkSync('nowhere', join(from, 'b'));
    const args = ['--store', `${flags.store}`, '--tenant', 'acme', '--root-key-file', `${flags.rootKeyFile}`];
    const importing = startCli(['import', from, ...args]);
    const imported = once(importing, 'close');
    await once(importing.stdout, 'data');
    importing.kill('SIGKILL');
    await imported;
    expect((await importFrom(from)).text).toMatch(/[1-9]\d* there already, 1 left\n$/);
    const out = join(folder, 'out');
    const exporting = startCli(['export', out, ...args]);
    // It may be faster than the look for its first file.
    const exported = once(exporting, 'close');
    await vi.waitUntil(() => existsSync(join(out, 'a.md')), { timeout: 60_000, interval: 1 });
    exporting.kill('SIGKILL');
    await exported;
    expect((await exportTo(out)).text).toMatch(/[1-9]\d* there already\n$/);
    rmSync(join(from, 'b'));
    expect(read(out)).toEqual(read(from));
  });

  it('leave no half file when they are cancelled', async () => {
    await importFrom(write(join(folder, 'in')));
    const { invocation } = invocationOf({ flags });
    const cancelled = { ...invocation, signal: AbortSignal.abort() };
    const out = join(folder, 'out');
    await expect(runExport({ path: '/memories', to: out }, {}, cancelled)).rejects.toMatchObject({
      code: 'aborted',
    });
    const archive = join(folder, 'archive');
    const age = [await identityToRecipient(await generateX25519Identity())];
    await expect(runExport({ path: '/memories', to: archive }, { age }, cancelled)).rejects.toMatchObject({
      code: 'aborted',
    });
    expect(existsSync(out) || existsSync(archive)).toBe(false);
  });
});
