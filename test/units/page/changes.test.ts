import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { Costed, QuestionName, ResultOf } from '../../../src/page/protocol.ts';
import { failureLine, type PageView } from '../../../src/page/server/answer-questions.ts';
import { openTenantView } from '../../../src/page/server/tenant-view.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { type AgentSite, askRaw, linesIn, openAgent, serveQuestions, signIn } from '../../stage/page-site.ts';
import { interceptStore } from '../../stage/store-wrappers.ts';

const open = ({ options }: AgentSite, canWrite = true): Promise<PageView> =>
  openTenantView(options, { lineOf: ({ kind }) => `FAIL  a ${kind}`, canWrite });

const asking = { signal: new AbortController().signal, send: async () => {} };
const ask = async <N extends QuestionName>(
  { questions }: PageView,
  name: N,
  input: Readonly<Record<string, unknown>>,
): Promise<ResultOf<N> & Costed> => {
  const question = questions[name];
  if (question === undefined) throw new Error(`there is no question ${name}`);
  return (await question(input, asking)) as ResultOf<N> & Costed;
};
const versionOf = async (view: PageView, path: string): Promise<string> =>
  (await ask(view, 'file', { path })).version;

const KEY = new Uint8Array(32).fill(9);
const CHANGES = ['write', 'merge', 'writeNewest', 'remove', 'rename', 'restore'];

