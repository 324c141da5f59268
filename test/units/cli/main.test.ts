import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { CLI_MEMORY_ENV, runCli } from '../../support/cli.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const COMMANDS = [
  ...[
    'init',
    'doctor',
    'ls',
    'tree',
    'du',
    'stat',
    'grep',
    'tenants',
    'cat',
    'put',
    'get',
    'edit',
    'diff',
    'cp',
    'mv',
    'rm',
  ],
  ...[
    'import',
    'export',
    'verify',
    'restore',
    'expire',
    'keys',
    'tenant',
    'names',
    'tool',
    'exec',
    'mcp',
    'completion',
  ],
];

describe('sealed-memory', () => {
  it('lists its commands with --help and explains each', async () => {
    const { code, stdout } = await runCli(['--help']);
    expect(stdout).toContain('SEALED_MEMORY_ACTOR');
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
    expect(stdout).toMatch(/^ {2}export \[path\] <folder> /m);
    const helps = await Promise.all(COMMANDS.map((command) => runCli([command, '--help'])));
    for (const [index, help] of helps.entries()) {
      expect([help.code, help.stderr]).toEqual([0, '']);
      expect(help.stdout).toContain(`Usage: sealed-memory ${COMMANDS[index]}`);
    }
  }, 30_000);

  it('prints the version of the package', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));
    expect(await runCli(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });

  it.each([
    [[]],
    [['unknown']],
    [['tool', 'view']],
    [['tool', 'view', '/memories', 'extra']],
    [['tool', 'view', '/memories', '--unknown']],
    [['tool', 'view', '/memories/a', '--range', 'x']],
    [['tool', 'view', '/memories/a', '--range', '5']],
    [['tool', 'create', '/memories/a', '--text', 'x', '--file', 'y']],
    [['tool', 'str-replace', '/memories/a']],
    [['tool', 'insert', '/memories/a', 'two', '--text', 'x']],
    [['exec']],
    [['cat', '/memories/a', '--lines', '3,1']],
    [['export']],
    [['completion', 'tcsh']],
  ])('ends with 2 when it is called as %j', async (args) => {
    const { code, stdout, stderr } = await runCli(args, { env: CLI_MEMORY_ENV });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).not.toBe('');
  });

  it.each([
    [['lz'], 'There is no command "lz": did you mean ls?'],
    [['keys', 'statu'], 'There is no command "statu": did you mean status?'],
    [['ls', '--jsno'], 'There is no option "--jsno": did you mean --json?'],
    [['cat'], "missing required argument 'path': --help behind the command shows what it takes."],
    [
      ['tool', 'view', '/memories/a', '--range', '5'],
      "option '--range <first,last>' argument '5' is invalid. Give first,last such as 10,20 or 10,-1.",
    ],
    [
      ['grep', '(', '/memories'],
      'misconfigured: The pattern is not a regular expression; --fixed-strings takes it as it is.',
    ],
  ])('says in one line why %j is refused', async (args, line) => {
    expect(await runCli(args, { env: CLI_MEMORY_ENV })).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `sealed-memory: ${line}\n`,
    });
  });

  it.each([
    [['show', '/memories/a'], "missing required argument 'version'"],
    [['show', 'v-Ab3_x'], "missing required argument 'version'"],
    [
      ['show', '/memories/a', '-Ab3_x'],
      'There is no option "-Ab3_x": a version that begins with a dash is typed with a v',
    ],
    [['ls', '-Ab3_x'], 'There is no option "-Ab3_x": "sealed-memory help"'],
    [['trace', '/memories/a', '--unknown', '-Ab3_x'], 'There is no option "--unknown"'],
    [['open', 'show', '--port', '-Ab3_x'], "option '--port <port>' argument '-Ab3_x' is invalid."],
    [['tenant', 'nope'], 'There is no command "nope"'],
    [['undo', 'ann', '--turn', '1'], 'give either a writer, as "log" names it, or --turn and its id'],
    [['tenant', 'shred'], '"tenant shred" needs --confirm with the tenant\'s name; nothing was changed'],
  ])('tells a program, and plainly a person, why %j is refused', async (args, why) => {
    const { code, stdout, stderr } = await runCli([...args, '--json', '--quiet'], { env: CLI_MEMORY_ENV });
    expect(code).toBe(2);
    const { event, code: kind, message } = JSON.parse(stdout);
    expect([event, kind]).toEqual(['failed', 'misconfigured']);
    expect(message.startsWith(why), message).toBe(true);
    expect(stderr).toBe(`sealed-memory: ${message}\n`);
  });

  it.each(['ls', 'mcp'])(
    'says at the start of %s that a mount takes writes beside --read-only',
    async (verb) => {
      const args = [verb, '--read-only', '--mount', '/memories/drafts=drafts'];
      const half = 'This memory is read-only, and takes writes below a mount that is not';
      const { code, stderr } = await runCli(args, { env: CLI_MEMORY_ENV });
      expect([code, stderr]).toEqual([0, expect.stringContaining(`sealed-memory: warning: ${half}`)]);
      const { stderr: said } = await runCli([...args.slice(0, -1), '/memories/drafts=drafts:ro'], {
        env: CLI_MEMORY_ENV,
      });
      expect(said).not.toContain('takes writes');
    },
  );

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
