import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleCli } from '../../../infra/bundle-cli.ts';

describe('the bundle of the command line', { timeout: 60_000 }, () => {
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'sealed-memory-bundle-'));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    await bundleCli(join(folder, 'cli'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const run = (args: readonly string[]): string =>
    execFileSync(process.execPath, [join(folder, 'cli/main.cjs'), ...args], {
      cwd: folder,
      encoding: 'utf8',
      env: { HOME: folder },
    });

  it('does what the sources do', () => {
    expect(run(['--help'])).toContain('Usage: sealed-memory');
    run(['init']);
    run(['put', '/memories/a.md', '--text', 'hello']);
    expect(run(['cat', '/memories/a.md'])).toBe('hello');
    expect(run(['verify'])).toContain('1 file, 5 bytes: all well');
    expect(run(['completion', 'bash'])).toContain('complete bash --');
    expect(run(['complete', '--', 'keys', ''])).toContain('rotate');
  });

  it('starts with what the verbs declare, and loads what they do when they run', () => {
    const main = readFileSync(join(folder, 'cli/main.cjs'), 'utf8');
    const ofOthers = [...main.matchAll(/^\/\/ (src\/(?!cli\/).*)$/gm)].map(([, path]) => path);
    expect(ofOthers.sort()).toEqual([
      // Bounds of numbers that are typed.
      'src/admin/expiry/expire.ts',
      'src/errors.ts',
      'src/keys/keyring-cache.ts',
      'src/language/path-faults.ts',
      'src/language/path.ts',
      'src/language/text.ts',
      'src/open/options/known-names.ts',
    ]);
    expect(main).not.toContain('import_meta');
    expect([...main.matchAll(/^(?:async )?function (run\w*)/gm)].map(([, name]) => name)).toEqual([
      'runProgram',
      'runLine',
    ]);
  });

  it('tells the licence of every package in it', () => {
    const licenses = readFileSync(join(folder, 'cli/LICENSES.txt'), 'utf8');
    for (const name of [
      'commander',
      'smol-toml',
      'cli-progress',
      'diff',
      'modern-tar',
      'age-encryption',
      'preact',
      'markdown-it',
    ]) {
      expect(licenses).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+$`, 'm'));
    }
  });
});
