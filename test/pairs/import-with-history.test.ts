import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runImport } from '../../src/cli/files/import.ts';
import { runTurnHistory } from '../../src/cli/history/switch.ts';
import { runUndo } from '../../src/cli/history/undo-and-restore-at.ts';
import { runVerify } from '../../src/cli/history/verify.ts';
import type { Action } from '../../src/cli/run/invocation.ts';
import { invocationOf } from '../stage/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../stage/kept-memory.ts';

const [A, B, SAME, NEW] = [
  '/memories/a.md',
  '/memories/notes/b.md',
  '/memories/same.md',
  '/memories/new/c.md',
];
const BEFORE = { [A]: 'a of ann', [B]: 'b of ann', [SAME]: 'the same' };
const AFTER = { [A]: 'a, imported', [B]: 'b, imported', [SAME]: 'the same', [NEW]: 'c, imported' };
/** More than is worked on at once. */
const MORE = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`/memories/z/${i}.md`, `more ${i}`]));

let kept: KeptMemory;
let from: string;
beforeEach(async () => {
  kept = await openKeptMemory();
  for (const [path, text] of Object.entries(BEFORE))
    await kept.memory.files.write(path, text, { actor: 'ann' });
  from = mkdtempSync(join(tmpdir(), 'sealed-memory-import-'));
  place(AFTER);
  vi.stubEnv('SEALED_MEMORY_ACTOR', 'import of May');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  rmSync(from, { recursive: true });
  await kept.remove();
});

