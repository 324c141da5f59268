import { once } from 'node:events';
import { cp, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMAND_NAMES } from '../../../../src/language/command.ts';
import {
  buildMcpSite,
  callMemory,
  ERAS,
  type McpSite,
  outputOf,
  PNG,
  putImage,
  startHeldBucket,
} from '../mcp-program.ts';

const SLOW = 60_000;

let site: McpSite;
beforeAll(async () => {
  site = await buildMcpSite();
}, SLOW);
afterAll(async () => site[Symbol.asyncDispose](), SLOW);

/** The messages that a client sends before its requests. */
const HANDSHAKE = [
  {
    id: 'hello',
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  },
  { method: 'notifications/initialized' },
];
const linesOf = (messages: readonly object[]): string =>
  messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
const calling = (id: number, input: object): object => ({
  id,
  method: 'tools/call',
  params: { name: 'memory', arguments: input },
});
const answersIn = (stdout: string): readonly Readonly<Record<string, unknown>>[] =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

describe.each(ERAS)('sealed-memory mcp with a client of the %s protocol', { timeout: SLOW }, (era) => {
  it('serves tools and resources, and leaves what was written to the next one', async () => {
    const env = { SEALED_MEMORY_TENANT: `tools-${era}` };
    expect(await putImage(site, env)).toMatchObject({ code: 0 });
    const client = await site.connect(era, { env });
    expect(client.getInstructions()).toContain('You have a memory');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['memory']);
    const path = '/memories/notes.md';
    const inputs = [
      { command: 'create', path, file_text: 'one\ntwo\n' },
      { command: 'insert', path, insert_line: 2, insert_text: 'three\n' },
      { command: 'str_replace', path, old_str: 'two', new_str: '2' },
      { command: 'rename', old_path: path, new_path: '/memories/list.md' },
      { command: 'view', path: '/memories/list.md', view_range: [2, -1] },
    ];
    let last: unknown;
    for (const input of inputs) {
      const result = await callMemory(client, input);
      expect(result.isError).toBe(false);
      last = result.content;
    }
    expect(last).toEqual([
      { type: 'text', text: expect.stringMatching(/:\n {5}2\t2\n {5}3\tthree\n {5}4\t$/) },
    ]);
    expect((await callMemory(client, { command: 'view', path: '/memories/a.png' })).content).toEqual([
      { type: 'image', mimeType: 'image/png', data: PNG.toString('base64') },
    ]);
    expect(await callMemory(client, { command: 'view', path })).toMatchObject({ isError: true });
    await client.close();

    const next = await site.connect(era, { env, args: ['--six-tools'] });
    const { tools } = await next.listTools();
    expect(tools.map(({ name }) => name)).toEqual(COMMAND_NAMES.map((name) => `memory_${name}`));
    const uri = 'memory:///memories/list.md';
    const { resources } = await next.listResources();
    expect(resources.map((resource) => resource.uri).sort()).toEqual(['memory:///memories/a.png', uri]);
    const { contents } = await next.readResource({ uri });
    expect(contents).toEqual([{ uri, mimeType: 'text/markdown', text: 'one\n2\nthree\n' }]);
    const deleted = await next.callTool({
      name: 'memory_delete',
      arguments: { path: '/memories/list.md' },
    });
    expect(deleted.isError).toBe(false);
    await next.close();
  });

  it('cancels a command in the middle, and answers the next one', async () => {
    await using bucket = await startHeldBucket();
    const client = await site.connect(era, { env: bucket.env });
    // A client of 2026 starts the server at its first request.
    await client.listTools();
    const cancelling = new AbortController();
    const held = bucket.hold();
    const input = { command: 'create', path: '/memories/a', file_text: 'x' };
    const answer = expect(callMemory(client, input, cancelling.signal)).rejects.toThrow('no longer needed');
    const { hungUp } = await held;
    cancelling.abort(new Error('no longer needed'));
    await answer;
    // The command's request to the store is given up.
    await hungUp;
    bucket.release();
    expect(await callMemory(client, { command: 'view', path: '/memories/none' })).toMatchObject({
      isError: true,
    });
    await client.close();
  });
});

