import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, type CliOptions, runCli } from '../support/cli.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('the commands for people', () => {
  let folder: string;
  let env: Readonly<Record<string, string>>;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-cli-'));
    env = { ...CLI_MEMORY_ENV, SEALED_MEMORY_STORE: `sqlite:${join(folder, 'store.sqlite')}` };
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const run = (args: readonly string[], options: CliOptions = {}) => runCli(args, { env, ...options });
  const success = (sentence: string) => ({ code: 0, stdout: `${sentence}\n`, stderr: '' });
  const failure = (sentence: string) => ({ code: 1, stdout: '', stderr: `sealed-memory: ${sentence}\n` });
  const raw = async (path: string) => (await run(['view', '--raw', path])).bytes;

  it('carry a file through its life', async () => {
    const path = '/memories/notes/a.txt';
    expect(await run(['create', path, '--text', 'one\ntwo\n'])).toMatchObject(
      success(`File created successfully at: ${path}`),
    );
    expect(await run(['view', path, '--range', '2,-1'])).toMatchObject({ code: 0 });
    expect((await run(['view', path])).stdout).toContain('     2\ttwo\n');
    expect((await run(['str-replace', path, '--old', 'two', '--new', '-2'])).code).toBe(0);
    expect(await run(['insert', path, '0', '--text', 'zero'])).toMatchObject(
      success(`The file ${path} has been edited.`),
    );
    expect((await raw(path)).toString()).toBe('zero\none\n-2\n');
    expect(await run(['rename', '/memories/notes', '/memories/kept'])).toMatchObject(
      success('Successfully renamed /memories/notes to /memories/kept'),
    );
    expect((await run(['view', '/memories'])).stdout).toContain('\t/memories/kept/a.txt\n');
    expect(await run(['delete', '/memories/kept'])).toMatchObject(
      success('Successfully deleted /memories/kept'),
    );
    expect((await run(['view', '/memories'])).stdout).toMatch(/\n0B\t\/memories\n$/);
  }, 30_000);

  it('show a failure on standard error and end with 1', async () => {
    const path = '/memories/a';
    await run(['create', path, '--text', 'x']);
    expect(await run(['create', path, '--text', 'y'])).toMatchObject(
      failure(`Error: File ${path} already exists`),
    );
    expect(await run(['view', '/memories/b'])).toMatchObject(
      failure('The path /memories/b does not exist. Please provide a valid path.'),
    );
    expect(await run(['view', '/memories/b', '--raw'])).toMatchObject({ code: 1, stdout: '' });
    expect(await run(['delete', '/etc'])).toMatchObject({ code: 1, stdout: '' });
  }, 30_000);

  it('create from a file, from standard input and from bytes that are no text', async () => {
    const text = Buffer.from('\ufefftext\r\n');
    const bytes = Buffer.from([0xff, 0x00, 0xfe]);
    const file = join(folder, 'source');
    writeFileSync(file, text);
    expect((await run(['create', '/memories/file', '--file', file])).code).toBe(0);
    expect((await run(['create', '/memories/stdin'], { input: text })).code).toBe(0);
    expect((await run(['create', '/memories/dash', '--file', '-'], { input: '' })).code).toBe(0);
    expect(await run(['create', '/memories/bytes'], { input: bytes })).toMatchObject(
      success('File created successfully at: /memories/bytes'),
    );
    expect(await raw('/memories/file')).toEqual(text);
    expect(await raw('/memories/stdin')).toEqual(text);
    expect(await raw('/memories/dash')).toHaveLength(0);
    expect(await raw('/memories/bytes')).toEqual(bytes);
    expect(await run(['create', '/memories/bytes'], { input: bytes })).toMatchObject({ code: 1, stdout: '' });
    const overwrite = { ...env, SEALED_MEMORY_ON_EXISTS: 'overwrite' };
    expect(
      (await run(['create', '/memories/bytes'], { input: Buffer.from([0xff]), env: overwrite })).code,
    ).toBe(0);
    expect(await raw('/memories/bytes')).toEqual(Buffer.from([0xff]));
  }, 30_000);

  it('say what an image is and write its bytes with --raw', async () => {
    await run(['create', '/memories/dot.png'], { input: PNG });
    const { code, stdout } = await run(['view', '/memories/dot.png']);
    expect(code).toBe(0);
    expect(stdout).toContain('is an image');
    expect(stdout).toContain('--raw');
    expect(await raw('/memories/dot.png')).toEqual(PNG);
  }, 30_000);

  it('refuse more than the file limit before all of it is read', async () => {
    const limited = { ...env, SEALED_MEMORY_MAX_FILE_BYTES: '10' };
    const { code, stderr } = await run(['create', '/memories/a'], {
      env: limited,
      input: 'x'.repeat(100_000),
    });
    expect(code).toBe(1);
    expect(stderr).toContain('at most 10 bytes');
    expect((await run(['create', '/memories/a'], { env: limited, input: 'x'.repeat(10) })).code).toBe(0);
  }, 30_000);

  it('say that a source cannot be read', async () => {
    expect(await run(['create', '/memories/a', '--file', join(folder, 'absent')])).toMatchObject(
      failure('The file given with --file cannot be read (ENOENT).'),
    );
  });

  it('tell the operator what the sentence for the model leaves out', async () => {
    await run(['create', '/memories/a', '--text', 'private text']);
    const other = { ...env, SEALED_MEMORY_ROOT_KEY: Buffer.alloc(32, 9).toString('base64') };
    const { code, stdout, stderr } = await run(['view', '/memories/a'], { env: other });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain('key_unavailable');
    expect(stderr).not.toContain('private');
    expect(stderr).not.toContain(other.SEALED_MEMORY_ROOT_KEY);
  }, 30_000);
});
