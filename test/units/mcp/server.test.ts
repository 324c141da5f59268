import { readFileSync } from 'node:fs';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { COMMAND_NAMES } from '../../../src/language/command.ts';
import {
  commandToolDefinitions,
  MEMORY_PROTOCOL,
  memoryToolDefinition,
} from '../../../src/language/schema.ts';
import { createMemoryServer, type MemoryServerOptions } from '../../../src/mcp/index.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { type Around, interceptStore } from '../../stage/store-wrappers.ts';

const PNG = Uint8Array.from(Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'));

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function open(options: Partial<MemoryOptions> = {}): Promise<Memory> {
  const memory = await openMemory({
    store: 'memory:',
    tenant: 'acme',
    rootKey: new Uint8Array(32),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    ...options,
  });
  cleanups.push(() => memory.close());
  return memory;
}

async function connect(memory: Memory, options?: MemoryServerOptions): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'test', version: '1' });
  const server = createMemoryServer(memory, options);
  await server.connect(far);
  await client.connect(near);
  cleanups.push(() => client.close());
  return client;
}

function call(client: Client, input: Readonly<Record<string, unknown>>, signal?: AbortSignal) {
  return client.callTool({ name: 'memory', arguments: { ...input } }, { ...(signal && { signal }) });
}

const said = (text: string, isError = false) => ({ content: [{ type: 'text', text }], isError });

