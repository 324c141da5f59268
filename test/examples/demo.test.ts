import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startDemoClaude } from '../../examples/demo/demo-claude.ts';
import { openMemory } from '../../src/index.ts';
import type { ResultOf } from '../../src/page/protocol.ts';
import type { ScriptedReply } from '../../src/testing/claude/reply.ts';
import { runCli } from '../stage/cli.ts';
import { askRaw, linesIn, signIn } from '../stage/page-site.ts';
import { putNpx } from '../stage/programs.ts';
import { type DemoRun, printedCommands, runDemo, SECRET_WORDS, startDemo } from './demo-process.ts';

const TIMEOUT = 60_000;

let directory: string;
/** The environment that tells the demo where to put its files. */
let place: { readonly TMPDIR: string };

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'sealed-memory-test-'));
  place = { TMPDIR: directory };
});

afterEach(() => rm(directory, { recursive: true }));

describe('npm run demo', { timeout: TIMEOUT }, () => {
  /** One run, which the first tests look at, each by itself. */
  let run: DemoRun;
  let runs: string;
  beforeAll(async () => {
    runs = await mkdtemp(join(tmpdir(), 'sealed-memory-test-'));
    run = await runDemo('main.ts', { env: { TMPDIR: runs } });
  }, TIMEOUT);
  afterAll(() => rm(runs, { recursive: true }));

  it('plays two conversations in two processes, says who plays Claude, and checks its claims', () => {
    const { code, stdout, stderr } = run;
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /Claude {4}a script at http:\/\/127\.0\.0\.1:\d+, as ANTHROPIC_API_KEY is not set/,
    );
    expect(stdout.replaceAll(/\s+/g, '')).toContain(`Storesqlite:${runs}/sealed-memory-demo-`);
    expect(stdout).toMatch(/Tenant {4}demo-[0-9a-f]{12} \(made for this run\)/);
    expect(stdout.replaceAll(/\s+/g, '')).toContain('root.key(madeforthisrun;onlyyoumayreadit)');
    const processes = [...stdout.matchAll(/Conversation (\w+), process (\d+)/g)];
    expect(processes.map(([, name]) => name)).toEqual(['one', 'two']);
    expect(new Set(processes.map(([, , pid]) => pid)).size).toBe(2);
    expect(printedCommands(stdout)).toEqual([
      ...['view', 'create', 'create', 'view'],
      ...['str_replace', 'insert', 'create', 'insert', 'rename', 'delete', 'view'],
      ...['view', 'view', 'str_replace', 'create'],
    ]);
    expect(stdout.match(/^checked: /gm)).toHaveLength(2);
    const [wrapped = ''] = stdout.split('And what the file tells without');
    expect(widest(wrapped)).toBeLessThanOrEqual(100);
  });

  it('prints beside the commands what lies in the store, where no word of the memory can be found', async () => {
    const { stdout } = run;
    const right = stdout.split('\n').flatMap((line) => line.split(' │ ')[1] ?? []);
    expect(right.filter((cell) => /^[+~-] data\//.test(cell))).toHaveLength(7);
    expect(right.filter((cell) => /^ {2}[\w-]{43}\/?$/.test(cell)).length).toBeGreaterThanOrEqual(7);
    expect(right.filter((cell) => /^ {2}\d+ bytes: … (?:[0-9a-f]{2} ){8}…$/.test(cell))).toHaveLength(7);
    const database = await readAllBelow(runs);
    expect(database.includes('tenants/demo-')).toBe(true);
    for (const word of SECRET_WORDS) {
      expect(right.join('\n')).not.toContain(word);
      expect(database.includes(word), word).toBe(false);
    }
  });

  it('ends with a search of the file that finds nothing, and with commands that run as printed', async () => {
    const { stdout } = run;
    const search = /^\$ (cat .* \| strings \| grep -ciE '.*')\n0$/m.exec(stdout)?.[1] ?? '';
    expect(search).toContain('Kestrel');
    const without = search.replace('| strings |', '|').replace('grep -ciE', 'grep -aciE');
    expect(spawnSync('sh', ['-c', without], { encoding: 'utf8' })).toMatchObject({
      stdout: '0\n',
      stderr: '',
    });
    const steps = stdout.split('Your turn')[1] ?? '';
    const config = /^export SEALED_MEMORY_CONFIG=(.*)$/m.exec(steps)?.[1] ?? '';
    const commands = [...steps.matchAll(/^npx sealed-memory (.*)$/gm)].map(([, args = '']) =>
      args.split(' '),
    );
    expect(commands).toHaveLength(5);
    // The first shows a page until it is ended.
    expect(commands.shift()).toEqual(['open', '--write']);
    for (const args of commands) {
      const { code, stdout: said, stderr } = await runCli(args, { env: { SEALED_MEMORY_CONFIG: config } });
      expect([args, code, stderr]).toEqual([args, 0, '']);
      if (args[0] === 'grep') expect(said).toContain('Kestrel');
    }
  });

  it('says at the end where its folder is, and what removes it', async () => {
    const [folder = ''] = await readdir(runs);
    const said = `\nWhat was made for this run stays in ${join(runs, folder)}\nTo remove it: (.*)\n$`;
    const [, removal = ''] = new RegExp(said).exec(run.stdout) ?? [];
    // The last look at the run.
    expect(spawnSync('sh', ['-c', removal], { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
    expect(await readdir(runs)).toEqual([]);
  });

  it('leaves no folder where nothing was stored', async () => {
    const env = { ...place, ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' };
    const { code, stdout } = await runDemo('main.ts', { env });
    expect([code, stdout.includes('What was made for this run stays')]).toEqual([1, false]);
    expect(await readdir(directory)).toEqual([]);
  });

  it('shows the memory on a page, with a planted script in it', { timeout: 120_000 }, async () => {
    putNpx(directory);
    const env = { ...place, PATH: `${directory}:${process.env['PATH']}` };
    const demo = startDemo('main.ts', { args: ['--page', '--no-browser'], env });
    const [address] = await demo.printed(/http:\/\/127\.0\.0\.1:\d+\/#\S{43}/);
    const { origin } = new URL(address);
    const cookie = await signIn({ address, origin });
    const headers = { origin, cookie, 'content-type': 'application/json' };
    const ask = async (name: string, input: object): Promise<unknown> =>
      linesIn(
        await askRaw(`${origin}/api/${name}`, { method: 'POST', headers, body: JSON.stringify(input) }),
      ).at(-1);
    expect(JSON.stringify(await ask('file', { path: '/memories/from-a-stranger.md' }))).toContain('<script>');
    const path = '/memories/customers/acme-bakery.md';
    const { entries } = (await ask('versions', { path })) as ResultOf<'versions'>;
    expect(entries.map(({ writer, end }) => [writer, end])).toEqual([
      ['a stranger', 'current'],
      ['conversation two', 'replaced'],
      ['conversation one', 'replaced'],
      ['conversation one', 'replaced'],
    ]);
    const [base, version] = entries.map((entry) => entry.version);
    expect(await ask('restore', { path, version, base })).toMatchObject({ path });
    expect(JSON.stringify(await ask('file', { path }))).not.toContain('stranger');
    process.kill(demo.pid, 'SIGTERM');
    expect(await demo.ended).toMatchObject({ code: 143, stderr: '' });
    await expect(fetch(origin)).rejects.toThrow();
  });

  it('talks to the API with the key, and tries the same there', async () => {
    const replies: ScriptedReply[] = [];
    await using claude = await startDemoClaude({ onReply: (reply) => replies.push(reply) });
    const env = {
      ...place,
      ANTHROPIC_API_KEY: 'key',
      ANTHROPIC_BASE_URL: claude.url,
      ANTHROPIC_MODEL: 'claude-opus-4-8',
    };
    const { code, stdout } = await runDemo('main.ts', { env });

    expect(stdout).toContain('Claude    Claude itself, by your ANTHROPIC_API_KEY');
    expect(code).toBe(0);
    expect(new Set(replies.map(({ model }) => model))).toEqual(new Set(['claude-opus-4-8']));
  });

  it('fails when the second conversation remembers nothing', async () => {
    const content = [{ type: 'text', text: 'I do not know.' }];
    const forgetful = createServer((_, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(
          JSON.stringify({ type: 'message', role: 'assistant', content, stop_reason: 'end_turn', usage: {} }),
        ),
    );
    const ANTHROPIC_BASE_URL = await listen(forgetful);
    const { code, stdout } = await runDemo('main.ts', {
      env: { ...place, ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL },
    });
    forgetful.close();

    expect(code).toBe(1);
    expect(stdout).toMatch(/^NOT TRUE: the second process/m);
  });
});

describe('npm on a Node that is too old', { timeout: TIMEOUT }, () => {
  it('says nothing of that in a checkout, whose scripts bring a Node of their own', async () => {
    const manifest = { name: 'too-new', version: '1.0.0', engines: { node: '>=99' } };
    await writeFile(join(directory, 'package.json'), JSON.stringify(manifest));
    const install = () =>
      spawnSync('npm', ['install', '--offline', '--no-audit'], {
        cwd: directory,
        encoding: 'utf8',
        env: { PATH: process.env['PATH'], HOME: directory },
      });
    expect(install().stderr).toContain('EBADENGINE');
    await copyFile('.npmrc', join(directory, '.npmrc'));
    expect(install()).toMatchObject({ status: 0, stderr: '' });
  });
});

describe('The second conversation', { timeout: TIMEOUT }, () => {
  it('carries a word that was changed in the memory since the first', async () => {
    const replies: ScriptedReply[] = [];
    await using claude = await startDemoClaude({ onReply: (reply) => replies.push(reply) });
    const settings = {
      store: `sqlite:${join(directory, 'memory.sqlite')}`,
      tenant: 'changed-between',
      rootKey: randomBytes(32).toString('base64'),
    };
    const env = {
      ...place,
      SEALED_MEMORY_STORE: settings.store,
      SEALED_MEMORY_TENANT: settings.tenant,
      SEALED_MEMORY_ROOT_KEY: settings.rootKey,
      ANTHROPIC_API_KEY: 'key',
      ANTHROPIC_BASE_URL: claude.url,
    };
    expect((await runDemo('conversation.ts', { args: ['one'], env })).code).toBe(0);
    const first = replies.splice(0);
    expect(JSON.stringify(first)).toContain('Kestrel');

    const memory = await openMemory(settings);
    const edit = await memory.execute({
      command: 'str_replace',
      path: '/memories/customers/acme-bakery.md',
      old_str: 'Kestrel',
      new_str: 'Osprey',
    });
    await memory.close();
    expect(edit.isError).toBe(false);

    const second = await runDemo('conversation.ts', { args: ['two'], env });
    expect(second.code).toBe(0);
    expect(replies.flatMap(commands)).toEqual([
      { command: 'view', path: '/memories' },
      { command: 'view', path: '/memories/customers/acme-bakery.md' },
      {
        command: 'str_replace',
        path: '/memories/customers/acme-bakery.md',
        old_str: 'Code name: Osprey',
        new_str: 'Code name: Osprey (public)',
      },
      {
        command: 'create',
        path: '/memories/sessions/osprey.md',
        file_text: 'Osprey is public as of this session.\n',
      },
    ]);
    expect(replies.at(-1)?.content.slice(-1)).toEqual([
      { type: 'text', text: 'We are planning Osprey (public). Budget: 4,500 euros; mails: short.' },
    ]);
    expect(second.stdout).not.toContain('Kestrel');
  });
});

describe('The demo says in one sentence why it cannot run', { timeout: TIMEOUT }, () => {
  it.each([
    ['an unknown setting', { SEALED_MEMORY_STOER: 'x' }, 'SEALED_MEMORY_STOER is not a setting'],
    ['a malformed store', { SEALED_MEMORY_STORE: 'ftp://x' }, 'SEALED_MEMORY_STORE must be'],
    ['a store of one process', { SEALED_MEMORY_STORE: 'memory:' }, 'SEALED_MEMORY_STORE is memory:'],
    ['a malformed root key', { SEALED_MEMORY_ROOT_KEY: 'secret' }, 'SEALED_MEMORY_ROOT_KEY is not base64'],
    [
      'an endpoint where nothing listens',
      {
        SEALED_MEMORY_STORE: 's3://bucket/prefix',
        SEALED_MEMORY_S3_ENDPOINT: 'http://127.0.0.1:1',
        AWS_ACCESS_KEY_ID: 'id',
        AWS_SECRET_ACCESS_KEY: 'secret',
      },
      'cannot be reached',
    ],
    [
      'an API where nothing listens',
      { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' },
      'The API cannot be reached',
    ],
  ])('given %s', async (_, env, reason) => {
    const { code, stderr } = await runDemo('main.ts', { env: { ...place, ...env } });

    expect(code).toBe(1);
    expect(stderr).toMatch(/^demo: [^\n]+\n$/);
    expect(stderr).toContain(reason);
    expect(stderr).not.toContain('secret');
  });

  it('given a tenant that has a memory already', async () => {
    const settings = {
      store: `sqlite:${join(directory, 'memory.sqlite')}`,
      tenant: 'mine',
      rootKey: randomBytes(32).toString('base64'),
    };
    const memory = await openMemory(settings);
    await memory.execute({ command: 'create', path: '/memories/mine.md', file_text: 'Mine.' });
    await memory.close();

    const env = { ...place, SEALED_MEMORY_STORE: settings.store, SEALED_MEMORY_TENANT: settings.tenant };
    const { code, stderr } = await runDemo('main.ts', { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^demo: The tenant of SEALED_MEMORY_TENANT has a memory already[^\n]+\n$/);
  });
});

describe('Ctrl-C', { timeout: TIMEOUT }, () => {
  it('ends the demo and the conversation it is in', async () => {
    const silent = createServer(() => {});
    const ANTHROPIC_BASE_URL = await listen(silent);
    const demo = startDemo('main.ts', { env: { ...place, ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL } });
    const [, conversation] = await demo.printed(/Conversation one, process (\d+)[\s\S]*User:/);
    process.kill(demo.pid, 'SIGINT');

    expect((await demo.ended).code).toBe(130);
    expect(() => process.kill(Number(conversation), 0)).toThrow('ESRCH');
    silent.closeAllConnections();
    silent.close();
  });
});

async function listen(server: Server): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function widest(text: string): number {
  return Math.max(...text.split('\n').map((line) => [...line].length));
}

function commands({ content }: ScriptedReply): readonly unknown[] {
  return content.flatMap((block) => (block.type === 'tool_use' ? [block.input] : []));
}

async function readAllBelow(path: string): Promise<Buffer> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Buffer.concat(await Promise.all(files.map((file) => readFile(file))));
}
