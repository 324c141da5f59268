import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, runCli, startCli } from '../../support/cli.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

let folder: string;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-ends-'));
  env = { ...CLI_MEMORY_ENV, SEALED_MEMORY_STORE: `sqlite:${join(folder, 'store.sqlite')}` };
  await runCli(['put', 'a.md', '--text', 'one\n'], { env });
  execFileSync('mkfifo', [join(folder, 'pipe')]);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('standard output that is full', () => {
  it.each([
    ['cat a.md'],
    ['ls'],
    ['ls --json'],
    ['grep one'],
    ['stat a.md'],
    ['--help'],
    ['--version'],
    ['help options'],
  ])('ends %s with 1 and a sentence', (line) => {
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', '"$0" "$@" > /dev/full', process.execPath, MAIN, ...line.split(' ')],
      { env: { PATH: process.env['PATH'], HOME: folder, ...env }, encoding: 'utf8' },
    );
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'sealed-memory: Standard output cannot be written (ENOSPC): what is there is not whole.\n',
    });
  });
});

describe('a pipe in the place of a file', () => {
  const started = async (child: ReturnType<typeof startCli>): Promise<string> => {
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => {
      stderr += text.toString();
    });
    child.stdin.end();
    // Long enough to wait for the other end.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    return stderr;
  };

  it.each<readonly [string, NodeJS.Signals, boolean]>([
    ['put b.md --file PIPE', 'SIGINT', false],
    ['put b.md --file PIPE', 'SIGTERM', false],
    ['put b.md --file PIPE', 'SIGINT', true],
    ['tool create /memories/b.md --file PIPE', 'SIGINT', false],
    ['diff a.md PIPE', 'SIGINT', false],
  ])('ends with the signal: %s, %s, with a writer: %s', async (line, signal, isWritten) => {
    const pipe = join(folder, 'pipe');
    const writer = isWritten ? spawn('sh', ['-c', 'exec sleep 60 > "$1"', 'sh', pipe]) : undefined;
    const child = startCli(line.replace('PIPE', pipe).split(' '), { env });
    const ended = once(child, 'exit');
    await started(child);
    child.kill(signal);
    expect(await ended).toEqual([130, null]);
    writer?.kill();
    expect((await runCli(['ls'], { env })).stdout).toBe('a.md\n');
  });
});

it('edit without a terminal refuses before it reads anything', async () => {
  const nowhere = { ...env, SEALED_MEMORY_STORE: 's3://no-such-bucket' };
  expect(await runCli(['edit', 'a.md'], { env: nowhere })).toMatchObject({
    code: 2,
    stdout: '',
    stderr:
      'sealed-memory: "edit" needs a terminal for the editor: in a script, "get" and "put" read and write a file\n',
  });
});

it.each([['-'], ['. -'], ['a.md -'], ['- --html'], ['- --age age1x']])(
  'export %s says that nothing is exported to standard output',
  async (line) => {
    expect(await runCli(['export', ...line.split(' ')], { env, cwd: folder })).toMatchObject({
      code: 2,
      stdout: '',
      stderr:
        'sealed-memory: nothing is exported to standard output: name a folder or a file, or ./- for one of that name\n',
    });
  },
);

it('put --append tells how much was appended, and what the file has now', async () => {
  const append = (...more: readonly string[]) =>
    runCli(['put', 'log.md', '--append', '--text', 'né', ...more], { env });
  expect((await append()).stdout).toBe('ok    3 bytes appended to /memories/log.md, which has 3 bytes now\n');
  expect((await append()).stdout).toBe('ok    3 bytes appended to /memories/log.md, which has 6 bytes now\n');
  expect(JSON.parse((await append('--json')).stdout)).toEqual({
    event: 'done',
    path: '/memories/log.md',
    appended: 3,
    size: 9,
  });
  await runCli(['rm', 'log.md'], { env });
});

describe('a place where no backup can be made', () => {
  beforeAll(() => {
    mkdirSync(join(folder, 'folder'));
    writeFileSync(join(folder, 'file'), '');
    symlinkSync('circle', join(folder, 'circle'));
    symlinkSync('none/x', join(folder, 'astray'));
  });

  it.each([
    ['none/x', 'The folder none does not exist: make it, or name another one.'],
    ['file/x', 'file is no folder: name a file in one.'],
    ['folder', 'folder is a folder: name a file in it.'],
    ['new/', 'new/ ends with a slash, as a folder does: name a file in it.'],
    ['pipe', 'pipe is a pipe or a device, which can be no store: name a file.'],
    ['circle', 'circle is a link that leads in a circle: remove it, or name another file.'],
    ['astray', 'astray is a link into a folder that does not exist: make that folder, or name another file.'],
  ])('is refused for what it is: %s', async (to, sentence) => {
    expect(await runCli(['backup', to], { env, cwd: folder })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `sealed-memory: ${sentence}\n`,
    });
  });
});

describe('what is left of many', () => {
  it('is told a person by ten and a number, and a program by all', async () => {
    const many = join(folder, 'many');
    mkdirSync(many);
    for (let i = 10; i < 54; i++) writeFileSync(join(many, `${i}.md`), 'other');
    await runCli(['import', many, 'many'], { env });
    for (let i = 10; i < 54; i++) writeFileSync(join(many, `${i}.md`), 'differs');
    const { stdout, code } = await runCli(['import', many, 'many'], { env });
    expect(code).toBe(1);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(12);
    expect(lines[9]).toContain('19.md differs from');
    expect(lines[10]).toBe('      and 34 more: --json names all');
    const told = (await runCli(['import', many, 'many', '--json'], { env })).stdout.trimEnd().split('\n');
    expect(told.filter((line) => line.includes('"left":"differs'))).toHaveLength(44);
    expect(told.filter((line) => line.includes('more'))).toEqual([]);
  });
});
