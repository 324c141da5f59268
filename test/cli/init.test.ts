import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';

describe('sealed-memory init', () => {
  let cwd: string;
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'sealed-memory-init-'));
  });
  afterEach(() => rmSync(cwd, { recursive: true }));

  const modeOf = (path: string): number => statSync(join(cwd, path)).mode & 0o777;

  it('creates a key that only its owner may read and prints the next step, not the key', async () => {
    const { code, stdout, stderr } = await runCli(['init'], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    expect(modeOf('.sealed-memory/root.key')).toBe(0o600);
    expect(modeOf('.sealed-memory')).toBe(0o700);
    const text = readFileSync(join(cwd, '.sealed-memory/root.key'), 'utf8');
    expect(text).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
    expect(stdout).not.toContain(text.trim());
    expect(stdout).toContain('export SEALED_MEMORY_ROOT_KEY_FILE=/');
    expect(stdout).toContain('sealed-memory doctor');
  });

  it('makes a different key every time', async () => {
    await runCli(['init', '--file', 'a'], { cwd });
    await runCli(['init', '--file', 'b'], { cwd });
    expect(readFileSync(join(cwd, 'a'), 'utf8')).not.toBe(readFileSync(join(cwd, 'b'), 'utf8'));
  });

  it('leaves whatever is there as it is', async () => {
    writeFileSync(join(cwd, 'file'), 'mine');
    symlinkSync(join(cwd, 'nowhere'), join(cwd, 'link'));
    for (const file of ['file', 'link', '.']) {
      const { code, stdout, stderr } = await runCli(['init', '--file', file], { cwd });
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^sealed-memory: [^\n]+\n$/);
    }
    expect(readFileSync(join(cwd, 'file'), 'utf8')).toBe('mine');
    expect(() => statSync(join(cwd, 'nowhere'))).toThrow();
  });

  it('creates what the printed steps configure', async () => {
    const { stdout } = await runCli(['init', '--file', "it's a key/root key"], { cwd });
    const path = /ROOT_KEY_FILE=(.+)/.exec(stdout)?.[1];
    expect(path).toBe(`'${cwd}/it'\\''s a key/root key'`);
    const env = {
      SEALED_MEMORY_ROOT_KEY_FILE: join(cwd, "it's a key/root key"),
      SEALED_MEMORY_STORE: 'sqlite:store.sqlite',
      SEALED_MEMORY_TENANT: 'my-agent',
    };
    expect((await runCli(['create', '/memories/a', '--text', 'x'], { cwd, env })).code).toBe(0);
    expect((await runCli(['view', '/memories/a', '--raw'], { cwd, env })).stdout).toBe('x');
  });
});
