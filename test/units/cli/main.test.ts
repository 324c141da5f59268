import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, runCli } from '../../support/cli.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));

describe('sealed-memory', () => {
  it('ends without a word when the reader of its help is gone', () => {
    const command = '"$0" "$1" --help | true';
    const { stderr } = spawnSync('sh', ['-c', command, process.execPath, MAIN], { encoding: 'utf8' });
    expect(stderr).toBe('');
  });

  it('says in one sentence that an older Node is too old', async () => {
    const pretend = `Object.defineProperty(process.versions, 'node', { value: '22.12.0' })`;
    const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
    expect(await runCli(['--help'], { nodeArgs })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: 'sealed-memory: needs Node.js 22.13 or newer, and this is 22.12.0: install a newer one.\n',
    });
  });

  it.each([
    ['no store', { SEALED_MEMORY_STORE: '' }],
    ['no tenant', { SEALED_MEMORY_TENANT: '' }],
    ['no root key', { SEALED_MEMORY_ROOT_KEY: '' }],
    ['a misspelled setting', { SEALED_MEMORY_TENNANT: 'x' }],
    ['a malformed store', { SEALED_MEMORY_STORE: 'redis://secret' }],
    ['a malformed key', { SEALED_MEMORY_ROOT_KEY: 'secret' }],
    ['a malformed profile', { SEALED_MEMORY_PROFILE: 'secret' }],
    ['a malformed flag', { SEALED_MEMORY_HARNESS: 'secret' }],
  ])('ends with 2 and one line at %s, before it reads any input', async (_, wrong) => {
    const env = { ...CLI_MEMORY_ENV, ...wrong };
    const input = '{"command":"view","path":"/memories"}\n';
    const runs = [
      ['exec', '--jsonl'],
      ['tool', 'view', '/memories'],
    ].map((args) => runCli(args, { env, input }));
    for (const { code, stdout, stderr } of await Promise.all(runs)) {
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toMatch(/^sealed-memory: misconfigured: [^\n]*SEALED_MEMORY_[^\n]+\n$/);
      expect(stderr).not.toContain('secret');
    }
  });
});
