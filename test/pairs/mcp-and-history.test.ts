import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runLog } from '../../src/cli/history/log.ts';
import { runUndo } from '../../src/cli/history/undo-and-restore-at.ts';
import type { Action } from '../../src/cli/run/invocation.ts';
import { runMcp } from '../../src/cli/serve/mcp.ts';
import { MemoryError } from '../../src/errors.ts';
import { invocationOf } from '../stage/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../stage/kept-memory.ts';

const PATH = '/memories/a.md';

let kept: KeptMemory;
beforeEach(async () => {
  kept = await openKeptMemory();
  await kept.memory.files.write(PATH, 'one', { actor: 'ann' });
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await kept.remove();
});

async function said(action: Action, typed = ''): Promise<string> {
  const { invocation, shown, complaints } = invocationOf({ flags: kept.flags, typed });
  await action(invocation);
  return [...shown, ...complaints].join('');
}

/** A client of that name overwrites the file, and creates another one, through `sealed-memory mcp`. */
function serve(clientName: string): Promise<string> {
  const calls = [
    { command: 'str_replace', path: PATH, old_str: 'one', new_str: 'two' },
    { command: 'create', path: '/memories/b.md', file_text: 'new' },
  ];
  const messages = [
    {
      id: 'hello',
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: clientName, version: '1' },
      },
    },
    { method: 'notifications/initialized' },
    ...calls.map((input, id) => ({
      id,
      method: 'tools/call',
      params: { name: 'memory', arguments: input },
    })),
  ];
  const typed = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
  return said((run) => runMcp({}, run), typed);
}

const writersOf = async (path: string): Promise<readonly (string | undefined)[]> =>
  (await kept.memory.history.list(path)).map(({ writer }) => writer);

describe('what is written through the MCP server', () => {
  it.each([
    ['an ordinary one', 'claude-desktop'],
    ['the name of an actor', 'ann'],
    ['line breaks', 'x\n2026-01-01T00:00:00Z  AAAAAAAA  current  /memories/a.md  by ann\r\n'],
    ['10,000 characters', 'x'.repeat(10_000)],
    ['a NUL and marks of direction', 'x\u0000\u202e\u2066y'],
  ])('is the deed of SEALED_MEMORY_ACTOR, whatever the client calls itself: %s', async (_, name) => {
    vi.stubEnv('SEALED_MEMORY_ACTOR', 'desk');
    const answers = await serve(name);
    expect(answers.match(/"isError":false/g)).toHaveLength(2);
    expect(answers).not.toContain(JSON.stringify(name).slice(1, -1));
    expect(await writersOf(PATH)).toEqual(['desk', 'ann']);
    expect(await writersOf('/memories/b.md')).toEqual(['desk']);
    vi.stubEnv('SEALED_MEMORY_ACTOR', 'ann');
    await said((run) => runUndo('desk', { yes: true }, run));
    expect((await kept.memory.files.read(PATH))?.text()).toBe('one');
    expect(await kept.memory.files.exists('/memories/b.md')).toBe(false);
  });

  it('names no actor without one', async () => {
    vi.stubEnv('SEALED_MEMORY_ACTOR', undefined);
    await serve('ann');
    expect(await writersOf(PATH)).toEqual([undefined, 'ann']);
  });

  it('is refused to begin for an actor that is too long', async () => {
    vi.stubEnv('SEALED_MEMORY_ACTOR', 'x'.repeat(257));
    const refused = serve('test');
    await expect(refused).rejects.toThrow(MemoryError);
    await expect(refused).rejects.toMatchObject({
      code: 'misconfigured',
      message: expect.stringContaining('SEALED_MEMORY_ACTOR must be a text of 1 to 256 characters'),
    });
    expect(await writersOf(PATH)).toEqual(['ann']);
  });
});

describe('an actor with a hostile name', () => {
  const NAMES = [
    ['a line break', 'x\n2026-01-01T00:00:00Z  AAAAAAAA  current  by ann'],
    ['a NUL', 'a\u0000b'],
    ['marks of direction', '\u202egnp.\u2066mal'],
    ['an escape sequence', '\u001b[2J\u001b]0;x\u0007'],
    ['256 characters beyond the first plane', '\u{1f480}'.repeat(128)],
    ['the name of a field', '__proto__'],
  ] as const;

  it.each(NAMES)('has a line of the log to itself, and is undone by that name: %s', async (_, actor) => {
    await kept.memory.files.write(PATH, 'two', { actor });
    expect(await writersOf(PATH)).toEqual([actor, 'ann']);
    const log = await said((run) => runLog(PATH, {}, run));
    expect(log.trimEnd().split('\n')).toHaveLength(2);
    expect(log).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u);
    vi.stubEnv('SEALED_MEMORY_ACTOR', 'cyd');
    const undone = await said((run) => runUndo(actor, { yes: true }, run));
    expect(undone).not.toMatch(/[^\P{Cc}\n\t]|\p{Cf}/u);
    expect((await kept.memory.files.read(PATH))?.text()).toBe('one');
    expect(await writersOf(PATH)).toEqual(['cyd', actor, 'ann']);
  });

  it('is refused where it holds half of a surrogate pair, which would make two actors one', async () => {
    const refused = kept.memory.files.write(PATH, 'two', { actor: 'x\ud800' });
    await expect(refused).rejects.toMatchObject({ code: 'misconfigured' });
    expect(await writersOf(PATH)).toEqual(['ann']);
  });
});
