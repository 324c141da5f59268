import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  deleteSession,
  forkSession,
  getSessionMessages,
  InMemorySessionStore,
  importSessionToStore,
  listSessions,
  listSubagents,
} from '@anthropic-ai/claude-agent-sdk';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import {
  type AgentMemoryServerOptions,
  createAgentMemoryServer,
  createSessionStore,
} from '../../../src/hosts/claude-agent-sdk.ts';
import { MEMORY_PROTOCOL } from '../../../src/language/schema.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { describeSessionStore } from '../../contracts/session-store.ts';

const ROOT_KEY = Buffer.alloc(32, 3).toString('base64');
const directory = mkdtempSync(join(tmpdir(), 'sealed-memory-sessions-'));
const open: Memory[] = [];
const pool = createMemoryPool({ store: 'memory:', rootKey: ROOT_KEY });
afterAll(async () => {
  await Promise.all(open.map((memory) => memory.close()));
  await pool.close();
  rmSync(directory, { recursive: true });
});

async function openSqlite(tenant: string): Promise<Memory> {
  const memory = await openMemory({ store: `sqlite:${join(directory, 'db')}`, tenant, rootKey: ROOT_KEY });
  open.push(memory);
  return memory;
}

describeSessionStore('a store in SQLite', async (tenant) => createSessionStore(await openSqlite(tenant)));
describeSessionStore('a store of a pool', async (tenant) => createSessionStore(await pool.open(tenant)));

describe("the SDK's own functions on a sealed store", () => {
  const dir = join(directory, 'project');
  const sessionId = '6f1e1f0a-54b3-4b7e-9f3e-0d3a1c2b4e5f';

  /** A session as it lies on the disk of the machine where it was begun. */
  function writeSession(): void {
    mkdirSync(dir, { recursive: true });
    vi.stubEnv('CLAUDE_CONFIG_DIR', join(directory, 'config'));
    const folder = join(directory, 'config', 'projects', dir.replaceAll(/[^a-zA-Z0-9]/g, '-'));
    mkdirSync(folder, { recursive: true });
    const said = (index: number) => ({
      type: index % 2 === 0 ? 'user' : 'assistant',
      sessionId,
      cwd: dir,
      isSidechain: false,
      uuid: `00000000-0000-4000-8000-00000000000${index}`,
      parentUuid: index === 0 ? null : `00000000-0000-4000-8000-00000000000${index - 1}`,
      timestamp: `2026-01-01T00:00:0${index}.000Z`,
      message:
        index % 2 === 0
          ? { role: 'user', content: `What is ${index}?` }
          : { role: 'assistant', content: [{ type: 'text', text: `It is ${index}.` }] },
    });
    const lines = [0, 1, 2, 3].map((index) => JSON.stringify(said(index)));
    writeFileSync(join(folder, `${sessionId}.jsonl`), `${lines.join('\n')}\n`);
  }

  afterEach(() => vi.unstubAllEnvs());

  it('import, list, read, fork and delete a session as with the store of the SDK', async () => {
    writeSession();
    const sealed = createSessionStore(await openSqlite('functions'));
    const results = [];
    for (const sessionStore of [sealed, new InMemorySessionStore()]) {
      const options = { dir, sessionStore };
      await importSessionToStore(sessionId, sessionStore, { dir });
      await importSessionToStore(sessionId, sealed, { dir });
      const listed = await listSessions(options);
      const messages = await getSessionMessages(sessionId, options);
      const fork = await forkSession(sessionId, { ...options, title: 'another way' });
      const forked = await getSessionMessages(fork.sessionId, options);
      const subagents = await listSubagents(sessionId, options);
      const titles = (await listSessions(options)).map(({ summary }) => summary).sort();
      await deleteSession(sessionId, options);
      const left = (await listSessions(options)).length;
      results.push({
        listed: listed.map(({ lastModified: _, ...session }) => session),
        messages,
        forked: forked.length,
        subagents,
        titles,
        left,
      });
    }
    expect(results[0]).toEqual(results[1]);
    expect(results[0]).toMatchObject({
      listed: [{ sessionId, firstPrompt: 'What is 0?' }],
      messages: [{ type: 'user' }, { type: 'assistant' }, { type: 'user' }, { type: 'assistant' }],
      forked: 4,
      left: 1,
    });
  });
});

describe('the memory as an MCP server of the SDK', () => {
  async function connect(options?: AgentMemoryServerOptions): Promise<{ client: Client; memory: Memory }> {
    const memory = await openSqlite(`mcp-${open.length}`);
    const { instance } = createAgentMemoryServer(memory, options);
    const client = new Client({ name: 'test', version: '1' });
    const [near, far] = InMemoryTransport.createLinkedPair();
    await Promise.all([instance.connect(far), client.connect(near)]);
    return { client, memory };
  }

  it('carries out the commands, and tells a refusal in the words of the memory', async () => {
    const { client, memory } = await connect();
    expect(client.getInstructions()).toBe(MEMORY_PROTOCOL);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['memory']);
    expect(tools[0]?.inputSchema).toMatchObject({
      properties: {
        command: { enum: ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] },
        view_range: { type: 'array', items: { type: 'integer' } },
        insert_line: { type: 'integer', minimum: 0 },
      },
      required: ['command'],
    });
    const call = (input: Record<string, unknown>) => client.callTool({ name: 'memory', arguments: input });
    const created = await call({ command: 'create', path: '/memories/a.txt', file_text: 'one\ntwo\n' });
    expect(created).toMatchObject({ isError: false });
    const seen = await call({ command: 'view', path: '/memories/a.txt', view_range: [2, 2] });
    expect(seen.content).toEqual([{ type: 'text', text: expect.stringContaining('two') }]);
    const refused = await call({ command: 'view', path: '/memories/b.txt' });
    const { content } = await memory.execute({ command: 'view', path: '/memories/b.txt' });
    expect(refused).toMatchObject({ isError: true, content: [{ type: 'text', text: content }] });
    await client.close();
  });

  it('has a tool for each command where that is asked for, and images are images', async () => {
    const { client, memory } = await connect({ tools: 'six', instructions: 'Remember.' });
    expect(client.getInstructions()).toBe('Remember.');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('memory_str_replace');
    const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0]);
    await memory.files.write('/memories/a.png', png);
    const { content } = await client.callTool({
      name: 'memory_view',
      arguments: { path: '/memories/a.png' },
    });
    const data = Buffer.from(png).toString('base64');
    expect(content).toEqual([{ type: 'image', data, mimeType: 'image/png' }]);
    await client.close();
  });
});
