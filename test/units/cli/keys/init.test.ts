import { execFile } from 'node:child_process';
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
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../../support/cli.ts';

describe('sealed-memory init', { timeout: 60_000 }, () => {
  let cwd: string;
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'sealed-memory-init-'));
  });
  afterEach(() => rmSync(cwd, { recursive: true }));

  const modeOf = (path: string): number => statSync(join(cwd, path)).mode & 0o777;

  it('makes a key and settings that only their owner may read, and that all verbs find', async () => {
    const { code, stdout, stderr } = await runCli(['init'], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    expect(modeOf('.sealed-memory/root.key')).toBe(0o600);
    expect(modeOf('.sealed-memory')).toBe(0o700);
    const text = readFileSync(join(cwd, '.sealed-memory/root.key'), 'utf8');
    expect(text).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
    expect(stdout).not.toContain(text.trim());
    expect(readFileSync(join(cwd, '.sealed-memory/.gitignore'), 'utf8')).toBe('*\n');
    expect(readdirSync(join(cwd, '.sealed-memory')).sort()).toEqual(['.gitignore', 'root.key']);
    expect(modeOf('.env')).toBe(0o600);
    expect(readFileSync(join(cwd, '.gitignore'), 'utf8')).toBe('.env\n');
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
    expect(stdout).toContain('Store:    sqlite:.sealed-memory/store.sqlite\n');
    const other = await runCli(['init', '--store', 's3://bucket/a'], { cwd: join(cwd, '.sealed-memory') });
    expect(other.stdout).toContain('Store:    s3://bucket/a\n');
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
    const before = readFileSync(join(cwd, '.env'), 'utf8');
    const again = await runCli(['init', '--root-key-file', 'other'], { cwd });
    expect([again.code, again.stdout]).toEqual([2, '']);
    expect(again.stderr).toContain('never overwritten');
    expect(existsSync(join(cwd, 'other'))).toBe(false);
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe(before);
  });

  it('hands its settings to a program of yours by node --env-file', async () => {
    const program = [
      `import { openMemory, optionsFromEnvironment } from '${resolve('src/index.ts')}';`,
      'const memory = await openMemory(optionsFromEnvironment());',
      "console.log((await memory.files.read('/memories/a'))?.text());",
      'await memory.close();',
    ].join('\n');
    const env = { PATH: process.env['PATH'] ?? '' };
    const start = (...options: readonly string[]) =>
      promisify(execFile)(process.execPath, [...options, '--input-type=module', '--eval', program], {
        cwd,
        env,
      });
    const flags = ['--store', 'sqlite:my store.db', '--root-key-file', "it's/a key"];
    await runCli(['init', ...flags], { cwd });
    await runCli(['put', '/memories/a', '--text', 'from the command line'], { cwd });
    expect((await start('--env-file=.env')).stdout).toBe('from the command line\n');
    await expect(start()).rejects.toThrow(/start the program with "node --env-file=\.env"/);

    rmSync(join(cwd, '.env'));
    writeFileSync(join(cwd, '.sealed-memory/config.toml'), '[default]\n');
    await expect(start()).rejects.toThrow(/config\.toml of this folder is for the command line alone/);
  });

  it('says nothing of a .env that has other settings than the missing one', async () => {
    const start = (options: string) => {
      const program = `import { openMemory, optionsFromEnvironment } from '${resolve('src/index.ts')}';\nawait openMemory(${options});`;
      const args = ['--env-file=.env', '--input-type=module', '--eval', program];
      return promisify(execFile)(process.execPath, args, { cwd, env: { PATH: process.env['PATH'] ?? '' } });
    };
    writeFileSync(join(cwd, '.env'), 'SEALED_MEMORY_STORE=memory:\n');
    for (const options of ['optionsFromEnvironment()', "{ store: 'memory:', tenant: 'acme' }"]) {
      const failed: Error = (await start(options).catch((error: Error) => error)) as Error;
      expect(failed.message).toContain('is not set');
      expect(failed.message).not.toContain('--env-file=.env"');
    }
  });

  it('keeps what it made out of an import of the folder', async () => {
    await runCli(['init', '--store', 'sqlite:own.sqlite', '--root-key-file', 'own.key'], { cwd });
    writeFileSync(join(cwd, 'note.md'), 'of the user');
    const { code, stderr } = await runCli(['import', '.'], { cwd });
    expect(code).toBe(0);
    expect(stderr).toContain("own.key is of this program's own settings, keys or store: passed over");
    expect((await runCli(['ls', '--recursive'], { cwd })).stdout).toBe('.gitignore\nnote.md\n');
    await runCli(['import', cwd, 'again'], { cwd });
    expect((await runCli(['ls', 'again', '--recursive'], { cwd })).stdout.split('\n')).toHaveLength(3);
  });

  it('keeps a store out of an import that a link leads to, with what lies beside it', async () => {
    mkdirSync(join(cwd, 'data'));
    symlinkSync(join(cwd, 'data/real.sqlite'), join(cwd, 'link.sqlite'));
    await runCli(['init', '--store', 'sqlite:link.sqlite'], { cwd });
    await runCli(['put', 'a', '--text', 'x'], { cwd });
    expect(existsSync(join(cwd, 'data/real.sqlite-reserve'))).toBe(true);
    await runCli(['import', 'data', 'all'], { cwd });
    expect((await runCli(['ls', '--recursive'], { cwd })).stdout).toBe('a\n');
  });

  it('tells what to do where the key file is lost', async () => {
    await runCli(['init'], { cwd });
    rmSync(join(cwd, '.sealed-memory/root.key'));
    expect((await runCli(['ls'], { cwd })).stderr).toContain('put its copy back');
    expect((await runCli(['init'], { cwd })).stderr).toContain('put its copy back');
  });

  it('writes the settings again that were lost, for the root key that is there', async () => {
    await runCli(['init'], { cwd });
    const key = readFileSync(join(cwd, '.sealed-memory/root.key'), 'utf8');
    const settings = readFileSync(join(cwd, '.env'), 'utf8');
    await runCli(['put', '/memories/a', '--text', 'kept'], { cwd });
    rmSync(join(cwd, '.env'));
    const { code, stdout } = await runCli(['init'], { cwd });
    expect([code, stdout]).toEqual([0, expect.stringContaining('root.key; it was there already, and stays')]);
    expect(readFileSync(join(cwd, '.sealed-memory/root.key'), 'utf8')).toBe(key);
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe(settings);
    expect((await runCli(['cat', 'a'], { cwd })).stdout).toBe('kept');
  });

  it('prints the lines for a .env that is there, and changes nothing of it', async () => {
    writeFileSync(join(cwd, '.env'), 'MINE=1');
    const { code, stdout } = await runCli(['init'], { cwd });
    expect(code).toBe(0);
    const lines = stdout.match(/^SEALED_MEMORY_.+$/gm) ?? [];
    expect(lines).toEqual([
      'SEALED_MEMORY_STORE=sqlite:.sealed-memory/store.sqlite',
      'SEALED_MEMORY_TENANT=my-agent',
      'SEALED_MEMORY_ROOT_KEY_FILE=.sealed-memory/root.key',
    ]);
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe('MINE=1');
    expect(existsSync(join(cwd, '.gitignore'))).toBe(false);

    writeFileSync(join(cwd, '.env'), `MINE=1\n${lines.join('\n')}\n`);
    expect((await runCli(['put', '/memories/a', '--text', 'x'], { cwd })).code).toBe(0);
    const again = await runCli(['init', '--root-key-file', 'other'], { cwd });
    expect([again.code, existsSync(join(cwd, 'other'))]).toEqual([2, false]);
  });

  it.each([
    ['nothing yet', undefined, '.env\n'],
    ['other names', 'dist', 'dist\n.env\n'],
    ['it, in another way', 'dist\n.env*\n', 'dist\n.env*\n'],
  ])('has git ignore .env where .gitignore has %s', async (_, before, after) => {
    if (before !== undefined) writeFileSync(join(cwd, '.gitignore'), before);
    await runCli(['init'], { cwd });
    expect(readFileSync(join(cwd, '.gitignore'), 'utf8')).toBe(after);
  });

  it('writes a configuration file in the home folder, which the command line finds from there', async () => {
    const env = { HOME: cwd };
    expect((await runCli(['init', '--store', 'sqlite:a.sqlite'], { cwd, env })).code).toBe(0);
    expect(existsSync(join(cwd, '.env'))).toBe(false);
    expect(modeOf('.sealed-memory/config.toml')).toBe(0o600);
    expect((await runCli(['put', '/memories/a', '--text', 'x'], { cwd, env })).code).toBe(0);
    expect(existsSync(join(cwd, 'a.sqlite'))).toBe(true);
  });

  it('refuses a place that no .env can name', async () => {
    const { code, stderr } = await runCli(['init', '--root-key-file', `it's "odd"`], { cwd });
    expect([code, readdirSync(cwd)]).toEqual([2, []]);
    expect(stderr).toContain('choose a path without quotes');
  });
});
