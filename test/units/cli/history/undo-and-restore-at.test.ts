import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runLog } from '../../../../src/cli/history/log.ts';
import { runTrace } from '../../../../src/cli/history/trace.ts';
import {
  runRestoreAt,
  runUndo,
  type UndoArguments,
} from '../../../../src/cli/history/undo-and-restore-at.ts';
import { failureLine, type Invocation } from '../../../../src/cli/run/invocation.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../../src/tool/memory-tool.ts';
import { invocationOf } from '../../../doubles/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../../../support/kept-memory.ts';

const [PATH, OTHER] = ['/memories/a.md', '/memories/b.md'];

describe('the preview of undo', () => {
  let kept: KeptMemory;
  let flags: KeptMemory['flags'];
  let memory: Memory;
  beforeEach(async () => {
    kept = await openKeptMemory();
    ({ flags, memory } = kept);
    await memory.files.write(PATH, 'one\n');
  });
  afterEach(() => kept.remove());

  const write = (path: string, content: string | Uint8Array) =>
    memory.files.write(path, content, { actor: 'bad' });
  const preview = async (options: UndoArguments, { json = false, isForEyes = false } = {}) => {
    const { invocation, shown, complaints } = invocationOf({ flags: { ...flags, json }, isForEyes });
    await runUndo('bad', { dryRun: true, ...options }, invocation);
    return { text: shown.join('').replaceAll(/(?<=\t| )v[\w-]{8}(?=\n| →)/g, 'VERSION'), complaints };
  };
  const TEXTS = `replace  ${PATH}  VERSION → VERSION
--- ${PATH}\tVERSION
+++ ${PATH}\tVERSION
@@ -1,1 +1,1 @@
-poison
+one
delete   ${OTHER}  VERSION → nothing
--- ${OTHER}\tVERSION
+++ /dev/null
@@ -1,1 +0,0 @@
-new
`;

  it('shows how the texts differ with --diff, and on a screen where there are few', async () => {
    await write(PATH, 'poison\n');
    await write(OTHER, 'new\n');
    expect((await preview({ diff: true })).text).toContain(TEXTS);
    expect((await preview({}, { isForEyes: true })).text).toContain(TEXTS);
    expect((await preview({})).text).not.toContain('poison');
    const { text } = await preview({ diff: true }, { json: true });
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({
      event: 'entry',
      what: 'replace',
      path: PATH,
      patch: expect.stringContaining('+one\n'),
    });
  });

  it('names --diff on a screen where there is much', async () => {
    await write(PATH, 'x\n'.repeat(60));
    expect((await preview({}, { isForEyes: true })).text).toContain('64 lines: --diff shows them');
    for (let file = 0; file < 6; file++) await write(`/memories/${file}.md`, 'new\n');
    const { text, complaints } = await preview({}, { isForEyes: true });
    expect(text).not.toContain('+++');
    expect(complaints).toEqual(['--diff shows how the texts differ']);
  });

  it('finds the texts of a file that is renamed back as well', async () => {
    await write(PATH, 'poison\n');
    await memory.files.rename(PATH, OTHER, { actor: 'bad' });
    await write(OTHER, 'more poison\n');
    const { text } = await preview({ diff: true });
    expect(text).toContain('rename ');
    expect(text).toContain('-more poison\n+one\n');
  });

  it('says what is not text', async () => {
    await write(PATH, Uint8Array.of(0xff, 0xfe));
    expect((await preview({ diff: true })).text).toContain('what the file holds is not text');
    const { text } = await preview({ diff: true }, { json: true });
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ without: 'not_text' });
  });
});