describe('a page that may write', () => {
  it('has what changes something only where that was asked for', async () => {
    await using agent = await openAgent();
    await using reading = await open(agent, false);
    await using writing = await open(agent);
    expect(CHANGES.filter((name) => name in reading.questions)).toEqual([]);
    expect(CHANGES.filter((name) => name in writing.questions)).toEqual(CHANGES);
    const answers = await Promise.all(
      [reading, writing].map(async ({ questions, maxQuestionBytes }) => {
        await using served = await serveQuestions(questions, new Map(), { maxQuestionBytes });
        const headers = {
          origin: served.origin,
          cookie: await signIn(served),
          'content-type': 'application/json',
        };
        const body = JSON.stringify({ path: '/memories/a.md', text: 'a', version: null });
        const send = (more: object) =>
          askRaw(`${served.origin}/api/write`, { method: 'POST', headers: { ...headers, ...more }, body });
        const refused = [
          await send({ origin: 'http://evil.example' }),
          await send({ 'sec-fetch-site': 'cross-site' }),
          await send({ cookie: '' }),
          await send({ 'content-type': 'text/plain' }),
          await send({ host: 'evil.example' }),
        ];
        expect(refused.map(({ status }) => status)).toEqual([403, 403, 401, 415, 403]);
        expect(await agent.memory.files.exists('/memories/a.md')).toBe(false);
        return await send({});
      }),
    );
    expect(answers.map(({ status }) => status)).toEqual([404, 200]);
    expect(answers.slice(1).flatMap(linesIn)).toMatchObject([{ path: '/memories/a.md', isRedacted: false }]);
    expect((await agent.memory.files.read('/memories/a.md'))?.text()).toBe('a');
  });

  it('creates, edits, renames and deletes, on behalf of the actor page, with history', async () => {
    await using agent = await openAgent({ history: { days: 30 }, actor: 'an agent' });
    await agent.memory.files.write('/memories/first.md', 'x');
    await using view = await open(agent);
    const [path, to] = ['/memories/a.md', '/memories/b/c.md'];
    const made = await ask(view, 'write', { path, text: 'one', version: null });
    expect(made.requests.put).toBeGreaterThan(0);
    await ask(view, 'write', { path, text: 'two', version: made.version });
    await ask(view, 'rename', { path, to });
    expect((await ask(view, 'file', { path: to })).writer).toBe('page');
    expect((await ask(view, 'file', { path: '/memories/first.md' })).writer).toBe('an agent');
    await ask(view, 'remove', { path: to, version: await versionOf(view, to) });
    expect(await agent.memory.files.exists(to)).toBe(false);
    const { entries } = await ask(view, 'versions', { path: to });
    expect(entries.map(({ kind, writer, end }) => [kind, writer, end])).toEqual([
      ['deleted', 'page', undefined],
      ['renamed', 'page', undefined],
      ['written', 'page', 'deleted'],
      ['written', 'page', 'replaced'],
    ]);
    await ask(view, 'remove', {
      path: '/memories/first.md',
      version: await versionOf(view, '/memories/first.md'),
    });
    await ask(view, 'write', { path: '/memories/d/1.md', text: '1', version: null });
    const one = ['/memories/d/1.md', await versionOf(view, '/memories/d/1.md')];
    const removed = await ask(view, 'remove', { path: '/memories/d', version: null, files: [one] });
    expect(removed).toMatchObject({ path: '/memories/d', deleted: 1, differing: [] });
    expect(await agent.memory.files.exists('/memories/d')).toBe(false);
  });

  it('replaces and deletes nothing but what it has shown', async () => {
    await using agent = await openAgent();
    const { files } = agent.memory;
    const path = '/memories/a.md';
    await files.write(path, 'one');
    await using view = await open(agent);
    const version = await versionOf(view, path);
    await files.write(path, "an agent's");
    const refused = { code: 'version_conflict' };
    await expect(ask(view, 'write', { path, text: 'mine', version })).rejects.toMatchObject(refused);
    await expect(ask(view, 'remove', { path, version })).rejects.toMatchObject(refused);
    await expect(ask(view, 'remove', { path, version: null, files: [] })).rejects.toMatchObject(refused);
    await expect(ask(view, 'write', { path, text: 'mine', version: null })).rejects.toMatchObject({
      code: 'already_exists',
    });
    for (const wrong of [
      { path: '/memories', version: null, files: [[path, version]] },
      { path: '/memories/d', version: null },
      { path: '/memories/d', version: null, files: ['/memories/d/a.md'] },
      { path: '/memories/d', version: null, files: [['/memories/d/a.md', null]] },
    ]) {
      await expect(ask(view, 'remove', wrong)).rejects.toMatchObject({ code: 'invalid_command' });
    }
    expect((await files.read(path))?.text()).toBe("an agent's");
    for (const input of [
      { path },
      { path, text: 'x' },
      { path, text: 1, version: null },
      { text: 'x', version: null },
    ]) {
      await expect(ask(view, 'write', input)).rejects.toMatchObject({ code: 'invalid_command' });
    }
  });

  it('says first that nothing was written, whatever is refused', async () => {
    await using agent = await openAgent({ history: { days: 30 } });
    await using plain = await openAgent();
    await using forgetful = await open(plain);
    await agent.memory.files.write(PATH, BASE);
    await using view = await open(agent);
    const version = await versionOf(view, PATH);
    await agent.memory.files.write(PATH, MINE);
    const refusal = async ({ questions }: PageView, name: string, input: Readonly<Record<string, unknown>>) =>
      Promise.resolve(questions[name]?.(input, asking)).then(
        () => 'done',
        (error: unknown) => failureLine(error, name, input).error.message,
      );
    const refusals = [
      await refusal(view, 'write', { path: PATH, text: 'x', version }),
      await refusal(view, 'write', { path: PATH, text: 'x', version: null }),
      await refusal(view, 'write', { path: `${PATH}/below`, text: 'x', version: null }),
      await refusal(forgetful, 'writeNewest', { path: PATH, text: 'x' }),
      await refusal(view, 'rename', { path: PATH, to: PATH }),
      failureLine(new MemoryError('version_conflict', 'for the operator'), 'writeNewest', { path: PATH })
        .error.message,
    ];
    expect(refusals.filter((each) => !/^Nothing was written: .+\.$/.test(each))).toEqual([]);
  });

  it('takes a version back, unless the file is no longer what was shown', async () => {
    await using agent = await openAgent({ history: { days: 30 } });
    const { files } = agent.memory;
    const path = '/memories/a.md';
    for (const text of ['one', 'two', 'three']) await files.write(path, text);
    await using view = await open(agent);
    const versions = async () => (await ask(view, 'versions', { path })).entries;
    const [three, two, one] = await versions();
    expect((await ask(view, 'version', { path, version: one?.version })).content).toEqual({
      kind: 'text',
      text: 'one',
    });
    const restore = (version: string | undefined, base: string | null | undefined) =>
      ask(view, 'restore', { path, version, base });
    await expect(restore(one?.version, two?.version)).rejects.toMatchObject({ code: 'version_conflict' });
    await expect(restore(one?.version, null)).rejects.toMatchObject({ code: 'already_exists' });
    expect((await files.read(path))?.text()).toBe('three');
    await restore(one?.version, three?.version);
    expect((await files.read(path))?.text()).toBe('one');
    expect(await versions()).toMatchObject([
      { end: 'current', writer: 'page', previous: three?.version },
      { version: three?.version, end: 'replaced' },
      {},
      {},
    ]);
    await files.remove(path);
    await expect(restore(two?.version, three?.version)).rejects.toMatchObject({ code: 'version_conflict' });
    await restore(two?.version, null);
    expect((await files.read(path))?.text()).toBe('two');
  });

  it('takes a version back over one that is larger than its limit', async () => {
    await using agent = await openAgent({ history: { days: 30 } });
    const { files } = agent.memory;
    const path = '/memories/a.md';
    for (const text of ['one', 'x'.repeat(101)]) await files.write(path, text);
    await using view = await open({ ...agent, options: { ...agent.options, limits: { fileBytes: 100 } } });
    const [large, one] = (await ask(view, 'versions', { path })).entries;
    await ask(view, 'restore', { path, version: one?.version, base: large?.version });
    expect((await files.read(path))?.text()).toBe('one');
  });

  it('takes back what was redacted while a version was restored', async () => {
    await using agent = await openAgent({ history: { days: 30 } });
    const { files, history } = agent.memory;
    const path = '/memories/a.md';
    for (const text of ['one', 'two']) await files.write(path, text);
    const [two, one] = await history.list(path);
    if (one === undefined || two === undefined) throw new Error('there are no versions');
    let isRestoring = false;
    const store = interceptStore(agent.store, async (call, proceed) => {
      if (isRestoring && call.verb === 'put' && call.key.includes('/data/')) {
        isRestoring = false;
        await history.redact(one);
      }
      return proceed();
    });
    await using view = await open({ ...agent, options: { ...agent.options, store } });
    isRestoring = true;
    await expect(
      ask(view, 'restore', { path, version: one.version, base: two.version }),
    ).rejects.toMatchObject({ code: 'not_found', details: { reason: 'redacted' } });
    expect((await files.read(path))?.text()).toBe('two');
    for (const entry of await history.list(path)) {
      const text = await history.read(entry).then(
        (version) => version.text(),
        (error: unknown) => String(error),
      );
      expect(text).not.toBe('one');
    }
  });

  const ONE = '/memories/d/one.md';
  const TWO = '/memories/d/deep/two.md';
  const NEW = '/memories/d/new.md';
  const WRITERS: Readonly<Record<string, (files: AgentSite['memory']['files']) => Promise<unknown>>> = {
    'creates a file': (files) => files.write(NEW, 'by an agent'),
    'changes a file': (files) => files.write(ONE, 'by an agent'),
    'removes a file': (files) => files.remove(ONE),
    'replaces a file by another': async (files) => {
      await files.remove(ONE);
      await files.write(ONE, 'by an agent');
    },
    'puts a file in place of the directory': async (files) => {
      await files.remove('/memories/d');
      await files.write('/memories/d', 'by an agent');
    },
  };
  /**
   * The acts, before each of which an agent changes what was shown: the texts after the act are those before it, or the
   * act's own.
   */
  const ACTS: Readonly<
    Record<
      string,
      (view: PageView, shown: { readonly versions: ReadonlyMap<string, string> }) => Promise<unknown>
    >
  > = {
    'a delete of the directory': (view, { versions }) =>
      ask(view, 'remove', { path: '/memories/d', version: null, files: [...versions] }),
    'a delete of the file': (view, { versions }) =>
      ask(view, 'remove', { path: ONE, version: versions.get(ONE) }),
    'an edit': (view, { versions }) =>
      ask(view, 'write', { path: ONE, text: 'by the page', version: versions.get(ONE) }),
    'a new file': (view) => ask(view, 'write', { path: NEW, text: 'by the page', version: null }),
    'a version that is taken back': async (view) => {
      const { entries } = await ask(view, 'versions', { path: ONE });
      const [shown, older] = entries.filter(({ kind }) => kind === 'written').slice(-2);
      await ask(view, 'restore', { path: ONE, version: older?.version, base: shown?.version });
    },
    'a rename of the file': (view) => ask(view, 'rename', { path: ONE, to: NEW }),
    'a rename of the directory': (view) => ask(view, 'rename', { path: '/memories/d', to: '/memories/e' }),
  };
  const textsOf = async ({ memory: { files } }: AgentSite): Promise<ReadonlyMap<string, string>> => {
    const texts = new Map<string, string>();
    for await (const { path, type } of files.list('/memories', { recursive: true })) {
      if (type === 'file') texts.set(path, (await files.read(path))?.text() ?? '');
    }
    return texts;
  };

  it.each(Object.keys(ACTS).flatMap((act) => Object.keys(WRITERS).map((writer) => [act, writer] as const)))(
    'loses nothing by %s where an agent %s meanwhile',
    async (act, writer) => {
      await using agent = await openAgent({ history: { days: 30 } });
      const { files } = agent.memory;
      for (const [path, text] of [
        [ONE, 'first'],
        [ONE, 'one'],
        [TWO, 'two'],
      ] as const)
        await files.write(path, text);
      await using view = await open(agent);
      const versions = new Map([
        [ONE, await versionOf(view, ONE)],
        [TWO, await versionOf(view, TWO)],
      ]);
      await WRITERS[writer]?.(files);
      const before = await textsOf(agent);
      await ACTS[act]?.(view, { versions }).catch((error: unknown) => expect(error).toHaveProperty('code'));
      const after = [...(await textsOf(agent)).values()];
      // The agent's text is there, under whichever path; of the rest only what was shown may be gone.
      for (const text of before.values()) if (text === 'by an agent') expect(after).toContain(text);
      if (act === 'a delete of the directory') expect(await textsOf(agent)).toEqual(before);
    },
  );

  it.each([
    { writer: 'creates a file', differing: [{ path: NEW, what: 'created' }] },
    { writer: 'changes a file', differing: [{ path: ONE, what: 'changed' }] },
    { writer: 'removes a file', differing: [{ path: ONE, what: 'gone' }] },
  ])('deletes a directory only as it was listed: $writer', async ({ writer, differing }) => {
    await using agent = await openAgent();
    const { files } = agent.memory;
    for (const path of [ONE, TWO]) await files.write(path, 'text');
    await using view = await open(agent);
    const listed = async () => [
      [ONE, await versionOf(view, ONE)],
      [TWO, await versionOf(view, TWO)],
    ];
    const input = { path: '/memories/d', version: null, files: await listed() };
    await WRITERS[writer]?.(files);
    const before = await textsOf(agent);
    expect(await ask(view, 'remove', input)).toMatchObject({ deleted: 0, differing });
    expect(await textsOf(agent)).toEqual(before);
  });

  it('leaves a file that is written while its directory is being deleted', async () => {
    const store = openSqliteObjectStore({ path: ':memory:' });
    const agent = await openMemory({ store, tenant: 'acme', rootKey: KEY });
    for (const path of [ONE, TWO]) await agent.files.write(path, 'text');
    let written: Promise<unknown> | undefined;
    const watched = interceptStore(store, async (call, proceed) => {
      if (call.verb === 'delete') {
        written ??= agent.files.write(ONE, 'by an agent');
        await written;
      }
      return proceed();
    });
    await using view = await openTenantView(
      { store: watched, tenant: 'acme', rootKey: KEY },
      { lineOf: () => '', canWrite: true },
    );
    const listed = [
      [ONE, await versionOf(view, ONE)],
      [TWO, await versionOf(view, TWO)],
    ];
    expect(await ask(view, 'remove', { path: '/memories/d', version: null, files: listed })).toMatchObject({
      deleted: 1,
      differing: [{ path: ONE, what: 'changed' }],
    });
    expect((await agent.files.read(ONE))?.text()).toBe('by an agent');
    expect(await agent.files.exists(TWO)).toBe(false);
    await agent.close();
    await store[Symbol.asyncDispose]();
  });

  /** A page whose every write to a file finds that an agent was there just before it, so many times. */
  const openBusy = async (agent: AgentSite, times: number): Promise<PageView> => {
    let left = times;
    const store = interceptStore(agent.store, async (call, proceed) => {
      if (call.verb === 'put' && call.key.includes('/data/') && left > 0) {
        left -= 1;
        await agent.memory.files.append(PATH, `entry ${left}\n`);
      }
      return proceed();
    });
    return open({ ...agent, options: { ...agent.options, store } });
  };
  const PATH = '/memories/a.md';
  const BASE = '# Plan\nin May\n\n# Log\n';
  const MINE = '# Plan\nin June\n\n# Log\n';

  it('merges what is written by lines, however often an agent is faster', async () => {
    await using agent = await openAgent();
    const { files } = agent.memory;
    await files.write(PATH, BASE);
    await using view = await openBusy(agent, 5);
    const merged = await ask(view, 'merge', { path: PATH, text: MINE, base: BASE });
    expect(merged).toMatchObject({ isMerged: true, isRedacted: false });
    const text = (await files.read(PATH))?.text();
    expect(text).toBe(`${MINE}entry 4\nentry 3\nentry 2\nentry 1\nentry 0\n`);
    expect(merged.version).toBe(await versionOf(view, PATH));
  });

  it.each(['merge', 'writeNewest'] as const)(
    'gets 12 of 12 writes of a person in while an agent is faster at three tries of four: %s',
    async (name) => {
      await using agent = await openAgent({ history: { days: 30 } });
      const { files, history } = agent.memory;
      await files.write(PATH, '# Plan\nno step\n\n# Log\n');
      let tries = 0;
      const store = interceptStore(agent.store, async (call, proceed) => {
        if (call.verb === 'put' && call.key.includes('/data/')) {
          tries += 1;
          if (tries % 4 !== 0) await files.append(PATH, `entry ${tries}\n`);
        }
        return proceed();
      });
      await using view = await open({ ...agent, options: { ...agent.options, store } });
      for (let step = 1; step <= 12; step += 1) {
        const base = (await files.read(PATH))?.text() ?? '';
        const text = base.replace(/^.* step$/m, `my ${step}. step`);
        const done = await ask(view, name, { path: PATH, text, ...(name === 'merge' && { base }) });
        expect(done).toMatchObject({ isRedacted: false });
        const now = (await files.read(PATH))?.text() ?? '';
        expect(now).toContain(`my ${step}. step\n`);
      }
      expect(tries).toBe(48);
      // Nothing that the agent wrote is lost: it is in the file, or in an earlier version.
      const written = (await history.list(PATH)).filter(({ kind }) => kind === 'written');
      const texts = await Promise.all(written.map(async (version) => (await history.read(version)).text()));
      const missing = Array.from({ length: 48 }, (_, at) => at + 1).filter(
        (at) => at % 4 !== 0 && !texts.some((text) => text.includes(`entry ${at}\n`)),
      );
      expect(missing).toEqual([]);
      expect(written.filter(({ writer }) => writer === 'page').length).toBe(12);
      if (name === 'merge') expect(texts[0]?.match(/^entry /gm)?.length).toBe(36);
    },
  );

  it('merges nothing where both changed the same lines, or an agent is faster again and again', async () => {
    await using agent = await openAgent();
    const { files } = agent.memory;
    await files.write(PATH, BASE.replace('May', 'July'));
    await using view = await open(agent);
    const input = { path: PATH, text: MINE, base: BASE };
    expect(await ask(view, 'merge', input)).toMatchObject({ isMerged: false });
    expect((await files.read(PATH))?.text()).toContain('July');
    await files.write(PATH, BASE);
    await using busy = await openBusy(agent, 100);
    expect(await ask(busy, 'merge', input)).toMatchObject({ isMerged: false });
    expect((await files.read(PATH))?.text()).toContain('May');
    await files.remove(PATH);
    await expect(ask(view, 'merge', input)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('writes over any version as the newest one where history keeps what is replaced, and nowhere else', async () => {
    await using agent = await openAgent({ history: { days: 30 } });
    const { files, history } = agent.memory;
    await files.write(PATH, BASE);
    await using view = await openBusy(agent, 3);
    expect((await ask(view, 'facts', {})).keepsHistory).toBe(true);
    await ask(view, 'writeNewest', { path: PATH, text: 'mine' });
    expect((await files.read(PATH))?.text()).toBe('mine');
    const kept = await Promise.all(
      (await history.list(PATH)).map(async (each) => (await history.read(each)).text()),
    );
    expect(kept[1]).toBe(`${BASE}entry 2\nentry 1\nentry 0\n`);
    await using plain = await openAgent();
    await plain.memory.files.write(PATH, BASE);
    await using other = await open(plain);
    expect((await ask(other, 'facts', {})).keepsHistory).toBe(false);
    await expect(ask(other, 'writeNewest', { path: PATH, text: 'mine' })).rejects.toMatchObject({
      code: 'invalid_command',
    });
    expect((await plain.memory.files.read(PATH))?.text()).toBe(BASE);
  });

  it('holds to the policy of the memory', async () => {
    await using agent = await openAgent({ policy: 'email' });
    await using view = await open(agent);
    const input = { path: '/memories/a.md', text: 'ada@acme.example', version: null };
    await expect(ask(view, 'write', input)).rejects.toMatchObject({ code: 'policy_refused' });
    await using redacting = await openAgent({ policy: 'email,redact' });
    await using other = await open(redacting);
    expect(await ask(other, 'write', input)).toMatchObject({ isRedacted: true });
    expect((await redacting.memory.files.read('/memories/a.md'))?.text()).not.toContain('ada');
  });

  it('does not open a memory that is configured for reading', async () => {
    await using agent = await openAgent();
    const view = open({ ...agent, options: { ...agent.options, readOnly: true } });
    await expect(view).rejects.toMatchObject({ code: 'misconfigured' });
  });

  it('tells who wrote files, and asks for names once', async () => {
    await using agent = await openAgent({ history: { days: 30 } });
    const paths = ['/memories/a.md', '/memories/b.md', '/memories/none.md'];
    await agent.memory.files.write('/memories/a.md', 'a', { actor: 'turn 1' });
    await agent.memory.files.write('/memories/b.md', 'b');
    await using view = await open(agent, false);
    const first = await ask(view, 'writers', { paths });
    expect(first.writers).toMatchObject([
      { path: '/memories/a.md', writer: 'turn 1' },
      { path: '/memories/b.md' },
    ]);
    expect(first.requests).toEqual({ get: 4, list: 1 });
    expect((await ask(view, 'writers', { paths })).requests).toEqual({ get: 3 });
    for (const wrong of ['x', [1], Array.from({ length: 201 }, () => '/memories/a')]) {
      await expect(ask(view, 'writers', { paths: wrong })).rejects.toMatchObject({ code: 'invalid_command' });
    }
  });
});
