import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { applyPatch } from 'diff';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runDiff } from '../../../../src/cli/files/diff.ts';
import { runPut } from '../../../../src/cli/files/put.ts';
import type { Flags } from '../../../../src/cli/run/invocation.ts';
import { changeLines, patchOf } from '../../../../src/cli/show/patch.ts';
import { invocationOf } from '../../../stage/invocation.ts';
import { roundsDuring } from '../../../stage/measures.ts';

const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-patch-'));
const flags: Flags = {
  store: `sqlite:${join(folder, 'store.sqlite')}`,
  tenant: 'acme',
  rootKeyFile: join(folder, 'root.key'),
};
const [left, right] = ['/memories/a', join(folder, 'b')];
const COARSE = 'the texts differ so much that lines which both have are shown as removed and added';

const lines = (count: number, lineAt: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => `${lineAt(index)}\n`).join('');
const inOrder = lines(4_000, (index) => `line ${index}`);
const shuffled = lines(4_000, (index) => `line ${(index * 1_009) % 4_000}`);

beforeAll(async () => {
  writeFileSync(join(folder, 'root.key'), Buffer.alloc(32, 7).toString('base64'), { mode: 0o600 });
});
afterAll(() => rmSync(folder, { recursive: true }));

async function diff(before: string, after: string, { json = false } = {}) {
  await runPut(left, { text: before }, invocationOf({ flags }).invocation);
  writeFileSync(right, after);
  const { invocation, shown, complaints } = invocationOf({ flags: { ...flags, json } });
  expect(await runDiff({ left, right }, invocation)).toBe(1);
  return { shown: shown.join(''), complaints };
}

describe('sealed-memory diff', () => {
  it('tells what differs of thousands of changed lines', async () => {
    const after = lines(10_000, (index) => `other ${index}`);
    const { shown, complaints } = await diff(
      lines(10_000, (index) => `line ${index}`),
      after,
    );
    expect(shown.split('\n').filter((line) => /^[+-][a-z]/.test(line))).toHaveLength(20_000);
    expect(complaints).toEqual([]);
  });

  it('says where it compared coarsely, and gives a patch that is true', async () => {
    const { shown, complaints } = await diff(inOrder, shuffled);
    expect(applyPatch(inOrder, shown)).toBe(shuffled);
    expect(complaints).toEqual([COARSE]);
    const told = await diff(inOrder, shuffled, { json: true });
    const done = JSON.parse(told.shown.trim().split('\n').at(-1) ?? '');
    expect(done).toMatchObject({ event: 'done', differ: true, coarse: true });
    expect(applyPatch(inOrder, done.patch)).toBe(shuffled);
  });

  it('does not say so elsewhere', async () => {
    const { shown, complaints } = await diff('one\n', 'two\n', { json: true });
    expect(JSON.parse(shown)).not.toHaveProperty('coarse');
    expect(complaints).toEqual([]);
  });
});

describe('patchOf', () => {
  const before = { path: 'a', text: 'a\nb\nc\n'.repeat(40_000) };
  const after = { path: 'b', text: 'c\nb\na\n'.repeat(40_000) };

  it('ends where its caller goes away', async () => {
    const controller = new AbortController();
    const comparing = patchOf(before, after, controller.signal);
    setImmediate(() => controller.abort());
    const rounds = roundsDuring(() => comparing.catch(() => {}));
    await expect(comparing).rejects.toMatchObject({ code: 'aborted' });
    expect(await rounds).toBeLessThan(10);
  });

  it('lets others run while it compares, and while its lines are coloured', async () => {
    expect(await roundsDuring(() => patchOf(before, after, undefined))).toBeGreaterThan(30);
    const found = await patchOf(before, after, undefined);
    const terminal = { style: (_: string, text: string) => text, note: () => {} };
    expect(await roundsDuring(() => changeLines(found, terminal, undefined))).toBeGreaterThan(20);
    const controller = new AbortController();
    const coloured = changeLines(found, terminal, controller.signal);
    controller.abort();
    await expect(coloured).rejects.toMatchObject({ code: 'aborted' });
  });
});