describe('the tools of an MCP server', () => {
  it('are one for all commands, as the schema has it, with the protocol of the memory as instructions', async () => {
    const client = await connect(await open());
    const { tools } = await client.listTools();
    expect(tools).toEqual([
      { ...memoryToolDefinition(), annotations: expect.objectContaining({ title: 'Memory' }) },
    ]);
    expect(client.getInstructions()).toBe(MEMORY_PROTOCOL);
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect(client.getServerVersion()).toEqual({ name: 'sealed-memory', title: 'Sealed memory', version });
  });

  it('answer all six commands with the sentences of the memory', async () => {
    const client = await connect(await open());
    const path = '/memories/a.md';
    expect(await call(client, { command: 'create', path, file_text: 'one\ntwo\n' })).toEqual(
      said(`File created successfully at: ${path}`),
    );
    expect(await call(client, { command: 'view', path, view_range: [2, 2] })).toEqual(
      said(`Here's the content of ${path} with line numbers:\n     2\ttwo`),
    );
    expect(await call(client, { command: 'str_replace', path, old_str: 'two', new_str: '2' })).toEqual(
      said(expect.stringMatching(/^The memory file has been edited\. .*\n {5}1\tone\n {5}2\t2\n/s)),
    );
    expect(await call(client, { command: 'insert', path, insert_line: 0, insert_text: 'zero' })).toEqual(
      said(`The file ${path} has been edited.`),
    );
    const to = '/memories/b.md';
    expect(await call(client, { command: 'rename', old_path: path, new_path: to })).toEqual(
      said(`Successfully renamed ${path} to ${to}`),
    );
    expect(await call(client, { command: 'delete', path: to })).toEqual(said(`Successfully deleted ${to}`));
    expect(await call(client, { command: 'view', path: to })).toEqual(
      said(`The path ${to} does not exist. Please provide a valid path.`, true),
    );
  });

  it.each([
    [{}, 'Error: Field `command` must be one of these strings'],
    [{ command: 'close' }, 'Error: Field `command` must be one of these strings'],
    [{ command: ['view'], path: '/memories' }, 'Error: Field `command` must be one of these strings'],
    [{ command: 'view' }, 'Error: Field `path` is missing'],
    [{ command: 'delete', path: '/memories', recursive: true }, 'Error: Field `recursive` is not expected'],
    [{ command: 'view', path: '/memories/../etc' }, 'Error: '],
  ])('answer the malformed input %j as the memory does', async (input, start) => {
    const client = await connect(await open());
    expect(await call(client, input)).toEqual(said(expect.stringMatching(new RegExp(`^${start}`)), true));
  });

  it('are six where they are asked for, each of its own command alone', async () => {
    const memory = await open();
    const client = await connect(memory, { tools: 'six', instructions: 'Remember.' });
    expect(client.getInstructions()).toBe('Remember.');
    const { tools } = await client.listTools();
    expect(tools.map(({ annotations: _, ...tool }) => tool)).toEqual(
      commandToolDefinitions().map(({ command: _, ...tool }) => tool),
    );
    const path = '/memories/a.md';
    const use = (command: string, input: Readonly<Record<string, unknown>>) =>
      client.callTool({ name: `memory_${command}`, arguments: { ...input } });
    const to = '/memories/b.md';
    const results = [
      await use('create', { path, file_text: 'one' }),
      await use('view', { path }),
      await use('str_replace', { path, old_str: 'one' }),
      await use('insert', { path, insert_line: 0, insert_text: 'x' }),
      await use('rename', { old_path: path, new_path: to }),
      await use('delete', { path: to }),
    ];
    expect(results.map(({ isError }) => isError)).toEqual(COMMAND_NAMES.map(() => false));
    await memory.files.write(path, 'kept');
    expect(await use('view', { command: 'delete', path })).toMatchObject({ isError: true });
    expect(await memory.files.exists(path)).toBe(true);
  });

  it('refuse a name that is no tool, and say which there are', async () => {
    const client = await connect(await open());
    for (const name of ['memory_view', 'toString', '']) {
      await expect(client.callTool({ name, arguments: {} })).rejects.toThrow(
        'There is no such tool; there is memory.',
      );
    }
  });

  it('show an image as an image', async () => {
    const memory = await open();
    await memory.files.write('/memories/a.png', PNG);
    const { content } = await call(await connect(memory), { command: 'view', path: '/memories/a.png' });
    expect(content).toEqual([
      { type: 'image', mimeType: 'image/png', data: Buffer.from(PNG).toString('base64') },
    ]);
  });

  it('change nothing of a memory that is read-only or that a policy guards', async () => {
    for (const options of [{ readOnly: true }, { policy: 'email' }]) {
      const memory = await open(options);
      const input = { command: 'create', path: '/memories/a', file_text: 'ada@example.com' };
      expect(await call(await connect(memory), input)).toMatchObject({ isError: true });
      expect(await memory.files.exists('/memories/a')).toBe(false);
    }
  });

  it('cancel the command when the client cancels the request', async () => {
    const memory = await open();
    const [begun, cancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const execute: Memory['execute'] = (input, options) => {
      options?.signal?.addEventListener('abort', () => cancelled.resolve());
      begun.resolve();
      return cancelled.promise.then(() => memory.execute(input, options));
    };
    const client = await connect({ ...memory, execute });
    const cancelling = new AbortController();
    const creating = { command: 'create', path: '/memories/a', file_text: 'x' };
    const answer = expect(call(client, creating, cancelling.signal)).rejects.toThrow('no longer needed');
    await begun.promise;
    cancelling.abort(new Error('no longer needed'));
    await answer;
    await cancelled.promise;
    expect(await memory.files.exists('/memories/a')).toBe(false);
  });

  it('tell how far a command on many files has come, when they are asked', async () => {
    const memory = await open();
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => memory.files.write(`/memories/d/${index}`, 'x')),
    );
    const seen: number[] = [];
    const client = await connect(memory);
    const deleting = { name: 'memory', arguments: { command: 'delete', path: '/memories/d' } };
    await client.callTool(deleting, { onprogress: ({ progress }) => void seen.push(progress) });
    expect(seen.at(-1)).toBe(40);
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
  });
});

