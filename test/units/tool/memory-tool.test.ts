import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import type { BetaMemoryTool20250818Command } from '@anthropic-ai/sdk/resources/beta';
import { afterEach, describe, expect, it } from 'vitest';
import { parseCommand } from '../../../src/language/command.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { claimsOf, runCommand } from '../../../src/tool/commands.ts';
import type { Memory, MemoryToolProps } from '../../../src/tool/memory-tool.ts';
import type { Tree } from '../../../src/tree/tree.ts';
import { createSite } from '../../stage/test-tree.ts';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const opened: Memory[] = [];
afterEach(() => Promise.all(opened.splice(0).map((memory) => memory.close())));

async function open(options: Pick<MemoryOptions, 'wording' | 'toolError'> = {}): Promise<Memory> {
  const memory = await openMemory({
    store: 'memory:',
    tenant: 'acme',
    rootKey: new Uint8Array(32).fill(1),
    ...options,
  });
  opened.push(memory);
  return memory;
}

/** The model's input, which is not validated. */
const as = (input: unknown): BetaMemoryTool20250818Command => input as BetaMemoryTool20250818Command;

const NO_COMMANDS: readonly (readonly [name: string, command: unknown])[] = [
  ['close', 'close'],
  ['execute', 'execute'],
  ['tool', 'tool'],
  ['toString', 'toString'],
  ['valueOf', 'valueOf'],
  ['constructor', 'constructor'],
  ['hasOwnProperty', 'hasOwnProperty'],
  ['__proto__', '__proto__'],
  ['__defineGetter__', '__defineGetter__'],
  ['then', 'then'],
  ['Symbol.asyncDispose', 'Symbol(Symbol.asyncDispose)'],
  ['["view"]', ['view']],
  ['["delete"]', ['delete']],
  ['["close"]', ['close']],
  ['["execute"]', ['execute']],
  ['[["view"]]', [['view']]],
  ['[["execute"]]', [['execute']]],
  ['["tool"]', ['tool']],
  ['an empty name', ''],
  ['null', null],
  ['nothing', undefined],
  ['a number', 0],
];

async function thrownBy(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}

/** The memory answers as if nothing had happened. */
async function expectUsable(memory: Memory): Promise<void> {
  expect(await memory.execute({ command: 'view', path: '/memories/kept' })).toEqual({
    isError: false,
    content: "Here's the content of /memories/kept with line numbers:\n     1\ttext",
  });
}

describe.each([
  ['betaMemoryTool(memory.handlers)', (memory: Memory) => betaMemoryTool(memory.handlers)],
  ['memory.tool()', (memory: Memory) => memory.tool()],
])('a command that is none, through %s', (_, toolOf) => {
  it.each(NO_COMMANDS)('is refused: %s', async (_name, command) => {
    const memory = await open();
    await memory.execute({ command: 'create', path: '/memories/kept', file_text: 'text' });
    const tool = toolOf(memory);
    for (const more of [
      {},
      { path: '/memories/kept' },
      { input: { command: 'delete', path: '/memories/kept' } },
    ]) {
      expect(await thrownBy(() => tool.run(as({ command, ...more })))).toBeInstanceOf(Error);
    }
    await expectUsable(memory);
  });

  it('runs one whose name is that of a command, and returns what the model reads', async () => {
    const tool = toolOf(await open());
    const path = '/memories/f';
    expect(await tool.run(as({ command: 'create', path, file_text: 'x' }))).toBe(
      `File created successfully at: ${path}`,
    );
    const failure = await thrownBy(() => tool.run(as({ command: 'create', path, file_text: 'x' })));
    expect(failure).toBeInstanceOf(ToolError);
    expect(failure).toMatchObject({ content: `Error: File ${path} already exists` });
  });
});

