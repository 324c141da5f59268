import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
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
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node';
import { Decrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ExportArguments, runExport } from '../../../../src/cli/files/export.ts';
import { runImport } from '../../../../src/cli/files/import.ts';
import { runRm } from '../../../../src/cli/files/rm.ts';
import type { Action, Flags } from '../../../../src/cli/run/invocation.ts';
import { startCli } from '../../../stage/cli.ts';
import { invocationOf } from '../../../stage/invocation.ts';

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

  it('import passes over what lies there as a policy has left it', async () => {
    const from = write(join(folder, 'in'), {
      'a.md': Buffer.from('Ask ada@example.org'),
      'b.md': Buffer.from('plain'),
    });
    flags = { ...flags, policy: 'email,redact' };
    const run = (force: boolean) =>
      said((invocation) => runImport({ from, path: '/memories' }, { force }, invocation));
    expect((await run(false)).text).toContain('2 files written');
    for (const force of [false, true]) {
      const again = await run(force);
      expect(again).toMatchObject({ code: 0, text: expect.stringContaining('0 files written') });
      expect(again.text).toContain('2 there already');
    }
    writeFileSync(join(from, 'a.md'), 'Ask eve@example.org soon');
    expect(await run(false)).toMatchObject({
      code: 1,
      text: expect.stringContaining('--force replaces that'),
    });
    expect((await run(true)).text).toContain('1 file written');
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
