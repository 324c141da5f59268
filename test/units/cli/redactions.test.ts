import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runCp } from '../../../src/cli/files/cp.ts';
import { runImport } from '../../../src/cli/files/import.ts';
import { runPut } from '../../../src/cli/files/put.ts';
import { runRestoreVersion } from '../../../src/cli/history/restore-version.ts';
import { runUndo } from '../../../src/cli/history/undo-and-restore-at.ts';
import type { Flags, Invocation } from '../../../src/cli/run/invocation.ts';
import { invocationOf } from '../../doubles/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../../support/kept-memory.ts';

const PATH = '/memories/a.md';
const TEXT = 'ada@example.org, bob@example.org\n';
const RULES = [{ rule: 'email', findings: 2 }];
const LINE = `note  ${PATH}: the policy replaced 2 findings (email 2) before it was written\n`;

let kept: KeptMemory;
let folder: string;
beforeEach(async () => {
  kept = await openKeptMemory();
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-redactions-'));
});
afterEach(async () => {
  await kept.remove();
  rmSync(folder, { recursive: true });
});

async function run(verb: (invocation: Invocation) => Promise<number>, flags: Flags = {}) {
  const { invocation, shown } = invocationOf({ flags: { ...kept.flags, policy: 'email,redact', ...flags } });
  return { code: await verb(invocation), text: shown.join('') };
}
const asJson = async (verb: (invocation: Invocation) => Promise<number>) =>
  (await run(verb, { json: true })).text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

describe('what a policy has redacted', () => {
  it('is told by put, also behind what is there', async () => {
    const put = (append: boolean) => (on: Invocation) => runPut(PATH, { append, text: TEXT }, on);
    expect(await run(put(false))).toEqual({ code: 0, text: LINE });
    expect(await asJson(put(false))).toMatchObject([{ event: 'done', path: PATH, redacted: RULES }]);
    expect(await run(put(true))).toEqual({ code: 0, text: expect.stringMatching(/ appended to .*\n/) });
    expect((await run(put(true))).text).toContain(LINE);
    expect(await asJson(put(true))).toMatchObject([
      { event: 'done', appended: TEXT.length, redacted: RULES },
    ]);
    expect(await run((on) => runPut(PATH, { text: 'one\n' }, on))).toEqual({ code: 0, text: '' });
  });

  it('is told by import of each file, and in a sum', async () => {
    mkdirSync(join(folder, 'from'));
    const from = join(folder, 'from');
    for (const name of ['a.md', 'b.md']) writeFileSync(join(from, name), TEXT);
    writeFileSync(join(from, 'c.md'), 'one\n');
    const importTo = (path: string) => (on: Invocation) => runImport({ from, path }, {}, on);
    const told = 'the policy replaced 2 findings (email 2) before it was written';
    expect(await run(importTo('/memories/x'))).toEqual({
      code: 0,
      text: `note  ${from}/a.md: ${told}\nnote  ${from}/b.md: ${told}\nok    3 files written to /memories/x, 2 of them with 4 findings (email 4) replaced\n`,
    });
    const lines = await asJson(importTo('/memories/y'));
    expect(lines.filter(({ event }) => event !== 'progress')).toMatchObject([
      { event: 'entry', path: join(from, 'a.md'), redacted: RULES },
      { event: 'entry', path: join(from, 'b.md'), redacted: RULES },
      { event: 'done', written: 3, redactedFiles: 2, redacted: [{ rule: 'email', findings: 4 }] },
    ]);
    expect(JSON.stringify(lines)).not.toContain('example.org');
  });

  it('is why bytes that are no text are left by import', async () => {
    writeFileSync(join(folder, 'b.bin'), Buffer.concat([Buffer.from(TEXT), Buffer.from([0xff, 0])]));
    const { code, text } = await run((on) => runImport({ from: folder, path: '/memories' }, {}, on));
    expect(code).toBe(1);
    expect(text).toContain('cannot be replaced there, because the file is not UTF-8 text');
  });

  it('is told by cp, restore of a version and undo', async () => {
    const { files, history } = kept.memory;
    await files.write(PATH, TEXT, { actor: 'ann' });
    const copied = await run((on) => runCp({ from: PATH, to: '/memories/b.md' }, {}, on));
    expect(copied.text).toBe(LINE.replace(PATH, '/memories/b.md'));
    await files.write(PATH, 'poison\n', { actor: 'bad' });
    const undone = await asJson((on) => runUndo('bad', { yes: true }, on));
    expect(undone.at(-1)).toMatchObject({ outcome: 'written', redacted: RULES });
    const version = (await history.list(PATH)).at(-1)?.version ?? '';
    const restored = await run((on) => runRestoreVersion({ path: PATH, version, yes: true }, on));
    expect(restored.text).toContain(LINE);
  });
});