describe('a command that is none', () => {
  const names = ['close', 'execute', 'tool', 'files', 'toString', '__proto__'];

  it.each(names)('is refused by memory.tool() in words the model can act on: %s', async (command) => {
    const memory = await open();
    const error = await thrownBy(() => memory.tool().run(as({ command })));
    expect(error).toBeInstanceOf(ToolError);
    expect(error).toMatchObject({
      content:
        'Error: Field `command` must be one of these strings: view, create, str_replace, insert, delete, rename',
    });
  });

  it.each(names)('finds nothing to call among the handlers: %s', async (command) => {
    const tool = betaMemoryTool((await open()).handlers);
    expect(await thrownBy(() => tool.run(as({ command })))).toMatchObject({
      message: `${command} not implemented`,
    });
  });

  it('is refused by a host that passes it on to execute', async () => {
    const memory = await open();
    for (const { execute } of [memory, { execute: memory.execute.bind(undefined) }]) {
      expect(await execute({ command: 'execute' })).toMatchObject({ error: { code: 'invalid_command' } });
    }
  });
});

describe('the handlers of a memory', () => {
  it('serve one command each and check its name themselves', async () => {
    const memory = await open();
    const error = await thrownBy(() =>
      memory.handlers.view({ command: 'delete', path: '/memories/f' } as unknown as {
        command: 'view';
        path: string;
      }),
    );
    expect(error).toBeInstanceOf(ToolError);
    await memory.handlers.create({ command: 'create', path: '/memories/kept', file_text: 'text' });
    await thrownBy(() =>
      memory.handlers.view({ command: 'delete', path: '/memories/kept' } as unknown as {
        command: 'view';
        path: string;
      }),
    );
    await expectUsable(memory);
  });

  it.each([undefined, null, 'view', 1])('refuse %s in words for the model', async (input) => {
    const memory = await open();
    const error = await thrownBy(() => memory.handlers.view(input as never));
    expect(error).toBeInstanceOf(ToolError);
    expect(error).toMatchObject({ content: expect.stringContaining('`command`') });
  });

  it('lie on an object without a prototype that cannot be changed', async () => {
    const memory = await open();
    expect(Object.getPrototypeOf(memory.handlers)).toBeNull();
    expect(Object.keys(memory.handlers).toSorted()).toEqual([
      'create',
      'delete',
      'insert',
      'rename',
      'str_replace',
      'view',
    ]);
    expect(Object.isFrozen(memory.handlers)).toBe(true);
    expect(Object.isFrozen(memory)).toBe(true);
  });
});

describe('Memory.execute', () => {
  it.each(NO_COMMANDS)('answers %s without rejecting', async (_, command) => {
    const memory = await open();
    const result = await memory.execute({ command, path: '/memories' });
    expect(result).toMatchObject({ isError: true, error: { code: 'invalid_command' } });
    expect(result.content).toMatch(/^Error: .*`command`/);
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'view'],
    ['a list', ['view', '/memories']],
    ['a number', 1],
    ['a proxy that throws', new Proxy({}, { ownKeys: () => fail(), get: () => fail() })],
    ['a getter that throws', Object.defineProperty({}, 'command', { enumerable: true, get: () => fail() })],
  ])('answers %s without rejecting', async (_, input) => {
    const memory = await open();
    expect(await memory.execute(input)).toMatchObject({ isError: true });
  });

  it('sees own properties alone', async () => {
    const memory = await open();
    const inherited = Object.create({ command: 'view', path: '/memories' }) as object;
    expect(await memory.execute(inherited)).toMatchObject({
      isError: true,
      error: { code: 'invalid_command' },
    });
  });

  it('answers an aborted command as cancelled, and runs nothing of it', async () => {
    const memory = await open();
    const input = { command: 'create', path: '/memories/f', file_text: 'x' };
    const result = await memory.execute(input, { signal: AbortSignal.abort() });
    expect(result).toMatchObject({
      isError: true,
      content: 'Error: The command was cancelled',
      error: { code: 'aborted' },
    });
    expect(await memory.execute(input)).toMatchObject({ isError: false });
  });

  it('words failures by the wording', async () => {
    const input = { command: 'view', path: '/memories/none' };
    const sentence = 'The path /memories/none does not exist. Please provide a valid path.';
    expect(await (await open()).execute(input)).toMatchObject({ content: sentence });
    expect(await (await open({ wording: 'sdk' })).execute(input)).toMatchObject({
      content: `Error: ${sentence}`,
    });
  });
});

