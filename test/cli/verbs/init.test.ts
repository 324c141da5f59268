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
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../support/cli.ts';

describe('sealed-memory init', { timeout: 60_000 }, () => {
  let cwd: string;
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'sealed-memory-init-'));
  });
  afterEach(() => rmSync(cwd, { recursive: true }));

  const modeOf = (path: string): number => statSync(join(cwd, path)).mode & 0o777;

  it('makes a key that only its owner may read, and a configuration that all verbs find', async () => {
    const { code, stdout, stderr } = await runCli(['init'], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    expect(modeOf('.sealed-memory/root.key')).toBe(0o600);
    expect(modeOf('.sealed-memory')).toBe(0o700);
    const text = readFileSync(join(cwd, '.sealed-memory/root.key'), 'utf8');
    expect(text).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
    expect(stdout).not.toContain(text.trim());
    expect(readFileSync(join(cwd, '.sealed-memory/.gitignore'), 'utf8')).toBe('*\n');
    expect(readdirSync(join(cwd, '.sealed-memory')).sort()).toEqual([
      '.gitignore',
      'config.toml',
      'root.key',
    ]);
  });

  it.each(['npx ', ''])('prints next steps that work as %jsealed-memory', async (runner) => {
    const bin = join(cwd, 'bin');
    mkdirSync(bin);
    if (runner === '') writeFileSync(join(bin, 'sealed-memory'), '', { mode: 0o700 });
    const env = { PATH: `${bin}:${process.env['PATH']}` };
    const { stdout } = await runCli(['init'], { cwd, env });
    const steps = [...stdout.matchAll(/^ {2}(\S.*)$/gm)].map(([, step = '']) => step.replace(/ +#.*/, ''));
    expect(steps).toHaveLength(3);
    for (const step of steps) {
      expect(step.startsWith(`${runner}sealed-memory `)).toBe(true);
      const args = step.slice(`${runner}sealed-memory `.length).match(/'[^']*'|\S+/g) ?? [];
      const result = await runCli(
        args.map((arg) => arg.replaceAll("'", '')),
        { cwd },
      );
      expect(result).toMatchObject({ code: 0, stderr: '' });
    }
    expect(existsSync(join(cwd, '.sealed-memory/store.sqlite'))).toBe(true);
  });

  it('prints steps of npx, too, while npx alone finds the program', async () => {
    const bin = join(cwd, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'sealed-memory'), '', { mode: 0o700 });
    const env = { PATH: `${bin}:${process.env['PATH']}`, npm_command: 'exec' };
    expect((await runCli(['init'], { cwd, env })).stdout).toContain('  npx sealed-memory doctor ');
  });

  it('tells where the store lies, as seen from here', async () => {
    const { stdout } = await runCli(['init'], { cwd });
    expect(stdout).toContain('Store:         sqlite:.sealed-memory/store.sqlite\n');
    const other = await runCli(['init', '--store', 's3://bucket/a'], { cwd: join(cwd, '.sealed-memory') });
    expect(other.stdout).toContain('Store:         s3://bucket/a\n');
  });

  it('takes store, tenant and key file from the flags', async () => {
    const flags = ['--store', 'sqlite:here/a.sqlite', '--tenant', 'acme', '--root-key-file', "it's/a key"];
    expect((await runCli(['init', ...flags], { cwd })).code).toBe(0);
    mkdirSync(join(cwd, 'here'));
    expect((await runCli(['put', '/memories/a', '--text', 'x'], { cwd })).code).toBe(0);
    expect(modeOf("it's/a key")).toBe(0o600);
    expect(existsSync(join(cwd, 'here/a.sqlite'))).toBe(true);
    expect((await runCli(['keys', 'status', '--tenant', 'globex', '--json'], { cwd })).stdout).toContain(
      'absent',
    );
    expect((await runCli(['keys', 'status', '--json'], { cwd })).stdout).toContain('"open"');
  });

  it('makes a different key every time', async () => {
    await runCli(['init'], { cwd });
    await runCli(['init'], { cwd: join(cwd, '.sealed-memory') });
    const [one, two] = ['.sealed-memory', '.sealed-memory/.sealed-memory'].map((folder) =>
      readFileSync(join(cwd, folder, 'root.key'), 'utf8'),
    );
    expect(one).not.toBe(two);
  });

  it('leaves whatever is there as it is', async () => {
    writeFileSync(join(cwd, 'file'), 'mine');
    symlinkSync(join(cwd, 'nowhere'), join(cwd, 'link'));
    for (const file of ['file', 'link', '.']) {
      const { code, stdout, stderr } = await runCli(['init', '--root-key-file', file], { cwd });
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^sealed-memory: [^\n]+\n$/);
    }
    expect(readFileSync(join(cwd, 'file'), 'utf8')).toBe('mine');
    expect(() => statSync(join(cwd, 'nowhere'))).toThrow();
    expect((await runCli(['init'], { cwd })).code).toBe(0);
    const before = readFileSync(join(cwd, '.sealed-memory/config.toml'), 'utf8');
    const again = await runCli(['init', '--root-key-file', 'other'], { cwd });
    expect([again.code, again.stdout]).toEqual([2, '']);
    expect(again.stderr).toContain('never overwritten');
    expect(existsSync(join(cwd, 'other'))).toBe(false);
    expect(readFileSync(join(cwd, '.sealed-memory/config.toml'), 'utf8')).toBe(before);
  });
});
