import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RequestFields } from '../../../../src/cli/serve/request-fields.ts';
import { answerSessionRequest } from '../../../../src/cli/serve/session-requests.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import type { Memory } from '../../../../src/tool/memory-tool.ts';
import { CLI_MEMORY_ENV, execLines } from '../../../stage/cli.ts';

const KEY = { projectKey: 'p', sessionId: 's' };
const SUB = { ...KEY, subpath: 'subagents/agent-1' };
const { signal } = new AbortController();

describe('requests about sessions', () => {
  let memory: Memory;
  beforeAll(async () => {
    memory = await openMemory({
      store: 'memory:',
      tenant: 't',
      rootKey: Buffer.alloc(32, 5).toString('base64'),
    });
  });
  afterAll(() => memory.close());
  const ask = (request: RequestFields): Promise<unknown> =>
    answerSessionRequest(memory.sessions, { request, signal });

  it('append, load, list and remove what memory.sessions does', async () => {
    expect(await ask({ operation: 'load', key: KEY })).toBeNull();
    const lines = ['{"uuid":"1", "n":12345678901234567890.10}', '{"text":"\u2028"}'];
    expect(await ask({ operation: 'append', key: KEY, lines })).toBeUndefined();
    await ask({ operation: 'append', key: KEY, lines: ['{"uuid":"1"}'] });
    await ask({ operation: 'append', key: SUB, lines: ['{}'] });
    expect(await ask({ operation: 'load', key: KEY })).toEqual(lines);
    expect(await memory.sessions.load(KEY)).toEqual(lines);
    expect(await ask({ operation: 'subpaths', key: KEY })).toEqual([SUB.subpath]);
    const [{ modified } = { modified: 0 }] = await memory.sessions.list('p');
    expect(await ask({ operation: 'list', projectKey: 'p' })).toEqual([{ sessionId: 's', modified }]);
    expect(await ask({ operation: 'remove', key: SUB })).toBeUndefined();
    expect(await ask({ operation: 'subpaths', key: KEY })).toEqual([]);
  });

  it.each([
    {},
    { operation: 'shred' },
    { operation: ['load'], key: KEY },
    { operation: 'load' },
    { operation: 'load', key: null },
    { operation: 'load', key: 's' },
    { operation: 'load', key: { ...KEY, subPath: 'x' } },
    { operation: 'load', key: { ...KEY, subpath: null } },
    { operation: 'load', key: { projectKey: 'p' } },
    { operation: 'load', key: KEY, lines: [] },
    { operation: 'append', key: KEY },
    { operation: 'append', key: KEY, lines: '{}' },
    { operation: 'append', key: KEY, lines: [{}] },
    { operation: 'append', key: KEY, lines: ['[]'] },
    { operation: 'append', key: KEY, lines: ['{}'], summary: {} },
    { operation: 'list' },
    { operation: 'list', projectKey: 1 },
    { operation: 'list', projectKey: 'p', key: KEY },
    { operation: 'subpaths', projectKey: 'p' },
    { operation: 'remove', key: KEY, all: true },
    { command: 'view', path: '/memories' },
  ])('are refused as %j', async (request) => {
    const before = await memory.sessions.load(KEY);
    await expect(ask(request)).rejects.toMatchObject({ code: 'invalid_command' });
    expect(await memory.sessions.load(KEY)).toEqual(before);
  });

  it('do not load more than a line can hold', async () => {
    const [text, fits] = ['x'.repeat(1024 * 1024), 128];
    const holding = (count: number): Memory['sessions'] => ({
      ...memory.sessions,
      load: async () => Array.from({ length: count }, () => text),
    });
    const load = (count: number): Promise<unknown> =>
      answerSessionRequest(holding(count), { request: { operation: 'load', key: KEY }, signal });
    expect(await load(fits)).toHaveLength(fits);
    await expect(load(fits + 1)).rejects.toMatchObject({ code: 'limit_exceeded' });
  });
});

describe('exec --jsonl --sessions', () => {
  it('answers requests about sessions, and nothing that a model could ask for', async () => {
    const env = { ...CLI_MEMORY_ENV, SEALED_MEMORY_HARNESS: '1' };
    const view = { command: 'view', path: '/memories' };
    const load = { operation: 'load', key: KEY };
    const lines = ['{"a":1}'];
    const asked = [{ operation: 'append', key: KEY, lines }, { id: 1, ...load }, view, { harness: 'dump' }];
    expect(await execLines(asked, env, ['--sessions'])).toMatchObject([
      { ok: true },
      { id: 1, ok: true, content: lines },
      { ok: false, code: 'invalid_command' },
      { ok: false, code: 'invalid_command' },
    ]);
    expect(await execLines([load, { ...view, operation: 'load', key: KEY }], CLI_MEMORY_ENV)).toMatchObject([
      { ok: false, code: 'invalid_command' },
      { ok: false, code: 'invalid_command' },
    ]);
  });
});