describe('Memory.files', () => {
  const path = '/memories/f';

  it('reads the bytes of a file, and nothing where there is none', async () => {
    const memory = await open();
    const text = `${'long '.repeat(9_000)}\n\ttab\r\n`;
    await memory.execute({ command: 'create', path, file_text: text });
    expect((await memory.files.read(path))?.text()).toBe(text);
    expect(await memory.files.read('/memories/none')).toBeUndefined();
    expect(await memory.files.read('/memories')).toBeUndefined();
  });

  it('reads behind the commands that were called before, and before those that come later', async () => {
    const memory = await open();
    const [, first, , second] = await Promise.all([
      memory.execute({ command: 'create', path, file_text: 'one' }),
      memory.files.read(path),
      memory.execute({ command: 'str_replace', path, old_str: 'one', new_str: 'two' }),
      memory.files.read(path),
    ]);
    expect([first, second]).toEqual([
      expect.objectContaining({ bytes: encode('one') }),
      expect.objectContaining({ bytes: encode('two') }),
    ]);
  });

  it('rejects a path outside the memory, an aborted call and a closed memory', async () => {
    const memory = await open();
    await expect(memory.files.read('/etc/passwd')).rejects.toMatchObject({ code: 'invalid_path' });
    const signal = AbortSignal.abort();
    await expect(memory.files.read(path, { signal })).rejects.toMatchObject({ code: 'aborted' });
    await memory.close();
    await expect(memory.files.read(path)).rejects.toMatchObject({ code: 'aborted' });
  });
});

describe('the place of a command in the order', () => {
  const path = '/memories/a';
  const pair = { old_path: path, new_path: '/memories/b' };
  it.each<[object, readonly string[]]>([
    [{ command: 'view', path }, ['read']],
    [{ command: 'create', path, file_text: '' }, ['write']],
    [{ command: 'str_replace', path, old_str: 'a', new_str: 'b' }, ['edit']],
    [{ command: 'insert', path, insert_line: 0, insert_text: 'a' }, ['edit']],
    [{ command: 'delete', path }, ['write']],
    [{ command: 'rename', ...pair }, ['write', 'write']],
  ])('is taken by what it does to its paths: $command', (input, modes) => {
    const claims = modes.map((mode, index) => ({ path: [path, pair.new_path][index], mode }));
    expect(claimsOf(parseCommand(input))).toEqual(claims);
  });
});

describe('an edit of a path without a file', () => {
  it.each([
    ['doc', '/memories/d', 'not_found', []],
    ['sdk', '/memories/d', 'is_directory', [{ maxFiles: 1 }]],
    ['sdk', '/memories/none', 'not_found', [{ maxFiles: 1 }]],
    ['sdk', '/memories', 'is_directory', [{ maxFiles: 1 }]],
  ] as const)('looks for a directory in the wording %s alone: %s', async (wording, path, code, looks) => {
    const site = await createSite();
    const client = await site.client();
    if (path !== '/memories') await client.create('/memories/d/f', 'x');
    const asked: unknown[] = [];
    const tree: Tree = {
      ...client.tree,
      list(at, options) {
        asked.push(options);
        return client.tree.list(at, options);
      },
    };
    const { signal } = new AbortController();
    const context = { tree, wording, onExists: 'error', options: { signal } } as const;
    const input = { command: 'insert', path, insert_line: 0, insert_text: 'a' };
    const error = await thrownBy(() => runCommand(context, parseCommand(input)));
    expect(error).toMatchObject({ code });
    expect(asked).toEqual(looks.map((look) => expect.objectContaining({ signal, ...look })));
    await site.base[Symbol.asyncDispose]();
  });
});

