import { describe, expect, it, vi } from 'vitest';
import { fileKey } from '../../../src/format/object-keys.ts';
import { parseMemoryPath } from '../../../src/language/path.ts';
import { openTenant } from '../../../src/open/open-memory.ts';
import type { Costed, ResultOf, TreeChange } from '../../../src/page/protocol.ts';
import type { PageView } from '../../../src/page/server/answer-questions.ts';
import { openTenantView } from '../../../src/page/server/tenant-view.ts';
import { openWork } from '../../../src/tree/tenant.ts';
import { type AgentSite, listedOnly, openAgent } from '../../stage/page-site.ts';

const IMAGE = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');

const openView = ({ options }: AgentSite): Promise<PageView> =>
  openTenantView(options, { lineOf: (finding) => `FAIL  a ${finding.kind}` });

/** The lines of an answer; `until` ends it. */
async function ask(
  { questions }: PageView,
  name: string,
  input: Readonly<Record<string, unknown>> = {},
  onLine: (line: object, end: () => void) => unknown = () => {},
) {
  const lines: object[] = [];
  const ending = new AbortController();
  const send = async (line: object): Promise<void> => {
    lines.push(line);
    await onLine(line, () => ending.abort());
  };
  const last = await questions[name]?.(input, { signal: ending.signal, send }).catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });
  return { lines, last };
}

const objectsIn = async ({ store }: AgentSite): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const { objects } of store.list({ prefix: '' }))
    found.push(...objects.map(({ key, etag }) => key + etag));
  return found;
};