describe('a text that others brought back', () => {
  let kept: KeptMemory;
  beforeEach(async () => {
    kept = await openKeptMemory();
    const { files, history } = kept.memory;
    await files.write(PATH, 'one\n', { actor: 'ann' });
    await files.write(PATH, 'poison\n', { actor: 'bad' });
    await history.undo({ writer: 'bad', actor: 'repair' });
    await history.undo({ writer: 'repair', actor: 'bob' });
  });
  afterEach(() => kept.remove());

  it('is named, with who did it and what to do, by an undo that has nothing to take back', async () => {
    const [now, , poison] = await kept.memory.history.list(PATH);
    const undo = async (writer: string, json = false) => {
      const { invocation, shown } = invocationOf({ flags: { ...kept.flags, json } });
      return { code: await runUndo(writer, { yes: true }, invocation), text: shown.join('') };
    };
    const { code, text } = await undo('bad');
    expect(code).toBe(1);
    expect(text).toContain(
      `again    ${PATH}  v${now?.version.slice(0, 8)} by bob has the text of v${poison?.version.slice(0, 8)} again: `,
    );
    expect((await undo('bad', true)).text.split('\n').map((line) => line && JSON.parse(line))).toMatchObject([
      { event: 'entry', what: 'again', path: PATH, version: now?.version, writer: 'bob' },
      { event: 'done', outcome: 'nothing', changes: 0, again: 1 },
      '',
    ]);
    // Of a plan the same is said.
    const { invocation, shown } = invocationOf({ flags: { ...kept.flags, json: true } });
    expect(await runUndo('bad', { dryRun: true }, invocation)).toBe(1);
    expect(shown.join('')).toContain('"outcome":"nothing"');
    // What it says helps.
    expect((await undo('bob')).code).toBe(0);
    expect(await undo('bad')).toMatchObject({
      code: 0,
      text: expect.stringContaining('nothing to take back'),
    });
  });

  it('is by actors of whom a trace says why it does not know what they read', async () => {
    const { invocation, shown } = invocationOf({ flags: kept.flags });
    await runTrace(
      { path: PATH, version: (await kept.memory.history.list(PATH)).at(-1)?.version },
      invocation,
    );
    expect(shown.join('')).toContain(
      'untold: whether these read it before they wrote, as no stored turn says (a person, a repair, another program): ',
    );
  });

  it('is traced in the order of time', async () => {
    const { invocation, shown } = invocationOf({ flags: { ...kept.flags, json: true } });
    await runTrace({ path: PATH, version: undefined }, invocation);
    const { versions } = JSON.parse(shown.join(''));
    const inTime = (await kept.memory.history.list(PATH)).toReversed().map(({ version }) => version);
    expect(versions.map(({ version }: { version: string }) => version)).toEqual(inTime);
  });
});

describe('an actor whom the history names otherwise than the caller', () => {
  it('is known all the same, by the name and by what stands for it', async () => {
    const kept = await openKeptMemory();
    const { files, history } = kept.memory;
    await files.write(PATH, 'one\n', { actor: 'ann' });
    await files.write(PATH, 'poison\n', { actor: 'bad' });
    await history.undo({ writer: 'bad', actor: 'repair' });
    const path = kept.flags.store.slice('sqlite:'.length);
    await using store = openSqliteObjectStore({ path });
    for await (const { objects } of store.list({ prefix: 'tenants/acme/' }))
      await store.delete(objects.filter(({ key }) => key.includes('/actors/')).map(({ key }) => ({ key })));
    const undo = async (writer: string) => {
      const { invocation, shown } = invocationOf({ flags: kept.flags });
      return { code: await runUndo(writer, { yes: true }, invocation), text: shown.join('') };
    };
    const nothing = { code: 0, text: expect.stringContaining('nothing to take back') };
    const [, poison] = await history.list(PATH);
    const id = poison?.writer ?? '';
    expect(id).toMatch(/^[\w-]{22}$/);
    expect(await undo('bad')).toEqual(nothing);
    expect(await undo(id)).toEqual(nothing);

    const { store: location, tenant } = kept.flags;
    await using another = await openMemory({
      store: location,
      tenant,
      rootKey: Buffer.alloc(32, 7).toString('base64'),
      actor: 'bad',
    });
    await another.files.write(PATH, 'named again\n');
    await another.history.undo({ writer: 'bad', actor: 'repair' });
    expect((await history.list(PATH)).at(-2)?.writer).toBe('bad');
    expect(await undo(id)).toEqual(nothing);
    expect(await undo('bad')).toEqual(nothing);
    await another.history.undo({ writer: 'repair', actor: 'bob' });
    expect(await undo(id)).toMatchObject({
      code: 1,
      text: expect.stringContaining('by bob has the text of'),
    });
    await kept.remove();
  });
});

