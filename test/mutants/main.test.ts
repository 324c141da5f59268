import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

it('says so, and ends well, where no file of a room was touched', { timeout: 60_000 }, () => {
  const cwd = mkdtempSync(join(tmpdir(), 'untouched-'));
  try {
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], { cwd });
    git('init', '--quiet');
    git('commit', '--quiet', '--allow-empty', '--message=empty');
    const main = resolve('test/mutants/main.ts');
    const { status, stdout } = spawnSync(process.execPath, [main, '--since', 'HEAD'], {
      cwd,
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, 'No file in a room whose mutants are counted.\n']);
  } finally {
    rmSync(cwd, { recursive: true });
  }
});
