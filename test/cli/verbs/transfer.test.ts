import { execFileSync } from 'node:child_process';
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
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Decrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runPut } from '../../../src/cli/verbs/files.ts';
import type { Action, Flags } from '../../../src/cli/verbs/invocation.ts';
import { type ExportArguments, runExport, runImport } from '../../../src/cli/verbs/transfer.ts';
import { invocationOf } from '../../doubles/invocation.ts';

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

describe('sealed-memory import and export', () => {
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
    expect(readdirSync(outside)).toEqual(['deep']);
    expect(read(outside)).toEqual({});
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
    for (const name of ['a.md', 'notes', 'two']) expect(sealed.includes(name)).toBe(false);
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