describe('what the page asks', () => {
  it('gives a file as its holder reads it, and as the store holds it', async () => {
    await using agent = await openAgent();
    await agent.memory.files.write('/memories/a.md', '# Kestrel\n');
    await agent.memory.files.write('/memories/a.png', IMAGE);
    await agent.memory.files.write('/memories/a.bin', Uint8Array.of(0xff, 0xfe));
    await using view = await openView(agent);
    const file = (await ask(view, 'file', { path: '/memories/a.md' })).last as ResultOf<'file'>;
    expect(file).toMatchObject({
      size: 10,
      requests: { get: 1 },
      content: { kind: 'text', text: '# Kestrel\n' },
    });
    expect(file.content).toMatchObject({
      reply: "Here's the content of /memories/a.md with line numbers:\n     1\t# Kestrel\n     2\t",
    });
    const object = (await ask(view, 'object', { path: '/memories/a.md' })).last as ResultOf<'object'> &
      Costed;
    expect(object.key).toMatch(/^tenants\/acme\/data\//);
    expect(object.requests).toEqual({ get: 1 });
    const bytes = Buffer.from(object.base64, 'base64');
    expect([bytes.length, bytes.includes('Kestrel')]).toEqual([object.size, false]);
    expect((await ask(view, 'file', { path: '/memories/a.png' })).last).toMatchObject({
      content: { kind: 'image', type: 'image/png', base64: IMAGE.toString('base64') },
    });
    expect((await ask(view, 'file', { path: '/memories/a.bin' })).last).toMatchObject({
      content: { kind: 'bytes', base64: '//4=' },
    });
    expect((await ask(view, 'directory', { path: '/memories' })).last).toMatchObject({
      reply: expect.stringContaining('/memories/a.md'),
    });
    for (const name of ['file', 'object']) {
      await expect(ask(view, name, { path: '/memories/b' })).rejects.toMatchObject({ code: 'not_found' });
      await expect(ask(view, name, { path: '/etc/passwd' })).rejects.toMatchObject({ code: 'invalid_path' });
      await expect(ask(view, name, { path: '/memories/../a' })).rejects.toMatchObject({
        code: 'invalid_path',
      });
      await expect(ask(view, name, {})).rejects.toMatchObject({ code: 'invalid_command' });
    }
  });

  it('watches the tree: the whole of it, then what changed', async () => {
    await using agent = await openAgent();
    const { files } = agent.memory;
    await files.write('/memories/stays.md', 'a');
    await files.write('/memories/goes.md', 'a');
    await using view = await openView(agent);
    const steps = [
      () => files.write('/memories/comes.md', 'new'),
      () => files.remove('/memories/goes.md'),
      () => files.write('/memories/stays.md', 'edited'),
    ];
    const { lines } = await ask(view, 'watch', {}, async (line, end) => {
      const { whole, changed, removed } = line as TreeChange;
      if (!whole && changed.length === 0 && removed.length === 0) return;
      const step = steps.shift();
      if (step === undefined) end();
      await step?.();
    });
    const changes = (lines as readonly TreeChange[]).map(({ whole, changed, removed, requests }) => [
      whole,
      changed.map(({ path, size }) => [path, size]).sort(),
      removed,
      requests,
    ]);
    expect(changes.filter(([whole, changed, removed]) => whole || `${changed}${removed}` !== '')).toEqual([
      [
        true,
        [
          ['/memories/goes.md', 1],
          ['/memories/stays.md', 1],
        ],
        [],
        { list: 1 },
      ],
      [false, [['/memories/comes.md', 3]], [], { list: 1 }],
      [false, [], ['/memories/goes.md'], { list: 1 }],
      [false, [['/memories/stays.md', 6]], [], { list: 1 }],
    ]);
  });

  it('shows at once what it listed ahead, and then what was written since', async () => {
    await using agent = await openAgent();
    const { files } = agent.memory;
    for (const name of ['goes', 'stays', 'turns']) await files.write(`/memories/${name}.md`, 'a');
    const lists = vi.spyOn(agent.store, 'list');
    await using view = await openView(agent);
    await vi.waitFor(() => expect(lists).toHaveBeenCalledTimes(1), 10_000);
    await files.remove('/memories/goes.md');
    await files.write('/memories/turns.md', 'b b');
    await files.write('/memories/comes.md', 'a');
    lists.mockClear();
    const listsAtFirst: number[] = [];
    const { lines } = await ask(view, 'watch', {}, (line, end) => {
      listsAtFirst.push(lists.mock.calls.length);
      if (!(line as TreeChange).isPartial) end();
    });
    const told = (lines as readonly TreeChange[]).map(({ isPartial, changed, removed, requests }) => [
      isPartial,
      changed.map(({ path, size }) => [path.slice('/memories/'.length), size]).sort(),
      removed,
      requests,
    ]);
    expect(told).toEqual([
      [
        true,
        [
          ['goes.md', 1],
          ['stays.md', 1],
          ['turns.md', 1],
        ],
        [],
        { list: 1 },
      ],
      [
        false,
        [
          ['comes.md', 1],
          ['turns.md', 3],
        ],
        ['/memories/goes.md'],
        { list: 1 },
      ],
    ]);
    expect(listsAtFirst).toEqual([0, 1]);
  });

  it.each([99, 100, 101, 999, 1_000, 1_001])('tells each of %i files once', async (count) => {
    await using agent = await openAgent();
    await listedOnly(agent, count - 1);
    await using view = await openView(agent);
    const { lines } = await ask(view, 'watch', {}, (line, end) => {
      if (!(line as TreeChange).isPartial) end();
    });
    const changes = lines as readonly TreeChange[];
    const paths = changes.flatMap(({ changed }) => changed.map(({ path }) => path));
    expect([paths.length, new Set(paths).size, changes.flatMap(({ removed }) => removed)]).toEqual([
      count,
      count,
      [],
    ]);
    expect(changes.map(({ whole }) => whole)).toEqual(changes.map((_, index) => index === 0));
  });

  it('leaves out what it listed ten seconds before', async () => {
    const clock = vi.spyOn(performance, 'now');
    await using agent = await openAgent();
    await agent.memory.files.write('/memories/goes.md', 'a');
    const lists = vi.spyOn(agent.store, 'list');
    await using view = await openView(agent);
    await vi.waitFor(() => expect(lists).toHaveBeenCalledTimes(1), 10_000);
    await agent.memory.files.remove('/memories/goes.md');
    const now = performance.now();
    clock.mockImplementation(() => now + 10_001);
    const { lines } = await ask(view, 'watch', {}, (line, end) => {
      if (!(line as TreeChange).isPartial) end();
    });
    clock.mockRestore();
    expect((lines as readonly TreeChange[]).map(({ changed, requests }) => [changed, requests])).toEqual([
      [[], { list: 1 }],
    ]);
  });

  it('sends a large tree page by page, each file once', async () => {
    await using agent = await openAgent();
    await listedOnly(agent, 2_500);
    await using view = await openView(agent);
    const { lines } = await ask(view, 'watch', {}, (line, end) => {
      if (!(line as TreeChange).isPartial) end();
    });
    const changes = lines as readonly TreeChange[];
    expect(
      changes.map(({ whole, isPartial, changed, requests }) => [whole, isPartial, changed.length, requests]),
    ).toEqual([
      [true, true, 100, { list: 1 }],
      [false, true, 900, {}],
      [false, true, 1_000, {}],
      [false, false, 501, { list: 3 }],
    ]);
    expect(new Set(changes.flatMap(({ changed }) => changed.map(({ path }) => path))).size).toBe(2_501);
    const sent = changes.reduce((sum, change) => sum + JSON.stringify(change).length, 0);
    expect(sent / 2_501).toBeLessThan(300);
  });

  it('lists what is open at each look, and of the rest 1,000 objects', async () => {
    await using agent = await openAgent();
    const { files } = agent.memory;
    await listedOnly(agent, 4_500);
    await using view = await openView(agent);
    const [near, far] = ['/memories/d7/new.md', '/memories/d8/new.md'];
    const looks: { readonly paths: readonly string[]; readonly list: number | undefined }[] = [];
    const isSeen = (path: string): boolean => looks.some(({ paths }) => paths.includes(path));
    await ask(view, 'watch', { id: 'window' }, async (line, end) => {
      const { isPartial, changed, removed, requests, everyMs, restMs } = line as TreeChange;
      if (isPartial) return;
      expect(restMs).toBe(5 * everyMs);
      looks.push({ paths: [...changed.map(({ path }) => path), ...removed], list: requests.list });
      if (looks.length === 1) {
        for (const id of ['window', 'another window']) {
          await ask(view, 'attend', { id, paths: ['/memories/d7/f7.md', '/memories/d7', '/memories'] });
        }
        await files.write(near, 'new');
        await files.write(far, 'new');
      }
      if (isSeen(near) && isSeen(far)) end();
    });
    const [first, second, ...more] = looks;
    expect([first?.paths.length, first?.list]).toEqual([501, 5]);
    expect(second?.paths).toContain(near);
    expect(looks.length).toBeLessThanOrEqual(1 + 5);
    expect([second, ...more].map((look) => look?.list)).toEqual(looks.slice(1).map(() => 2));
    expect(
      looks
        .slice(1)
        .flatMap(({ paths }) => paths)
        .toSorted(),
    ).toEqual([near, far]);
  });

  it('lists a tree of a few thousand objects at each look while all of it is open', async () => {
    await using agent = await openAgent();
    await listedOnly(agent, 2_500);
    await using view = await openView(agent);
    const lists: unknown[] = [];
    await ask(view, 'watch', { id: 'window' }, async (line, end) => {
      const { isPartial, requests } = line as TreeChange;
      if (!isPartial && lists.push(requests.list) === 3) end();
      if (lists.length === 1)
        await ask(view, 'attend', { id: 'window', paths: ['/memories/d1', '/memories'] });
    });
    expect(lists).toEqual([3, 3, 3]);
  });

  it('looks at once at what the page itself has changed, wherever it lies', async () => {
    await using agent = await openAgent({ history: { days: 30 } });
    const { files } = agent.memory;
    await listedOnly(agent, 2_500);
    await files.write('/memories/d1/a.md', 'a', { actor: 'a stranger' });
    await using view = await openTenantView(agent.options, { lineOf: () => '', canWrite: true });
    const [from, to] = ['/memories/x/a.md', '/memories/y/a.md'];
    const versionOf = async (path: string): Promise<string> =>
      ((await ask(view, 'file', { path })).last as ResultOf<'file'>).version;
    const undo = { undo: 'a stranger' };
    const acts = [
      () => ask(view, 'write', { path: from, text: 'x', version: null }),
      () => ask(view, 'rename', { path: '/memories/x', to: '/memories/y' }),
      async () => ask(view, 'remove', { path: to, version: await versionOf(to) }),
      async () => {
        const { digest } = (await ask(view, 'plan', undo)).last as ResultOf<'plan'>;
        await ask(view, 'carryOut', { ...undo, digest });
      },
    ];
    const told: unknown[] = [];
    await ask(view, 'watch', { id: 'window' }, async (line, end) => {
      const { isPartial, whole, changed, removed } = line as TreeChange;
      if (isPartial) return;
      if (!whole) told.push([changed.map(({ path }) => path), removed]);
      const act = acts.shift();
      if (act === undefined) end();
      await act?.();
    });
    expect(told.slice(1)).toEqual([
      [[from], []],
      [[to], [from]],
      [[], [to]],
      [[], ['/memories/d1/a.md']],
    ]);
  });

  it('finds the lines that hold a text, in whatever case, and leaves no index', async () => {
    await using agent = await openAgent();
    const { files } = agent.memory;
    await files.write('/memories/a.md', 'nothing\nthe Kestrel flies\n');
    await files.write('/memories/b/c.md', 'KESTREL');
    await files.write('/memories/d.bin', Uint8Array.of(0xff));
    const before = await objectsIn(agent);
    await using view = await openView(agent);
    const { lines, last } = await ask(view, 'search', { text: 'kestrel' });
    expect(lines).toEqual(
      expect.arrayContaining([
        { path: '/memories/a.md', line: 2, text: 'the Kestrel flies' },
        { path: '/memories/b/c.md', line: 1, text: 'KESTREL' },
      ]),
    );
    expect(last).toMatchObject({
      files: 3,
      lines: 2,
      unread: 0,
      isCut: false,
      requests: { get: 3, list: 1 },
    });
    expect((await ask(view, 'search', { text: '' })).last).toMatchObject({ files: 0, lines: 0 });
    expect(await objectsIn(agent)).toEqual(before);
  });

  it('ends a search at 500 lines', async () => {
    await using agent = await openAgent();
    await agent.memory.files.write('/memories/a.md', 'x\n'.repeat(501));
    await using view = await openView(agent);
    expect((await ask(view, 'search', { text: 'X' })).last).toMatchObject({ lines: 500, isCut: true });
  });

  it('names what is damaged, and goes on searching past it', async () => {
    await using agent = await openAgent();
    await agent.memory.files.write('/memories/a.md', 'Kestrel');
    await agent.memory.files.write('/memories/b.md', 'Kestrel');
    await using view = await openView(agent);
    const { parts, close } = await openTenant(agent.options);
    const work = await openWork(parts.context, {});
    const key = work && fileKey(parts.context.layout, work.keyring.names, parseMemoryPath('/memories/a.md'));
    await close();
    if (key === undefined) throw new Error('there is no keyring');
    await agent.store.put(key, new Uint8Array(300), { mode: 'overwrite' });
    expect((await ask(view, 'verify')).last).toMatchObject({
      files: 1,
      findings: [{ level: 'FAIL', sentence: 'a damaged', isLeft: true, path: '/memories/a.md' }],
    });
    expect((await ask(view, 'search', { text: 'kestrel' })).last).toMatchObject({ lines: 1, unread: 1 });
    await expect(ask(view, 'file', { path: '/memories/a.md' })).rejects.toMatchObject({ code: 'integrity' });
    expect((await ask(view, 'object', { path: '/memories/a.md' })).last).toMatchObject({ size: 300 });
  });

  it('tells what the keyring holds', async () => {
    await using agent = await openAgent();
    await using view = await openView(agent);
    expect((await ask(view, 'keys')).last).toMatchObject({ status: { state: 'absent' } });
    await agent.memory.files.write('/memories/a.md', 'a');
    expect((await ask(view, 'keys')).last).toMatchObject({
      status: { state: 'open', epoch: 1, keys: [{ version: 1, active: true }] },
    });
  });

  it('writes nothing, not even what reading notes elsewhere', async () => {
    await using agent = await openAgent({ expireAfterDays: 1 });
    await agent.memory.files.write('/memories/a.md', 'a');
    const before = await objectsIn(agent);
    await using view = await openView(agent);
    const path = '/memories/a.md';
    for (const [name, input] of [
      ['file', { path }],
      ['object', { path }],
      ['directory', { path: '/memories' }],
      ['search', { text: 'a' }],
      ['verify', {}],
      ['keys', {}],
      ['facts', {}],
    ] as const) {
      await ask(view, name, input);
    }
    await ask(view, 'watch', {}, (_, end) => end());
    expect(await objectsIn(agent)).toEqual(before);
  });

  it('shows a memory that nothing was written to', async () => {
    await using agent = await openAgent();
    await using view = await openView(agent);
    const { lines } = await ask(view, 'watch', {}, (_, end) => end());
    expect(lines).toMatchObject([{ whole: true, changed: [] }]);
    expect((await ask(view, 'facts')).last).toMatchObject({
      tenant: 'acme',
      keyPrefix: 'tenants/acme/data/',
    });
  });
});
