import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runRestoreVersion } from '../../../../src/cli/history/restore-version.ts';
import type { Memory } from '../../../../src/tool/memory-tool.ts';
import { invocationOf } from '../../../stage/invocation.ts';
import { type KeptMemory, openKeptMemory } from '../../../stage/kept-memory.ts';

const PATH = '/memories/a.md';

describe('restore of one version', () => {
  let kept: KeptMemory;
  let flags: KeptMemory['flags'];
  let memory: Memory;
  let first: string;
  beforeEach(async () => {
    kept = await openKeptMemory();
    ({ flags, memory } = kept);
    await memory.files.write(PATH, 'one\n');
    await memory.files.write(PATH, 'two\n');
    first = (await memory.history.list(PATH)).at(-1)?.version ?? '';
  });
  afterEach(() => kept.remove());

  const restore = async (
    consent: { readonly yes?: boolean; readonly dryRun?: boolean },
    { json = false, isForEyes = false, typed = '', version = first.slice(0, 8) } = {},
  ) => {
    const { invocation, shown } = invocationOf({ flags: { ...flags, json }, isForEyes, typed });
    const code = await runRestoreVersion({ path: PATH, version, ...consent }, invocation);
    return { code, text: shown.join('') };
  };
  const text = async (): Promise<string | undefined> => (await memory.files.read(PATH))?.text();
  const preview = () =>
    `replace  ${PATH}  with the text of v${first.slice(0, 8)}\n--- ${PATH}\tnow\n+++ ${PATH}\tv${first.slice(0, 8)}\n@@ -1,1 +1,1 @@\n-two\n+one\n`;

  it('shows how the texts differ, and writes after a yes', async () => {
    expect(await restore({ dryRun: true })).toEqual({
      code: 0,
      text: `${preview()}plan  1 change; nothing was written\n`,
    });
    await expect(restore({})).rejects.toThrow('give --yes to write it; nothing was changed');
    await expect(restore({}, { isForEyes: true, typed: 'no\n' })).rejects.toThrow('that is not yes');
    expect(await text()).toBe('two\n');
    const answered = await restore({}, { isForEyes: true, typed: 'yes\n' });
    expect(answered).toMatchObject({ code: 0, text: expect.stringContaining('has the text of version') });
    expect(answered.text.startsWith(preview())).toBe(true);
    expect(await text()).toBe('one\n');
    expect((await restore({ yes: true })).text).toContain('nothing to do');
    expect(await memory.history.list(PATH)).toHaveLength(3);
  });

  it('replaces nothing that it has not shown', async () => {
    const { invocation } = invocationOf({ flags, isForEyes: true });
    const meanwhile = async function* (): AsyncGenerator<Uint8Array> {
      await memory.files.write(PATH, 'three\n');
      yield new TextEncoder().encode('yes\n');
    };
    const terminal = { ...invocation.terminal, stdin: meanwhile() };
    await expect(
      runRestoreVersion({ path: PATH, version: first }, { ...invocation, terminal }),
    ).rejects.toMatchObject({
      code: 'version_conflict',
      message: `${PATH} was changed meanwhile; nothing was written.`,
    });
    expect(await text()).toBe('three\n');
  });

  it('writes back nothing that was redacted while it asked', async () => {
    const { invocation } = invocationOf({ flags, isForEyes: true });
    const meanwhile = async function* (): AsyncGenerator<Uint8Array> {
      await memory.history.redact({ path: PATH, version: first });
      yield new TextEncoder().encode('yes\n');
    };
    const terminal = { ...invocation.terminal, stdin: meanwhile() };
    await expect(
      runRestoreVersion({ path: PATH, version: first }, { ...invocation, terminal }),
    ).rejects.toMatchObject({ code: 'not_found', details: { reason: 'redacted' } });
    expect(await text()).toBe('two\n');
  });
});