describe('sealed-memory mcp', { timeout: SLOW }, () => {
  it('loses no line of two clients that write one file at once', async () => {
    const env = { SEALED_MEMORY_TENANT: 'two' };
    const clients = await Promise.all([site.connect('legacy', { env }), site.connect('auto', { env })]);
    const [first] = clients;
    const path = '/memories/log';
    await callMemory(first as Client, { command: 'create', path, file_text: '' });
    const results = await Promise.all(
      clients.flatMap((client, at) =>
        Array.from({ length: 10 }, (_, index) =>
          callMemory(client, { command: 'insert', path, insert_line: 0, insert_text: `${at}-${index}` }),
        ),
      ),
    );
    expect(results.filter(({ isError }) => isError)).toEqual([]);
    const { contents } = await (first as Client).readResource({ uri: `memory://${path}` });
    const text = String(contents[0] !== undefined && 'text' in contents[0] ? contents[0].text : '');
    expect(text.split('\n').slice(0, -1).sort()).toEqual(
      [0, 1].flatMap((at) => Array.from({ length: 10 }, (_, index) => `${at}-${index}`)),
    );
    await Promise.all(clients.map((client) => client.close()));
  });

  it('answers every request that came before its input ended, and ends', async () => {
    const child = site.start(['mcp'], { SEALED_MEMORY_TENANT: 'eof' });
    const creating = Array.from({ length: 20 }, (_, id) =>
      calling(id, { command: 'create', path: `/memories/${id}`, file_text: 'x' }),
    );
    child.stdin.end(linesOf([...HANDSHAKE, ...creating]));
    const { code, stdout, stderr } = await outputOf(child);
    expect([code, stderr]).toEqual([0, '']);
    const answers = answersIn(stdout);
    expect(answers.filter(({ id }) => typeof id === 'number').map(({ id }) => id as number)).toHaveLength(20);
    expect(answers.filter((answer) => JSON.stringify(answer).includes('"isError":false'))).toHaveLength(20);
  });

  it('refuses lines that hold no request, one cut off by the end of its input included, and goes on', async () => {
    const child = site.start(['mcp'], { SEALED_MEMORY_TENANT: 'malformed' });
    const hostile = ['nonsense', '[]', '{"id":7}', '', '{"jsonrpc":"2.0","id":"x"}', '"\ud800"'].join('\n');
    child.stdin.write(linesOf(HANDSHAKE));
    child.stdin.write(`${hostile}\n`);
    child.stdin.write(Uint8Array.of(0xff, 0x0a));
    child.stdin.write(linesOf([calling(1, { command: 'view', path: '/memories' })]));
    child.stdin.end(linesOf([calling(2, { command: 'view', path: '/memories' })]).slice(0, -20));
    const { code, stdout, stderr } = await outputOf(child);
    expect([code, stderr]).toEqual([0, '']);
    const told = answersIn(stdout).map(({ id, error }) => [id, Reflect.get(Object(error), 'code')]);
    expect(told).toEqual(
      expect.arrayContaining([
        ['hello', undefined],
        [null, -32_700],
        [null, -32_600],
        [7, -32_600],
        ['x', -32_600],
        [1, undefined],
      ]),
    );
    expect(told).toHaveLength(9);
    expect(told.filter(([id]) => id === 2)).toEqual([]);
  });

  it('answers a text of more than a file may hold with the sentence of the memory', async () => {
    const client = await site.connect('auto', { env: { SEALED_MEMORY_TENANT: 'huge' } });
    const input = { command: 'create', path: '/memories/a', file_text: 'x'.repeat(3 * 1024 * 1024) };
    const { isError, content } = await callMemory(client, input);
    expect([isError, JSON.stringify(content)]).toEqual([true, expect.stringContaining('3145728 bytes')]);
    await client.close();
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('ends at %s in the middle of a command', async (signal) => {
    await using bucket = await startHeldBucket();
    const child = site.start(['mcp'], bucket.env);
    child.stdin.write(linesOf(HANDSHAKE));
    await once(child.stdout, 'data');
    const held = bucket.hold();
    child.stdin.write(linesOf([calling(1, { command: 'create', path: '/memories/a', file_text: 'x' })]));
    const { hungUp } = await held;
    child.kill(signal);
    expect(await outputOf(child)).toEqual({ code: 130, stdout: '', stderr: '' });
    await hungUp;
  });

  it('says what to install where the package of the protocol is missing', async () => {
    await using stack = new AsyncDisposableStack();
    const bare = await mkdtemp(join(tmpdir(), 'sealed-memory-bare-'));
    stack.defer(() => rm(bare, { recursive: true }));
    await mkdir(join(bare, 'node_modules'));
    await cp(join(site.folder, 'cli'), join(bare, 'cli'), { recursive: true });
    for (const name of await readdir('node_modules')) {
      if (!name.startsWith('.') && name !== '@modelcontextprotocol')
        await symlink(resolve('node_modules', name), join(bare, 'node_modules', name));
    }
    const child = site.start(['mcp'], {}, join(bare, 'cli'));
    child.stdin.end();
    expect(await outputOf(child)).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'sealed-memory: misconfigured: A package is not installed that "sealed-memory mcp" needs: run "npm install @modelcontextprotocol/server".\n',
    });
  });
});
