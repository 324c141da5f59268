import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { beginFolder, type NewFile } from '../../../../src/admin/export/new-folder.ts';

describe('beginFolder', () => {
  const base = mkdtempSync(join(tmpdir(), 'new-folder-'));
  afterAll(() => rmSync(base, { recursive: true }));
  let count = 0;
  let home: string;
  let to: string;
  beforeEach(() => {
    home = join(base, `${count++}`);
    to = join(home, 'exported');
    mkdirSync(home);
  });

  const MTIME = 1_700_000_000_123;
  const file = (path: string, text = `text of ${path}`): NewFile => ({
    segments: path.split('/'),
    content: new TextEncoder().encode(text),
    mtime: MTIME,
  });
  const refusal = { code: 'misconfigured' };

  it('makes a folder that only its owner may read, with the times of the files', async () => {
    to = join(home, 'not/yet/there');
    const folder = await beginFolder(to);
    expect(await folder.write(file('a/b/c'))).toBeUndefined();
    expect(await folder.write(file('a/d', ''))).toBeUndefined();
    expect(lstatSync(`${to}.partial`).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(home, 'not/yet'))).toEqual(['there.partial']);
    await folder.finish();
    expect(readdirSync(join(home, 'not/yet'))).toEqual(['there']);
    expect(readFileSync(join(to, 'a/b/c'), 'utf8')).toBe('text of a/b/c');
    expect(readFileSync(join(to, 'a/d'), 'utf8')).toBe('');
    for (const path of ['', 'a', 'a/b']) expect(lstatSync(join(to, path)).mode & 0o777).toBe(0o700);
    const { mode, mtimeMs } = lstatSync(join(to, 'a/b/c'));
    expect([mode & 0o777, Math.floor(mtimeMs)]).toEqual([0o600, MTIME]);
  });

  it('keeps the time of a file to the millisecond, whichever it is', async () => {
    const folder = await beginFolder(to);
    const times = Array.from({ length: 40 }, (_, i) => MTIME + 7 * i);
    for (const mtime of times) expect(await folder.write({ ...file(`${mtime}`), mtime })).toBeUndefined();
    await folder.finish();
    const kept = times.map((mtime) => Math.floor(lstatSync(join(to, `${mtime}`)).mtimeMs));
    expect(kept).toEqual(times);
  });

  it('takes the latest time that can be sealed', async () => {
    const folder = await beginFolder(to);
    expect(await folder.write({ ...file('a'), mtime: 2 ** 53 - 1 })).toBeUndefined();
    expect(await folder.write({ ...file('b'), mtime: 0 })).toBeUndefined();
    await folder.finish();
    expect(lstatSync(join(to, 'b')).mtimeMs).toBeLessThan(1);
  });

  it('takes the place of an empty folder, and of nothing else', async () => {
    mkdirSync(to);
    const folder = await beginFolder(to);
    await folder.write(file('a'));
    await folder.finish();
    await expect(beginFolder(to)).rejects.toMatchObject(refusal);
    expect(readdirSync(to)).toEqual(['a']);

    const taken = join(home, 'file');
    writeFileSync(taken, '');
    await expect(beginFolder(taken)).rejects.toMatchObject(refusal);
    const empty = join(home, 'empty');
    mkdirSync(empty);
    symlinkSync(empty, join(home, 'link'));
    await expect(beginFolder(join(home, 'link'))).rejects.toMatchObject(refusal);
    expect(readdirSync(home)).toEqual(['empty', 'exported', 'file', 'link']);
  });

  it('does not replace what came to lie at the target meanwhile', async () => {
    const folder = await beginFolder(to);
    await folder.write(file('a'));
    mkdirSync(to);
    writeFileSync(join(to, 'theirs'), '');
    await expect(folder.finish()).rejects.toMatchObject(refusal);
    expect(readdirSync(to)).toEqual(['theirs']);
  });

  it('touches nothing beside the target that it has not left there itself', async () => {
    const partial = `${to}.partial`;
    const outside = join(home, 'outside');
    mkdirSync(outside);
    writeFileSync(partial, 'a file');
    await expect(beginFolder(to)).rejects.toMatchObject(refusal);
    rmSync(partial);
    symlinkSync(outside, partial);
    await expect(beginFolder(to)).rejects.toMatchObject(refusal);
    rmSync(partial);
    mkdirSync(partial);
    writeFileSync(join(partial, 'theirs'), '');
    await expect(beginFolder(to)).rejects.toMatchObject(refusal);
    expect(readdirSync(partial)).toEqual(['theirs']);
    expect(readdirSync(outside)).toEqual([]);
  });

  it('clears up after a run that was cut off, without following a link in it', async () => {
    const outside = join(home, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'kept'), '');
    const cutOff = await beginFolder(to);
    await cutOff.write(file('old/a'));
    const [run = ''] = readdirSync(`${to}.partial`).filter((name) => name.startsWith('files-'));
    symlinkSync(outside, join(`${to}.partial`, run, 'link'));
    const folder = await beginFolder(to);
    await folder.write(file('new'));
    await folder.finish();
    expect(readdirSync(to)).toEqual(['new']);
    expect(readdirSync(outside)).toEqual(['kept']);
    expect(readdirSync(home)).toEqual(['exported', 'outside']);
  });

  it('shuts out others again from what a run that was cut off has left', async () => {
    await beginFolder(to);
    chmodSync(`${to}.partial`, 0o755);
    await beginFolder(to);
    expect(lstatSync(`${to}.partial`).mode & 0o777).toBe(0o700);
  });

  it('lets the later of two runs finish, and the earlier one spoil nothing', async () => {
    const earlier = await beginFolder(to);
    await earlier.write(file('a/1'));
    const later = await beginFolder(to);
    await later.write(file('b'));
    await expect(earlier.write(file('a/2'))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(earlier.write(file('c'))).rejects.toMatchObject({ code: 'unavailable' });
    await expect(earlier.finish()).rejects.toMatchObject({ code: 'unavailable' });
    await earlier.abandon();
    await later.finish();
    expect(readdirSync(to)).toEqual(['b']);
    expect(readdirSync(home)).toEqual(['exported']);
  });

  it('leaves nothing when it is abandoned', async () => {
    const folder = await beginFolder(to);
    await folder.write(file('a'));
    await folder.abandon();
    expect(readdirSync(home)).toEqual([]);
  });

  it('says which names the file system refuses, and goes on', async () => {
    const folder = await beginFolder(to);
    expect(await folder.write(file('a'))).toBeUndefined();
    expect(await folder.write(file('a', 'again'))).toEqual({ refused: 'EEXIST' });
    expect(await folder.write(file('a/below'))).toEqual({ refused: 'EEXIST' });
    expect(await folder.write(file('x'.repeat(256)))).toEqual({ refused: 'ENAMETOOLONG' });
    expect(await folder.write(file('b'))).toBeUndefined();
    await folder.finish();
    expect(readdirSync(to)).toEqual(['a', 'b']);
    expect(readFileSync(join(to, 'a'), 'utf8')).toBe('text of a');
  });

  it.each(['a:stream', 'aux', 'COM1.txt', 'dot.', 'space ', 'what?', 'x/con/y'])(
    'refuses %s on Windows',
    async (path) => {
      const folder = await beginFolder(to, 'win32');
      expect(await folder.write(file(path))).toEqual({ refused: 'EINVAL' });
      expect(await folder.write(file('auxiliary/console.md'))).toBeUndefined();
      await folder.abandon();
    },
  );

  it('names no path in what it says of a failure, nor in the cause', async () => {
    const folder = await beginFolder(to);
    rmSync(`${to}.partial`, { recursive: true });
    const failures = [
      await folder.write(file('secret-folder/secret-name')).catch((reason: unknown) => reason),
      await folder.finish().catch((reason: unknown) => reason),
      await beginFolder(join(home, 'a\0b')).catch((reason: unknown) => reason),
    ];
    writeFileSync(join(home, 'file'), '');
    failures.push(await beginFolder(join(home, 'file/secret-name')).catch((reason: unknown) => reason));
    for (const failure of failures) {
      expect(failure).toMatchObject({ name: 'MemoryError', cause: { code: expect.stringMatching(/^E/) } });
      const printed = inspect(failure, { depth: null, showHidden: true }).replaceAll(/^ +at .*$/gm, '');
      for (const part of ['secret', home]) expect(printed).not.toContain(part);
    }
  });
});