describe('the resources of an MCP server', () => {
  it('are all files, with addresses that lead to them', async () => {
    const memory = await open();
    const contents = new Map<string, Uint8Array | string>([
      ['notes.md', '# Notes\n'],
      ['a b/100% & "é".txt', 'text\u0000\ufeff'],
      ['.hidden/x?y#z', ''],
      ['a.png', PNG],
      ['no.png', 'text'],
      ['bytes', Uint8Array.of(0xff, 0xfe, 0)],
    ]);
    for (const [path, content] of contents) await memory.files.write(`/memories/${path}`, content);
    const client = await connect(memory);
    const { resources, nextCursor } = await client.listResources();
    expect(nextCursor).toBe(undefined);
    expect(resources.map(({ name }) => name).sort()).toEqual([...contents.keys()].sort());
    for (const { uri, name, size, annotations } of resources) {
      const content = contents.get(name) ?? '';
      const bytes = Buffer.from(content as string);
      expect(size).toBe(bytes.length);
      expect(Date.parse(annotations?.lastModified ?? '')).toBeGreaterThan(0);
      const {
        contents: [read],
      } = await client.readResource({ uri });
      const isText = typeof content === 'string';
      expect(read).toEqual({
        uri,
        mimeType: isText
          ? name.endsWith('.md')
            ? 'text/markdown'
            : 'text/plain'
          : name.endsWith('.png')
            ? 'image/png'
            : 'application/octet-stream',
        ...(isText ? { text: content } : { blob: bytes.toString('base64') }),
      });
    }
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates).toMatchObject([{ uriTemplate: 'memory:///memories/{+path}' }]);
  });

  it('come in pages, of which none is lost when files of a page before are gone', async () => {
    const memory = await open();
    const names = Array.from({ length: 1_103 }, (_, index) => `d/${index}`);
    await Promise.all(names.map((name) => memory.files.write(`/memories/${name}`, 'x')));
    const client = await connect(memory);
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      // The method of the client would go through all pages by itself.
      const params = cursor === undefined ? {} : { cursor };
      const page = await client.request({ method: 'resources/list', params });
      expect(page.resources.length).toBeLessThanOrEqual(500);
      found.push(...page.resources.map(({ name }) => name));
      cursor = page.nextCursor;
      const last = page.resources.at(-1)?.name;
      if (cursor !== undefined) await memory.files.remove(`/memories/${last}`);
    } while (cursor !== undefined);
    expect(found).toHaveLength(names.length);
    expect(found.sort()).toEqual(names.sort());
  });

  it.each([
    'memory:///memories/none',
    'memory:///memories',
    'memory:///etc/passwd',
    'memory:///memories/../etc',
    'memory:///memories/%2e%2e/x',
    'memory:///memories/a%2Fb',
    'memory:///memories/%zz',
    'memory://host/memories/a/b',
    'file:///memories/a/b',
    '',
  ])('have no file at %s', async (uri) => {
    const memory = await open();
    await memory.files.write('/memories/a/b', 'text');
    const failures: unknown[] = [];
    const client = await connect(memory, { onFailure: (error) => void failures.push(error) });
    await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
    expect(failures).toEqual([]);
  });

  it.each(['elsewhere', 'memory:///memories/%2e%2e/x', 'memory:///etc'])(
    'have no page behind the cursor %s',
    async (cursor) => {
      const client = await connect(await open());
      await expect(client.listResources({ cursor })).rejects.toMatchObject({ code: -32_602 });
    },
  );

  it('tell the client a neutral sentence and the operator the cause when the store fails', async () => {
    let fails = false;
    const around: Around = async (_call, proceed) => {
      if (fails) throw new MemoryError('access_denied', 'The bucket "private" refused the role.');
      return proceed();
    };
    const memory = await open({ store: interceptStore(openSqliteObjectStore({ path: ':memory:' }), around) });
    await memory.files.write('/memories/a', 'text');
    const failures: unknown[] = [];
    const client = await connect(memory, { onFailure: (error) => void failures.push(error) });
    fails = true;
    const told = [
      await client.readResource({ uri: 'memory:///memories/b' }).catch(({ message }) => message),
      await client.listResources().catch(({ message }) => message),
    ];
    expect(told).toEqual([
      'Error: Access to /memories/b is not permitted',
      'Error: Access to /memories is not permitted',
    ]);
    expect(failures).toMatchObject([{ code: 'access_denied' }, { code: 'access_denied' }]);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('words of the host');
      },
    ],
    ['rejects', () => Promise.reject(new Error('words of the host'))],
    ['never ends', () => new Promise(() => {})],
  ])('tell the client the same sentence where what hears of failures %s', async (_, onFailure) => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    const store = interceptStore(openSqliteObjectStore({ path: ':memory:' }), async () => {
      throw new MemoryError('access_denied', 'The bucket "private" refused the role.');
    });
    const client = await connect(await open({ store, lazy: true }), { onFailure });
    const told = await client.readResource({ uri: 'memory:///memories/b' }).catch(({ message }) => message);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', note);
    expect(told).toBe('Error: Access to /memories/b is not permitted');
    expect(unhandled).toEqual([]);
  });
});