/** Puts files into the folder that is imported. */
function place(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(from, path.slice('/memories/'.length));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

async function said(action: Action, more: object = {}) {
  const { invocation, shown } = invocationOf({ flags: { ...kept.flags, ...more } });
  const code = await action(invocation);
  return { code, text: shown.join('') };
}

const runs = (more: object = {}, path = '/memories') =>
  said((run) => runImport({ from, path }, { force: true }, run), more);

async function texts(): Promise<Readonly<Record<string, string | undefined>>> {
  const found: Record<string, string | undefined> = {};
  for await (const { path, type } of kept.memory.files.list('/memories', { recursive: true })) {
    if (type === 'file') found[path] = (await kept.memory.files.read(path))?.text();
  }
  return found;
}

/** What the log says of a path: the text and the writer of each version, the newest first. */
async function versionsOf(path: string): Promise<readonly string[]> {
  const { history } = kept.memory;
  const written = (await history.list(path)).filter(({ kind }) => kind === 'written');
  return Promise.all(
    written.map(async (entry) => `${(await history.read(entry)).text()} by ${entry.writer}`),
  );
}

async function undo(): Promise<void> {
  vi.stubEnv('SEALED_MEMORY_ACTOR', 'cyd');
  expect((await said((run) => runUndo('import of May', { yes: true }, run))).code).toBe(0);
}

describe('an import into a tenant that keeps history', () => {
  it('keeps what it replaces, is the deed of its actor, and is taken back as a whole', async () => {
    expect((await runs()).text).toBe('ok    3 files written to /memories, 1 there already\n');
    expect(await texts()).toEqual(AFTER);
    expect(await versionsOf(A)).toEqual(['a, imported by import of May', 'a of ann by ann']);
    expect(await versionsOf(SAME)).toEqual(['the same by ann']);
    expect(await versionsOf(NEW)).toEqual(['c, imported by import of May']);
    await undo();
    expect(await texts()).toEqual(BEFORE);
    expect((await said((run) => runVerify({}, run))).code).toBe(0);
  });

  it('writes no version twice when it is repeated, nor one where it is refused to replace', async () => {
    const careful = await said((run) => runImport({ from, path: '/memories' }, {}, run));
    expect(careful).toMatchObject({ code: 1, text: expect.stringContaining('1 there already, 2 left') });
    expect(await versionsOf(A)).toEqual(['a of ann by ann']);
    await runs();
    expect((await runs()).text).toBe('ok    0 files written to /memories, 4 there already\n');
    expect(await versionsOf(A)).toHaveLength(2);
    expect(await versionsOf(NEW)).toHaveLength(1);
    await undo();
    expect(await texts()).toEqual(BEFORE);
  });

  it.each([1, 2])('goes on where it was cut off, behind file %i, and is taken back as one', async (files) => {
    place(MORE);
    const { invocation } = invocationOf({ flags: kept.flags });
    const progress = ({ done }: { readonly done?: number }): void => {
      if (done === files) throw new Error('the process is dead');
    };
    const report = { ...invocation.report, progress } as typeof invocation.report;
    const dying = runImport({ from, path: '/memories' }, { force: true }, { ...invocation, report });
    await expect(dying).rejects.toThrow('the process is dead');
    expect(await texts()).not.toEqual({ ...AFTER, ...MORE });
    expect((await runs()).code).toBe(0);
    expect(await texts()).toEqual({ ...AFTER, ...MORE });
    expect(await versionsOf(A)).toEqual(['a, imported by import of May', 'a of ann by ann']);
    expect((await said((run) => runVerify({}, run))).code).toBe(0);
    await undo();
    expect(await texts()).toEqual(BEFORE);
  });

  it('leaves to an undo what others wrote since', async () => {
    await runs();
    await kept.memory.files.append(B, ', and more', { actor: 'bob' });
    vi.stubEnv('SEALED_MEMORY_ACTOR', 'cyd');
    const { code, text } = await said((run) => runUndo('import of May', { yes: true }, run));
    expect([code, text]).toEqual([1, expect.stringContaining(B)]);
    expect(await texts()).toEqual({ ...BEFORE, [B]: 'b, imported, and more' });
  });
});

describe('an import that something stands in the way of', () => {
  it('changes nothing, and is no version, where the memory may only be read', async () => {
    await expect(runs({ readOnly: true })).rejects.toMatchObject({ code: 'read_only' });
    expect(await texts()).toEqual(BEFORE);
    expect(await kept.memory.history.list()).toHaveLength(3);
  });

  it('keeps no text that a policy refuses, and takes the others in', async () => {
    writeFileSync(join(from, 'new', 'c.md'), 'mail me@example.org');
    writeFileSync(join(from, 'a.md'), 'mail me@example.org as well');
    const { code, text } = await runs({ policy: 'email' });
    expect([code, text]).toEqual([
      1,
      expect.stringContaining('1 file written to /memories, 1 there already, 2 left'),
    ]);
    expect(await versionsOf(A)).toEqual(['a of ann by ann']);
    expect(await versionsOf(NEW)).toEqual([]);
    expect(await versionsOf(B)).toEqual(['b, imported by import of May', 'b of ann by ann']);
  });

  it('writes into a mounted tenant, whose own history takes it back', async () => {
    const mounted = { mount: ['/memories/notes=shared'] };
    await said((run) => runTurnHistory('on', run), { tenant: 'shared' });
    expect((await runs(mounted)).text).toContain('3 files written');
    // Beneath the mount the file of the own tenant stays as it was.
    expect(await versionsOf(B)).toEqual(['b of ann by ann']);
    await undo();
    expect(await texts()).toEqual(BEFORE);
    const undone = await said((run) => runUndo('import of May', { yes: true }, run), { tenant: 'shared' });
    expect(undone.text).toContain('delete   /memories/b.md');
  });

  it('names each file of a mount that may only be read, and takes the others in', async () => {
    const { code, text } = await runs({ mount: ['/memories/notes=shared:ro'] });
    expect(code).toBe(1);
    expect(text).toMatch(/^FAIL {2}\S+b\.md was refused: /m);
    expect(await versionsOf(A)).toHaveLength(2);
  });
});

it('an import while history is off keeps nothing, and cannot be taken back', async () => {
  await said((run) => runTurnHistory('off', run));
  expect((await runs()).code).toBe(0);
  expect(await versionsOf(A)).not.toContain('a of ann by ann');
  await said((run) => runTurnHistory('on', run));
  await expect(said((run) => runUndo('import of May', { yes: true }, run))).rejects.toMatchObject({
    code: 'not_found',
  });
  expect(await texts()).toEqual(AFTER);
});
