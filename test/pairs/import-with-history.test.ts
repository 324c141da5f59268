import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runImport } from '../../src/cli/files/import.ts';
import { runUndo } from '../../src/cli/history/undo-and-restore-at.ts';
import { runVerify } from '../../src/cli/history/verify.ts';
import type { Action } from '../../src/cli/run/invocation.ts';
import { invocationOf } from '../stage/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../stage/kept-memory.ts';

const [A, SAME, NEW] = ['/memories/a.md', '/memories/same.md', '/memories/new/c.md'];
const BEFORE = { [A]: 'a of ann', [SAME]: 'the same' };
const AFTER = { [A]: 'a, imported', [SAME]: 'the same', [NEW]: 'c, imported' };
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

async function said(action: Action) {
  const { invocation } = invocationOf({ flags: kept.flags });
  return { code: await action(invocation) };
}

const runs = () => said((run) => runImport({ from, path: '/memories' }, { force: true }, run));

async function texts(): Promise<Readonly<Record<string, string | undefined>>> {
  const found: Record<string, string | undefined> = {};
  for await (const { path, type } of kept.memory.files.list('/memories', { recursive: true })) {
    if (type === 'file') found[path] = (await kept.memory.files.read(path))?.text();
  }
  return found;
}

/** Answers what the log says of a path: the text and the writer of each version, the newest first. */
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
});