describe('restore-at', () => {
  let kept: KeptMemory;
  beforeEach(async () => {
    kept = await openKeptMemory();
  });
  afterEach(() => kept.remove());

  it('names in its plan who wrote what goes, where an actor is known', async () => {
    const { files } = kept.memory;
    await files.write(PATH, 'one\n', { actor: 'ann' });
    await files.write(OTHER, 'no one\n');
    const [first] = await kept.memory.history.list(PATH);
    await setTimeout(2);
    const moment = new Date();
    await files.write(PATH, 'two\n', { actor: 'bob' });
    await files.write(OTHER, 'still no one\n');
    const planned = async (json: boolean): Promise<string> => {
      const { invocation, shown } = invocationOf({ flags: { ...kept.flags, json } });
      await runRestoreAt(moment.toISOString(), { dryRun: true }, invocation);
      return shown.join('');
    };
    const text = await planned(false);
    expect(text).toMatch(
      new RegExp(`^replace  ${PATH}  v\\S{8} by bob → v${first?.version.slice(0, 8)}$`, 'm'),
    );
    expect(text).toMatch(new RegExp(`^replace  ${OTHER}  v\\S{8} → v\\S{8}$`, 'm'));
    const lines = (await planned(true)).split('\n').map((line) => line && JSON.parse(line));
    expect(lines[0]).toMatchObject({ path: PATH, writer: 'bob' });
    expect(lines[1]).not.toHaveProperty('writer');
  });

  it('says when the history begins, where the moment lies before it', async () => {
    await kept.memory.files.write(PATH, 'one\n');
    const [first] = await kept.memory.history.list();
    const begins = first?.time.toISOString();
    const restoreAt = async (json: boolean) => {
      const { invocation, shown } = invocationOf({ flags: { ...kept.flags, json } });
      const code = await runRestoreAt('2020-01-01T00:00:00Z', { yes: true }, invocation);
      return { code, text: shown.join('') };
    };
    const { code, text } = await restoreAt(false);
    expect(code).toBe(1);
    expect(text).toContain('left     /memories  the history does not tell what was there then\n');
    expect(text).toContain(
      `note  the history begins at ${begins}: it knows of nothing before\nFAIL  1 change`,
    );
    const { invocation, shown } = invocationOf({ flags: kept.flags });
    await runRestoreAt('2020-01-01T00:00:00Z', { below: '/memories/a.md' }, invocation);
    expect(shown.at(-1)).toMatch(/\nFAIL {2}nothing can be restored, 1 file left\n$/);
    expect(JSON.parse((await restoreAt(true)).text.trim().split('\n').at(-1) ?? '')).toEqual({
      event: 'done',
      outcome: 'withheld',
      changes: 1,
      left: 1,
      begins,
    });
  });
});

describe('a wrong call', () => {
  const later = new Date(Date.now() + 3_600_000).toISOString();
  it.each<[string, string, (invocation: Invocation) => Promise<number>]>([
    ['a time that is none', 'ISO 8601', (run) => runRestoreAt('yesterday', { yes: true }, run)],
    ['a time in the future', 'lies in the future', (run) => runRestoreAt(later, { yes: true }, run)],
    ['an empty turn', '--turn needs the id of a turn', (run) => runUndo(undefined, { turn: '' }, run)],
    ['an empty turn beside a writer', '--turn needs the id', (run) => runUndo('ann', { turn: '' }, run)],
    ['an empty writer', 'the name is empty', (run) => runUndo('', {}, run)],
  ])('is refused before anything is opened, and ends with 2: %s', async (_, why, verb) => {
    const refusal = await verb(invocationOf({}).invocation).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'misconfigured', message: expect.stringContaining(why) });
    expect(failureLine(refusal)).not.toMatch(/^misconfigured/);
  });
});

describe('a plan that is not agreed to', () => {
  it('is refused plainly', async () => {
    const kept = await openKeptMemory();
    await kept.memory.files.write(PATH, 'one\n', { actor: 'ann' });
    const refused = async (typed: string, isForEyes: boolean): Promise<string> => {
      const { invocation } = invocationOf({ flags: kept.flags, isForEyes, typed });
      return failureLine(await runUndo('ann', {}, invocation).catch((error: unknown) => error));
    };
    expect(await refused('no\n', true)).toBe('that is not yes; nothing was changed');
    expect(await refused('', false)).toBe(
      'this is the plan alone: give --yes to write it; nothing was changed',
    );
    await kept.remove();
  });
});

