import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCat } from '../../../../src/cli/files/cat.ts';
import { runCp } from '../../../../src/cli/files/cp.ts';
import { runDiff } from '../../../../src/cli/files/diff.ts';
import { runGet } from '../../../../src/cli/files/get.ts';
import { runGrep } from '../../../../src/cli/files/grep.ts';
import { runDu, runLs, runStat, runTree } from '../../../../src/cli/files/list.ts';
import { runMv } from '../../../../src/cli/files/mv.ts';
import { runPut } from '../../../../src/cli/files/put.ts';
import { runRm } from '../../../../src/cli/files/rm.ts';
import { runLog } from '../../../../src/cli/history/log.ts';
import { runTurnHistory } from '../../../../src/cli/history/switch.ts';
import { runTenants } from '../../../../src/cli/keys/tenants.ts';
import type { Action } from '../../../../src/cli/run/invocation.ts';
import { invocationOf } from '../../../doubles/invocation.ts';

let folder: string;
let flags: { readonly store: string; readonly tenant: string; readonly rootKeyFile: string };
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-verbs-'));
  const rootKeyFile = join(folder, 'root.key');
  writeFileSync(rootKeyFile, Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
  flags = { store: `sqlite:${join(folder, 'store.sqlite')}`, tenant: 'acme', rootKeyFile };
});
afterEach(() => rmSync(folder, { recursive: true }));

/** The exit code of a verb, and what it printed. */
async function said(action: Action, { json = false, isForEyes = false } = {}) {
  const { invocation, shown, complaints } = invocationOf({ flags: { ...flags, json }, isForEyes });
  const code = await action(invocation);
  return { code, text: shown.join(''), complaints };
}

const events = (text: string): readonly unknown[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

async function put(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) await said((run) => runPut(path, { text }, run));
}

const TREE = {
  '/memories/a.md': 'one\ntwo\n',
  '/memories/notes/b.md': 'three\n',
  '/memories/notes/deep/c.md': 'Two',
};

describe('mv of a directory', () => {
  it('names the file whose path would have too many segments, and moves nothing', async () => {
    const deep = `/s`.repeat(18);
    await put({ [`/memories/d${deep}`]: 'text', '/memories/d/near': 'text' });
    const move = said((run) => runMv({ from: '/memories/d', to: '/memories/x/y/z' }, run));
    await expect(move).rejects.toThrow(
      `Path /memories/x/y/z${deep}, where a file of /memories/d would lie, has 21 segments: at most 20 are allowed below /memories`,
    );
    const { text } = await said((run) => runLs('/memories', { recursive: true }, run));
    expect(text).toBe(`d/near\nd${deep}\n`);
    await said((run) => runMv({ from: '/memories/d', to: '/memories/x/y' }, run));
    expect((await said((run) => runCat([`/memories/x/y${deep}`], {}, run))).text).toBe('text');
    expect((await said((run) => runGrep({ pattern: 'text', path: '/memories' }, {}, run))).code).toBe(0);
  });
});

