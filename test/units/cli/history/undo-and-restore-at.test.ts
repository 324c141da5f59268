import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  runRestoreAt,
  runUndo,
  type UndoArguments,
} from '../../../../src/cli/history/undo-and-restore-at.ts';
import { failureLine, type Invocation } from '../../../../src/cli/run/invocation.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../../src/tool/memory-tool.ts';
import { invocationOf } from '../../../stage/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../../../stage/kept-memory.ts';

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