describe('a plan that is another one when it is agreed to', () => {
  let kept: KeptMemory;
  let then: string;
  beforeEach(async () => {
    kept = await openKeptMemory();
    await kept.memory.files.write(PATH, 'one\n', { actor: 'ann' });
    await setTimeout(2);
    then = new Date().toISOString();
    await kept.memory.files.write(PATH, 'poison\n', { actor: 'bad' });
  });
  afterEach(() => kept.remove());

  it.each<[string, (invocation: Invocation) => Promise<number>]>([
    ['restore-at', (run) => runRestoreAt(then, {}, run)],
    ['undo', (run) => runUndo('bad', {}, run)],
  ])('is not carried out: %s', async (_, verb) => {
    const { files } = kept.memory;
    const agree = (meanwhile: () => Promise<unknown>) =>
      invocationOf({ flags: kept.flags, isForEyes: true, typed: () => meanwhile().then(() => 'yes\n') });
    const another = agree(() => files.write(OTHER, 'new\n', { actor: 'bad' }));
    const refusal = await verb(another.invocation).catch((error: unknown) => error);
    expect(another.shown.join('')).not.toContain(OTHER);
    expect(refusal).toMatchObject({ code: 'version_conflict' });
    expect(failureLine(refusal)).toBe(
      'The plan is another one by now, and nothing was written: look at it again.',
    );
    expect((await files.read(OTHER))?.text()).toBe('new\n');
    expect((await files.read(PATH))?.text()).toBe('poison\n');

    const same = agree(async () => {});
    expect(await verb(same.invocation)).toBe(0);
    expect(same.shown.join('')).toContain(`delete   ${OTHER}`);
    expect(await files.exists(OTHER)).toBe(false);
    expect((await files.read(PATH))?.text()).toBe('one\n');
  });
});

describe('a name of which the history knows nothing', () => {
  let kept: KeptMemory;
  beforeAll(async () => {
    kept = await openKeptMemory();
    await kept.memory.files.write(PATH, 'one\n', { actor: 'ann' });
    await kept.memory.files.rename(PATH, '/memories/d/a.md', { actor: 'bob' });
  });
  afterAll(() => kept.remove());

  const now = new Date().toISOString();
  const nothing = { code: 'not_found', message: expect.stringContaining('The history knows') };
  it.each<[string, (invocation: Invocation) => Promise<number>]>([
    ['a writer', (run) => runUndo('nobody', { yes: true }, run)],
    ['a turn', (run) => runUndo(undefined, { turn: 't-1', dryRun: true }, run)],
    ['a path', (run) => runRestoreAt(now, { below: '/memories/nope' }, run)],
    ['a path that another one begins with', (run) => runRestoreAt(now, { below: '/memories/a' }, run)],
    ['a path that is traced', (run) => runTrace({ path: '/memories/nope', version: undefined }, run)],
  ])('is refused: %s', async (_, verb) => {
    await expect(verb(invocationOf({ flags: kept.flags }).invocation)).rejects.toMatchObject(nothing);
  });

  it('is refused: a tenant', async () => {
    const { invocation } = invocationOf({ flags: { ...kept.flags, tenant: 'nobody' } });
    const refusal = { code: 'not_found', message: expect.stringContaining('the tenant nobody has no entry') };
    await expect(runUndo('ann', {}, invocation)).rejects.toMatchObject(refusal);
    await expect(runRestoreAt(now, {}, invocation)).rejects.toMatchObject(refusal);
  });

  it('is not one for which there is nothing to do', async () => {
    const { invocation, shown } = invocationOf({ flags: kept.flags });
    for (const below of ['/memories', PATH, '/memories/d', '/memories/d/a.md'])
      expect(await runRestoreAt(new Date().toISOString(), { below }, invocation)).toBe(0);
    expect(await runUndo('bob', { yes: true }, invocation)).toBe(0);
    expect(await runUndo('bob', { yes: true }, invocation)).toBe(0);
    expect(shown.at(-1)).toContain('nothing to take back');
  });

  it('has no log', async () => {
    const { invocation, shown } = invocationOf({ flags: kept.flags });
    expect(await runLog('/memories/nope', {}, invocation)).toBe(1);
    expect(shown.join('')).toContain('Nothing is known of /memories/nope');
  });
});
