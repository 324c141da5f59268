import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
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
