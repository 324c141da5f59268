import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCli } from '../../../stage/cli.ts';
import { PROGRAM_ENV } from '../../../stage/programs.ts';

describe('sealed-memory init', { timeout: 60_000 }, () => {
  let cwd: string;
  beforeEach(() => {
    cwd = mkdtempSync(join(tmpdir(), 'sealed-memory-init-'));
  });
  afterEach(() => rmSync(cwd, { recursive: true }));

  it('hands its settings to a program of yours by node --env-file', async () => {
    const program = [
      `import { openMemory, optionsFromEnvironment } from '${resolve('src/index.ts')}';`,
      'const memory = await openMemory(optionsFromEnvironment());',
      "console.log((await memory.files.read('/memories/a'))?.text());",
      'await memory.close();',
    ].join('\n');
    const start = (...options: readonly string[]) =>
      promisify(execFile)(process.execPath, [...options, '--input-type=module', '--eval', program], {
        cwd,
        env: PROGRAM_ENV,
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
      return promisify(execFile)(process.execPath, args, { cwd, env: PROGRAM_ENV });
    };
    writeFileSync(join(cwd, '.env'), 'SEALED_MEMORY_STORE=memory:\n');
    for (const options of ['optionsFromEnvironment()', "{ store: 'memory:', tenant: 'acme' }"]) {
      const failed: Error = (await start(options).catch((error: Error) => error)) as Error;
      expect(failed.message).toContain('is not set');
      expect(failed.message).not.toContain('--env-file=.env"');
    }
  });
});
