import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../src/open/options/options.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { type KeptMemory, openKeptMemory } from '../stage/kept-memory.ts';

const [SEEN, HIDDEN, AWAY] = ['/memories/a.md', '/memories/handbook/a.md', '/memories/away.md'];
const MOUNTS = [{ at: '/memories/handbook', tenant: 'org' }];

/** Files of a tenant, some of them where a handbook is mounted from now on. */
describe('what a mount hides', () => {
  let kept: KeptMemory;
  let then: string;
  let seen: Memory;
  let options: MemoryOptions;
  beforeEach(async () => {
    kept = await openKeptMemory();
    const { files } = kept.memory;
    for (const path of [SEEN, HIDDEN, '/memories/handbook/moved.md']) await files.write(path, 'one\n');
    await setTimeout(2);
    then = new Date().toISOString();
    for (const path of [SEEN, HIDDEN]) await files.write(path, 'poison\n', { actor: 'bad' });
    await files.rename('/memories/handbook/moved.md', AWAY, { actor: 'bad' });
    await files.write(AWAY, 'poison\n', { actor: 'bad' });
    const { store, tenant } = kept.flags;
    options = { store, tenant, rootKey: Buffer.alloc(32, 7).toString('base64') };
    await using org = await openMemory({ ...options, tenant: 'org' });
    await org.files.write('/memories/a.md', 'rules\n');
    seen = await openMemory({ ...options, mounts: MOUNTS });
  });
  afterEach(async () => {
    await seen.close();
    await kept.remove();
  });

  const left = (path: string) => ({ path, reason: 'hidden_by_mount', version: expect.any(String) });
  const textAt = async ({ files }: Memory, path: string) => (await files.read(path))?.text();

  it('is left by restoreAt, which withholds the rest unless parts are asked for', async () => {
    const { history } = seen;
    expect((await history.restoreAt(then)).outcome).toBe('withheld');
    const restored = await history.restoreAt(then, { partial: true });
    expect(restored.left).toEqual([left(HIDDEN), left('/memories/handbook/moved.md')]);
    expect(restored.changes.map(({ path }) => path)).toEqual([SEEN, AWAY]);
    expect(await textAt(kept.memory, HIDDEN)).toBe('poison\n');
    expect(await textAt(seen, HIDDEN)).toBe('rules\n');
  });

  it('is left by undo, which takes the text of a file back where its rename cannot be', async () => {
    const undone = await seen.history.undo({ writer: 'bad' });
    expect(undone.left).toEqual([left(AWAY), left(HIDDEN)]);
    expect(undone.changes.map(({ what, path }) => `${what} ${path}`)).toEqual([
      `replace ${SEEN}`,
      `replace ${AWAY}`,
    ]);
    expect([await textAt(kept.memory, AWAY), await textAt(kept.memory, HIDDEN)]).toEqual([
      'one\n',
      'poison\n',
    ]);
    expect((await seen.history.undo({ writer: 'bad' })).changes).toEqual([]);
    // Without the mount the text is taken back that it hid; the file that was renamed has got a text since.
    const rest = await kept.memory.history.undo({ writer: 'bad' });
    expect(rest.left).toMatchObject([{ path: AWAY, reason: 'built_on' }]);
    expect(await textAt(kept.memory, HIDDEN)).toBe('one\n');
  });

  it('is not restored by its version, and what is mounted there stays as it is', async () => {
    const version = (await kept.memory.history.list(HIDDEN)).at(-1)?.version ?? '';
    const refusal = { code: 'invalid_command', details: { reason: 'hidden_by_mount' } };
    await expect(seen.history.restore({ path: HIDDEN, version })).rejects.toMatchObject(refusal);
    expect([await textAt(seen, HIDDEN), await textAt(kept.memory, HIDDEN)]).toEqual(['rules\n', 'poison\n']);
    expect((await seen.history.read({ path: HIDDEN, version })).text()).toBe('one\n');
    await kept.memory.history.restore({ path: HIDDEN, version });
    expect(await textAt(kept.memory, HIDDEN)).toBe('one\n');
  });
});
