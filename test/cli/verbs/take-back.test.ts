import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runUndo, type UndoArguments } from '../../../src/cli/verbs/take-back.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { invocationOf } from '../../doubles/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../../support/kept-memory.ts';

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
    return { text: shown.join('').replaceAll(/(?<=\t| )[\w-]{8}(?=\n| →)/g, 'VERSION'), complaints };
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
      ...{ event: 'entry', what: 'replace', path: PATH, patch: expect.stringContaining('+one\n') },
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