describe('the verbs that list', () => {
  beforeEach(() => put(TREE));

  it('ls shows names, sizes and times, one level or all', async () => {
    expect((await said((run) => runLs('/memories', {}, run))).text).toBe('a.md\nnotes/\n');
    expect((await said((run) => runLs('/memories/notes', { recursive: true }, run))).text).toBe(
      'b.md\ndeep/c.md\n',
    );
    const { text } = await said((run) => runLs('/memories', { long: true }, run));
    expect(text).toMatch(/^ {9}8 {2}\d{4}-\d\d-\d\dT[\d:]{8}Z {2}a\.md\n {9}- {2}-\s+notes\/\n$/);
    expect((await said((run) => runLs('/memories/a.md', {}, run))).text).toBe('/memories/a.md\n');
    const { text: json } = await said((run) => runLs('/memories', {}, run), { json: true });
    expect(events(json)).toMatchObject([
      { event: 'entry', path: '/memories/a.md', type: 'file', size: 8 },
      { event: 'entry', path: '/memories/notes', type: 'directory' },
      { event: 'done', entries: 2 },
    ]);
  });

  it('tree draws, du sums up, stat tells one', async () => {
    expect((await said((run) => runTree('/memories', run))).text).toBe(
      '/memories\n├── a.md\n└── notes/\n    ├── b.md\n    └── deep/\n        └── c.md\n\n3 files\n',
    );
    expect((await said((run) => runDu('/memories', run))).text).toBe(
      '       8B      1 file  /memories/a.md\n' +
        '       9B     2 files  /memories/notes\n' +
        '      17B     3 files  /memories in all\n',
    );
    expect((await said((run) => runStat('/memories/a.md', run))).text).toMatch(
      /^path: {5}\/memories\/a\.md\ntype: {5}file\nsize: {5}8 bytes\nmodified: .*\nversion: {2}.+\n$/,
    );
    expect((await said((run) => runStat('/memories/notes', run))).text).toContain('directory');
  });

  it('an empty memory is an empty directory', async () => {
    flags = { ...flags, tenant: 'globex' };
    expect(await said((run) => runLs('/memories', {}, run))).toMatchObject({ code: 0, text: '' });
    expect((await said((run) => runTree('/memories', run))).text).toBe('/memories\n\n0 files\n');
    await expect(said((run) => runLs('/memories/none', {}, run))).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  it('grep finds lines, passes over what is no text, and ends with 1 where nothing matches', async () => {
    const bytes = join(folder, 'bytes');
    writeFileSync(bytes, Buffer.from([0x74, 0x77, 0x6f, 0xff]));
    await said((run) => runPut('/memories/bytes', { file: bytes }, run));
    const grep = (pattern: string, options = {}) =>
      said((run) => runGrep({ pattern, path: '/memories' }, options, run));
    expect(await grep('t[w]o')).toEqual({
      code: 0,
      text: '/memories/a.md:2:two\n',
      complaints: ['1 file that is not text, passed over'],
    });
    expect((await grep('two', { ignoreCase: true, filesWithMatches: true })).text).toBe(
      '/memories/a.md\n/memories/notes/deep/c.md\n',
    );
    expect(await grep('t[w]o', { fixedStrings: true })).toMatchObject({ code: 1, text: '' });
    await expect(grep('(')).rejects.toMatchObject({ code: 'misconfigured' });
    // What follows the last line feed is no line.
    expect((await grep('^', { filesWithMatches: false })).text.match(/a\.md:/g)).toHaveLength(2);
  });

  it('tenants lists who has a keyring, without a root key', async () => {
    flags = { ...flags, tenant: 'globex' };
    await put({ '/memories/x': '' });
    const { invocation, shown } = invocationOf({ flags: { store: flags.store } });
    expect(await runTenants(invocation)).toBe(0);
    expect(shown.join('')).toBe('acme\nglobex\n');
  });
});

describe('the verbs that read and write', () => {
  beforeEach(() => put(TREE));
  const cat = async (path: string) => (await said((run) => runCat([path], {}, run))).text;

  it('cat writes several files, or some lines of one', async () => {
    const paths = ['/memories/a.md', '/memories/notes/deep/c.md'];
    expect((await said((run) => runCat(paths, {}, run))).text).toBe('one\ntwo\nTwo');
    expect(events((await said((run) => runCat(paths, {}, run), { json: true })).text)).toEqual([
      { event: 'entry', path: paths[0], text: 'one\ntwo\n' },
      { event: 'entry', path: paths[1], text: 'Two' },
      { event: 'done', files: 2 },
    ]);
    const lines = (first: number, last?: number) =>
      said((run) => runCat(['/memories/a.md'], { lines: { first, last } }, run), { isForEyes: true });
    expect((await lines(2)).text).toBe('two\n');
    expect((await lines(1, 1)).text).toBe('one\n');
    await expect(lines(3)).rejects.toThrow('/memories/a.md has 2 lines.');
    await expect(cat('/memories/notes')).rejects.toMatchObject({ code: 'is_directory' });
    await expect(cat('/memories/none')).rejects.toThrow('There is no file at /memories/none.');
    await expect(cat('/etc/passwd')).rejects.toThrow('Path must start with /memories, got: /etc/passwd');
  });

  it('cat shows no bytes on a screen that are not text', async () => {
    const bytes = join(folder, 'bytes');
    writeFileSync(bytes, Buffer.from([0xff]));
    await said((run) => runPut('/memories/bytes', { file: bytes }, run));
    await expect(
      said((run) => runCat(['/memories/bytes'], {}, run), { isForEyes: true }),
    ).rejects.toMatchObject({
      code: 'not_text',
    });
    const { text } = await said((run) => runCat(['/memories/bytes'], {}, run), { json: true });
    expect(events(text)[0]).toMatchObject({ base64: '/w==' });
  });

  it('put replaces, creates or appends', async () => {
    await said((run) => runPut('/memories/a.md', { text: 'new', create: false }, run));
    await said((run) => runPut('/memories/a.md', { text: ' more', append: true }, run));
    await expect(said((run) => runPut('/memories/a.md', { text: 'x', create: true }, run))).rejects.toThrow(
      'File /memories/a.md already exists',
    );
    expect(await cat('/memories/a.md')).toBe('new more');
  });

  it('get writes a file of the owner alone, and replaces one with --force only', async () => {
    const to = join(folder, 'mine');
    await said((run) => runGet('/memories/a.md', { to }, run));
    expect(readFileSync(to, 'utf8')).toBe('one\ntwo\n');
    expect(statSync(to).mode & 0o777).toBe(0o600);
    writeFileSync(to, 'other');
    await expect(said((run) => runGet('/memories/a.md', { to }, run))).rejects.toThrow(
      'exists: --force replaces it',
    );
    expect(readFileSync(to, 'utf8')).toBe('other');
    await said((run) => runGet('/memories/a.md', { to, force: true }, run));
    expect(readFileSync(to, 'utf8')).toBe('one\ntwo\n');
    await expect(
      said((run) => runGet('/memories/a.md', { to: join(folder, 'none/x') }, run)),
    ).rejects.toThrow('cannot be written (ENOENT)');
  });

  it('rm takes all below the root, but not the root', async () => {
    const remove = (path: string) => said((run) => runRm([path], { recursive: true }, run));
    await expect(remove('/memories')).rejects.toThrow(
      '/memories itself cannot be removed: name what lies below it.',
    );
    expect((await remove('/memories/notes')).code).toBe(0);
  });

  it('cp, mv and rm take directories only when told to', async () => {
    const [from, to] = ['/memories/notes', '/memories/copy'];
    await expect(said((run) => runCp({ from, to }, {}, run))).rejects.toThrow(
      '--recursive copies all below it',
    );
    await said((run) => runCp({ from, to }, { recursive: true }, run));
    const { invocation, complaints } = invocationOf({ flags });
    await expect(runCp({ from, to }, { recursive: true }, invocation)).rejects.toMatchObject({
      code: 'already_exists',
    });
    expect(complaints).toEqual([expect.stringMatching(/^0 of \d+ files are copied to \/memories\/copy; /)]);
    await said((run) => runCp({ from, to }, { recursive: true, force: true }, run));
    await expect(
      said((run) => runCp({ from, to: `${from}/below` }, { recursive: true }, run)),
    ).rejects.toThrow('cannot be copied into itself');
    for (const path of ['/memories/o/b/x', '/memories/o/b/b/x']) {
      await said((run) => runPut(path, { text: path }, run));
    }
    await expect(
      said((run) =>
        runCp({ from: '/memories/o/b', to: '/memories/o' }, { recursive: true, force: true }, run),
      ),
    ).rejects.toThrow('/memories/o/b/x would be replaced before or after it is copied itself');
    await said((run) => runRm(['/memories/o'], { recursive: true }, run));
    await said((run) => runMv({ from: to, to: '/memories/moved' }, run));
    await expect(said((run) => runMv({ from: to, to: '/memories/x' }, run))).rejects.toThrow(
      'The path /memories/copy does not exist',
    );
    await expect(said((run) => runRm(['/memories/moved'], {}, run))).rejects.toThrow('--recursive removes');
    await said((run) => runRm(['/memories/moved', '/memories/a.md'], { recursive: true }, run));
    await expect(said((run) => runRm(['/memories/a.md'], {}, run))).rejects.toMatchObject({
      code: 'not_found',
    });
    await said((run) => runRm(['/memories/a.md'], { force: true }, run));
    expect((await said((run) => runLs('/memories', { recursive: true }, run))).text).toBe(
      'notes/b.md\nnotes/deep/c.md\n',
    );
  });

  it('diff compares files of the memory, and with files of the user', async () => {
    const mine = join(folder, 'mine');
    writeFileSync(mine, 'one\n2\n');
    const diff = (left: string, right: string) => said((run) => runDiff({ left, right }, run));
    const found = await diff('/memories/a.md', mine);
    expect(found.code).toBe(1);
    expect(found.text).toBe(`--- /memories/a.md\n+++ ${mine}\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n`);
    expect(await diff('/memories/a.md', '/memories/a.md')).toMatchObject({ code: 0, text: '' });
    await expect(diff('/memories/a.md', join(folder, 'none'))).rejects.toThrow('cannot be read (ENOENT)');
    expect(existsSync(mine)).toBe(true);
  });

  describe('diff of versions', () => {
    const diff = (right: string, version?: string, json = false) =>
      said((run) => runDiff({ left: '/memories/a.md', right, version }, run), { json });
    let versions: readonly string[];
    beforeEach(async () => {
      await said((run) => runTurnHistory('on', run));
      await put({ '/memories/a.md': 'one\n2\n' });
      await put({ '/memories/a.md': 'one\n2\n3\n' });
      const { text } = await said((run) => runLog('/memories/a.md', {}, run), { json: true });
      versions = events(text).flatMap((event) => (event as { version?: string }).version ?? []);
    });

    it('compares two of them, or one with what the file holds now', async () => {
      const [now = '', second = '', first = ''] = versions;
      const [secondShort, firstShort] = [`v${second.slice(0, 8)}`, `v${first.slice(0, 8)}`];
      const heads = (from: string, to: string) => `--- /memories/a.md${from}\n+++ /memories/a.md${to}\n`;
      expect(await diff(firstShort, secondShort)).toMatchObject({
        code: 1,
        text: `${heads(`\t${firstShort}`, `\t${secondShort}`)}@@ -1,2 +1,2 @@\n one\n-two\n+2\n`,
      });
      expect(await diff(secondShort)).toMatchObject({
        code: 1,
        text: `${heads(`\t${secondShort}`, '')}@@ -1,2 +1,3 @@\n one\n 2\n+3\n`,
      });
      expect(await diff(now)).toMatchObject({ code: 0, text: '' });
      const { text } = await diff(second, first, true);
      expect(events(text)).toEqual([
        {
          event: 'done',
          fromVersion: second,
          toVersion: first,
          differ: true,
          patch: expect.stringContaining('-2\n+two\n'),
        },
      ]);
    });

    it('says how a file of the user is named that could be a version', async () => {
      await expect(diff('Makefile')).rejects.toThrow(
        'The history of /memories/a.md has no version Makefile; a file of the memory of that name is written /memories/Makefile, one of yours ./Makefile.',
      );
      await expect(diff('./Makefile')).rejects.toThrow('cannot be read (ENOENT)');
      await expect(
        said((run) => runDiff({ left: 'notes', right: 'abcd', version: 'efgh' }, run)),
      ).rejects.toMatchObject({ code: 'misconfigured' });
    });
  });
});
