import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { CLI_MEMORY_ENV, runCli, startCli } from '../../stage/cli.ts';
import { CLI_PROGRAM, PROGRAM_ENV } from '../../stage/programs.ts';

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
      ['-c', '"$0" "$@" > /dev/full', process.execPath, CLI_PROGRAM, ...line.split(' ')],
      { env: { ...PROGRAM_ENV, HOME: folder, ...env }, encoding: 'utf8' },
    );
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: 'sealed-memory: Standard output cannot be written (ENOSPC): what is there is not whole.\n',
    });
  });
});

/** Tells of Linux whether a program has its own handlers of signals; Node alone has none for the end of a terminal. */
function listensForHangups(pid: number | undefined): boolean {
  if (!existsSync('/proc/self/status')) return true;
  const [, caught = '0'] = /^SigCgt:\s+([\da-f]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return (BigInt(`0x${caught}`) & 1n) === 1n;
}

describe('a pipe in the place of a file', () => {
  const started = async (child: ReturnType<typeof startCli>): Promise<string> => {
    let stderr = '';
    child.stderr.on('data', (text: Buffer) => {
      stderr += text.toString();
    });
    child.stdin.end();
    await vi.waitUntil(() => listensForHangups(child.pid), { timeout: 60_000, interval: 20 });
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