describe('the view of a directory', () => {
  const viewed = async (tree: object) =>
    runCommand(
      { tree: tree as Tree, wording: 'doc', onExists: 'error', options: {} },
      parseCommand({ command: 'view', path: '/memories/d' }),
    );
  const names = (count: number) =>
    Array.from({ length: count }, (_, i) => ({
      path: `/memories/d/${String(i).padStart(5, '0')}`,
      size: 1_024,
    }));

  it('is one LIST where it was one, and the file that lies there now where nothing is listed', async () => {
    const tree = (count: number) => ({
      isAlwaysDirectory: () => false,
      wasDirectory: () => true,
      list: async () => ({ files: names(count), directories: [], truncated: false }),
      read: async () => {
        if (count > 0) throw new Error('it was read as a file');
        return encode('text');
      },
    });
    expect(await viewed(tree(1))).toContain('/memories/d/00000');
    expect(await viewed(tree(0))).toContain('     1\ttext');
  });

  it.each([
    [1, '1K'],
    [2_000, '2.0M'],
    [2_001, '2.0M'],
    [4_500, '4.4M'],
  ])('of %i files counts each once, and lets others run behind 2,000', async (count, size) => {
    let hasRun = false;
    setImmediate(() => {
      hasRun = true;
    });
    const listed = { files: names(count), directories: [], truncated: false };
    const content = await viewed({ isAlwaysDirectory: () => true, list: async () => listed });
    expect(hasRun).toBe(count > 2_000);
    expect(String(content).split('\n')[1]).toBe(`${size}\t/memories/d`);
  });

  it('asks for no more files than a listing shows, and says where it stopped', async () => {
    const site = await createSite();
    const client = await site.client();
    await client.create('/memories/d/f', 'x');
    const asked: unknown[] = [];
    const tree: Tree = {
      ...client.tree,
      async list(path, options) {
        asked.push(options);
        return { ...(await client.tree.list(path, options)), truncated: true };
      },
    };
    const { signal } = new AbortController();
    const context = { tree, wording: 'doc', onExists: 'error', options: { signal } } as const;
    const content = await runCommand(context, parseCommand({ command: 'view', path: '/memories/d' }));
    expect(asked).toEqual([{ signal, maxFiles: 100_000 }]);
    expect(content).toContain('Only 1 files were listed');
    await site.base[Symbol.asyncDispose]();
  });
});

describe('Memory.close', () => {
  it('lets commands under way end and refuses later ones', async () => {
    const memory = await open();
    const running = memory.execute({ command: 'create', path: '/memories/f', file_text: 'x' });
    const closing = memory.close();
    const late = await memory.execute({ command: 'view', path: '/memories' });
    expect(late).toMatchObject({ isError: true, error: { code: 'aborted' } });
    await expect(memory.files.read('/memories/g')).rejects.toMatchObject({ code: 'aborted' });
    expect(await running).toMatchObject({ isError: false });
    await closing;
    await memory.close();
  });

  it('happens at the end of an await using block', async () => {
    let kept: Memory;
    {
      await using memory = await open();
      kept = memory;
    }
    expect(await kept.execute({ command: 'view', path: '/memories' })).toMatchObject({ isError: true });
  });
});

describe('Memory.tool', () => {
  it('is the memory tool with what the caller adds', async () => {
    const memory = await open();
    const cache_control = { type: 'ephemeral' } as const;
    expect(memory.tool({ cache_control })).toMatchObject({
      type: 'memory_20250818',
      name: 'memory',
      cache_control,
    });
    const disguised = { type: 'custom', name: 'other' } as MemoryToolProps;
    expect(() => memory.tool(disguised)).toThrow(/^type is not an option of memory\.tool\. Known are /);
  });

  it('throws the class of error that the host gave', async () => {
    class OfTheHost extends Error {}
    const memory = await open({ toolError: OfTheHost });
    const error = await thrownBy(() => memory.tool().run(as({ command: 'view', path: '/elsewhere' })));
    expect(error).toBeInstanceOf(OfTheHost);
  });
});

function fail(): never {
  throw new Error('a hostile input');
}
