import Anthropic from '@anthropic-ai/sdk';
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { parseMemoryPath } from '../../../src/language/path.ts';
import { openMemory, openTenant } from '../../../src/open/open-memory.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { startScriptedMessages, type ToolResult } from '../../stage/scripted-claude.ts';
import { type Around, interceptStore } from '../../stage/store-wrappers.ts';

/** With what the model reads of a command that is none. */
const KINDS = [
  [
    'betaMemoryTool(memory.handlers)',
    (memory: Memory) => betaMemoryTool(memory.handlers),
    'Error: close not implemented',
  ],
  [
    'memory.tool()',
    (memory: Memory) => memory.tool(),
    'Error: Field `command` must be one of these strings: view, create, str_replace, insert, delete, rename',
  ],
] as const;

let store: ObjectStore;
let around: Around;
let memory: Memory;

const openOver = (over: ObjectStore): Promise<Memory> =>
  openMemory({ store: over, tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });

beforeEach(async () => {
  store = await openSqliteObjectStore({ path: ':memory:' });
  around = (_, proceed) => proceed();
  memory = await openOver(interceptStore(store, (call, proceed) => around(call, proceed)));
});

afterEach(async () => {
  await memory.close();
  await store[Symbol.asyncDispose]();
});

/** Plays the turns through the SDK's own runner and answers what went back for each of them. */
async function converse(
  toolOf: (memory: Memory) => BetaRunnableTool,
  turns: readonly (readonly unknown[])[],
  signal?: AbortSignal,
): Promise<readonly (readonly ToolResult[])[]> {
  await using server = await startScriptedMessages(turns);
  const client = new Anthropic({ apiKey: 'none', baseURL: server.url, maxRetries: 0 });
  const runner = client.beta.messages.toolRunner(
    {
      model: 'claude-opus-4-8',
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Go on.' }],
      tools: [toolOf(memory)],
    },
    { signal },
  );
  await runner.runUntilDone();
  return server.results;
}

const create = (path: string, file_text = 'x') => ({ command: 'create', path, file_text });

describe.each(KINDS)('the SDK tool runner with %s', (_, toolOf, noCommand) => {
  it('hands every failure to the model word for word and marked as one', async () => {
    const [results] = await converse(toolOf, [
      [
        { command: 'view', path: '/memories/none' },
        { command: 'delete', path: '/memories/none' },
        { command: 'view', path: '/etc/passwd' },
        { command: 'close' },
        { command: ['view'], path: '/memories' },
        {},
      ],
    ]);
    expect(results?.slice(0, 4).map(({ content, is_error }) => ({ content, is_error }))).toEqual([
      { content: 'The path /memories/none does not exist. Please provide a valid path.', is_error: true },
      { content: 'Error: The path /memories/none does not exist', is_error: true },
      { content: 'Error: Path must start with /memories, got: /etc/passwd', is_error: true },
      { content: noCommand, is_error: true },
    ]);
    expect(results?.slice(4)).toEqual([
      expect.objectContaining({ is_error: true }),
      expect.objectContaining({ is_error: true }),
    ]);
  });

  it('hands an image over as an image', async () => {
    const png = Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const path = '/memories/i.png';
    const { parts } = await openTenant({ store, tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
    await parts.tree.create(parseMemoryPath(path), png);
    const [results] = await converse(toolOf, [[{ command: 'view', path }]]);
    const data = Buffer.from(png).toString('base64');
    expect(results?.[0]).toMatchObject({
      content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data } }],
    });
    expect(results?.[0]).not.toHaveProperty('is_error');
  });

  it('keeps the order of the calls of one turn on overlapping paths', async () => {
    const [results] = await converse(toolOf, [
      [
        create('/memories/d/f', 'one\n'),
        { command: 'insert', path: '/memories/d/f', insert_line: 1, insert_text: 'two' },
        { command: 'rename', old_path: '/memories/d', new_path: '/memories/e' },
        { command: 'view', path: '/memories/e/f' },
        { command: 'view', path: '/memories/d' },
      ],
    ]);
    expect(results?.map(({ content }) => content)).toEqual([
      'File created successfully at: /memories/d/f',
      'The file /memories/d/f has been edited.',
      'Successfully renamed /memories/d to /memories/e',
      "Here's the content of /memories/e/f with line numbers:\n     1\tone\n     2\ttwo\n     3\t",
      'The path /memories/d does not exist. Please provide a valid path.',
    ]);
  });

  it('goes on after a call that fails', async () => {
    const [first, second] = await converse(toolOf, [
      [{ command: 'delete', path: '/memories/f' }, create('/memories/f'), create('/memories/f')],
      [{ command: 'view', path: '/memories/f' }],
    ]);
    expect(first?.map(({ is_error }) => is_error ?? false)).toEqual([true, false, true]);
    expect(second?.[0]?.content).toBe("Here's the content of /memories/f with line numbers:\n     1\tx");
  });

  it('runs calls on unrelated paths side by side', async () => {
    await memory.execute(create('/memories/warm'));
    const both = Promise.withResolvers<void>();
    let waiting = 0;
    around = async (call, proceed) => {
      // Each write waits for the other one: run one after the other, neither would ever end.
      if (call.verb === 'put' && ++waiting === 2) both.resolve();
      if (call.verb === 'put') await both.promise;
      return proceed();
    };
    const [results] = await converse(toolOf, [[create('/memories/a/f'), create('/memories/b/f')]]);
    expect(results?.map(({ content }) => content)).toEqual([
      'File created successfully at: /memories/a/f',
      'File created successfully at: /memories/b/f',
    ]);
  });
});

describe('the SDK tool runner with memory.tool() and an AbortSignal', () => {
  it('aborts the request that a command is waiting for', async () => {
    await memory.execute(create('/memories/warm'));
    const stop = new AbortController();
    const seen: (AbortSignal | undefined)[] = [];
    await memory.close();
    const hanging: ObjectStore = {
      ...store,
      get: async (key, options) => {
        if (!key.includes('/data/')) return store.get(key, options);
        seen.push(options?.signal);
        stop.abort();
        throw new MemoryError('aborted', 'the request was aborted');
      },
      [Symbol.asyncDispose]: async () => {},
    };
    memory = await openOver(hanging);
    const conversation = converse(
      (each) => each.tool(),
      [[{ command: 'view', path: '/memories/warm' }, create('/memories/late')]],
      stop.signal,
    );
    await expect(conversation).rejects.toThrow(/abort/i);
    expect(seen).toHaveLength(1);
    expect(seen[0]?.aborted).toBe(true);
  });
});
