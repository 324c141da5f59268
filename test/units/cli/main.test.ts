import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, runCli, startCli } from '../../stage/cli.ts';
import { CLI_PROGRAM } from '../../stage/programs.ts';

describe('sealed-memory', () => {
  it('ends without a word when the reader of its help is gone', () => {
    const command = '"$0" "$1" --help | true';
    const { stderr } = spawnSync('sh', ['-c', command, process.execPath, CLI_PROGRAM], { encoding: 'utf8' });
    expect(stderr).toBe('');
  });

  it.each([
    ['log', '--quiet'],
    ['tenants', '--quiet', '--json'],
  ])('ends without a word when the reader of a listing is gone: %s', async (...typed) => {
    const child = startCli(typed, { env: CLI_MEMORY_ENV });
    child.stdout.destroy();
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect([stderr, code]).toEqual(['', 0]);
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
});
