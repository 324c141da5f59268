import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, type CliOptions, runCli } from '../../../support/cli.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

describe('sealed-memory tool', () => {
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
  const raw = async (path: string) => (await run(['cat', path])).bytes;

  it('carry a file through its life', async () => {
    const path = '/memories/notes/a.txt';
    expect(await run(['tool', 'create', path, '--text', 'one\ntwo\n'])).toMatchObject(
      success(`File created successfully at: ${path}`),
    );
    expect(await run(['tool', 'view', path, '--range', '2,-1'])).toMatchObject({ code: 0 });
    expect((await run(['tool', 'view', path])).stdout).toContain('     2\ttwo\n');
    expect((await run(['tool', 'str-replace', path, '--old', 'two', '--new', '-2'])).code).toBe(0);
    expect(await run(['tool', 'insert', path, '0', '--text', 'zero'])).toMatchObject(
      success(`The file ${path} has been edited.`),
    );
    expect((await raw(path)).toString()).toBe('zero\none\n-2\n');
    expect(await run(['tool', 'rename', '/memories/notes', '/memories/kept'])).toMatchObject(
      success('Successfully renamed /memories/notes to /memories/kept'),
    );
    expect((await run(['tool', 'view', '/memories'])).stdout).toContain('\t/memories/kept/a.txt\n');
    expect(await run(['tool', 'delete', '/memories/kept'])).toMatchObject(
      success('Successfully deleted /memories/kept'),
    );
    expect((await run(['tool', 'view', '/memories'])).stdout).toMatch(/\n0B\t\/memories\n$/);
  }, 30_000);

  it('show a failure on standard error and end with 1', async () => {
    const path = '/memories/a';
    await run(['tool', 'create', path, '--text', 'x']);
    expect(await run(['tool', 'create', path, '--text', 'y'])).toMatchObject(
      failure(`Error: File ${path} already exists`),
    );
    expect(await run(['tool', 'view', '/memories/b'])).toMatchObject(
      failure('The path /memories/b does not exist. Please provide a valid path.'),
    );
    expect(await run(['cat', '/memories/b'])).toMatchObject(failure('There is no file at /memories/b.'));
    expect(await run(['tool', 'delete', '/etc'])).toMatchObject({ code: 1, stdout: '' });
  }, 30_000);

  it('create a text from a file and from standard input', async () => {
    const text = Buffer.from('\ufefftext\r\n');
    const file = join(folder, 'source');
    writeFileSync(file, text);
    expect((await run(['tool', 'create', '/memories/file', '--file', file])).code).toBe(0);
    expect((await run(['tool', 'create', '/memories/stdin'], { input: text })).code).toBe(0);
    expect((await run(['tool', 'create', '/memories/dash', '--file', '-'], { input: '' })).code).toBe(0);
    expect(await raw('/memories/file')).toEqual(text);
    expect(await raw('/memories/stdin')).toEqual(text);
    expect(await raw('/memories/dash')).toHaveLength(0);
    expect(await run(['tool', 'create', '/memories/bytes'], { input: Buffer.from([0xff]) })).toMatchObject(
      failure('The tool takes UTF-8 text alone; "sealed-memory put" takes any bytes.'),
    );
  }, 30_000);

  it('say of an image how to get it', async () => {
    expect((await run(['put', '/memories/dot.png'], { input: PNG })).code).toBe(0);
    const { code, stdout } = await run(['tool', 'view', '/memories/dot.png']);
    expect(code).toBe(0);
    expect(stdout).toContain('is an image');
    expect(stdout).toContain('"sealed-memory get"');
    expect(await raw('/memories/dot.png')).toEqual(PNG);
  }, 30_000);

  it('answer programs with JSON lines', async () => {
    const path = '/memories/a';
    const json = async (...args: readonly string[]) =>
      JSON.parse((await run(['tool', ...args, '--json'])).stdout);
    expect(await json('create', path, '--text', 'x')).toEqual({
      event: 'done',
      content: `File created successfully at: ${path}`,
    });
    expect(await json('create', path, '--text', 'y')).toEqual({
      event: 'failed',
      code: 'already_exists',
      content: `Error: File ${path} already exists`,
    });
  }, 30_000);

  it('warn that nothing stays in memory:', async () => {
    const { code, stderr } = await run(['tool', 'create', '/memories/a', '--text', 'x'], {
      env: CLI_MEMORY_ENV,
    });
    expect([code, stderr]).toEqual([0, 'sealed-memory: memory: nothing stays when this command ends.\n']);
    const quiet = await run(['--quiet', 'tool', 'view', '/memories'], { env: CLI_MEMORY_ENV });
    expect([quiet.code, quiet.stderr]).toEqual([0, '']);
  }, 30_000);

  it('refuse more than the file limit before all of it is read', async () => {
    const limited = { ...env, SEALED_MEMORY_MAX_FILE_BYTES: '10' };
    const { code, stderr } = await run(['tool', 'create', '/memories/a'], {
      env: limited,
      input: 'x'.repeat(100_000),
    });
    expect(code).toBe(1);
    expect(stderr).toContain('larger than 10 bytes');
    expect(stderr).toContain('SEALED_MEMORY_MAX_FILE_BYTES');
    expect((await run(['tool', 'create', '/memories/a'], { env: limited, input: 'x'.repeat(10) })).code).toBe(
      0,
    );
  }, 30_000);

  it('say that a source cannot be read', async () => {
    expect(await run(['tool', 'create', '/memories/a', '--file', join(folder, 'absent')])).toMatchObject(
      failure('The file cannot be read (ENOENT).'),
    );
  });

  it('tell the operator in one line what the sentence for the model leaves out', async () => {
    await run(['tool', 'create', '/memories/a', '--text', 'private text']);
    const other = { ...env, SEALED_MEMORY_ROOT_KEY: Buffer.alloc(32, 9).toString('base64') };
    const { code, stdout, stderr } = await run(['tool', 'view', '/memories/a'], { env: other });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^sealed-memory: key_unavailable: [^\n]+\n$/);
    expect(stderr).not.toContain('private');
    expect(stderr).not.toContain(other.SEALED_MEMORY_ROOT_KEY);
  }, 30_000);
});
