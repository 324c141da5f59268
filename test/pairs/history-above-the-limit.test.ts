import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openMemory } from '../../src/open/open-memory.ts';
import type { Memory } from '../../src/tool/memory-tool.ts';
import { type KeptMemory, openKeptMemory } from '../stage/kept-memory.ts';

const LARGE = 'x'.repeat(2_000);
const [KEPT, GROWN, PLANTED, MOVED] = ['kept', 'grown', 'planted', 'moved'].map(
  (name) => `/memories/${name}.md`,
) as [string, string, string, string];

/** An operator's process whose limit of files is lower than that of the writers. */
describe('the history of files above the limit', () => {
  let kept: KeptMemory;
  let then: string;
  let memory: Memory;
  beforeEach(async () => {
    kept = await openKeptMemory();
    const { files } = kept.memory;
    await files.write(KEPT, LARGE);
    await files.write(GROWN, 'small');
    await files.write('/memories/old.md', `${LARGE}!`);
    await setTimeout(2);
    then = new Date().toISOString();
    await setTimeout(2);
    await files.write(GROWN, `${LARGE}, and poison`, { actor: 'bad' });
    await files.write(PLANTED, `${LARGE}: poison`, { actor: 'bad' });
    await files.rename('/memories/old.md', MOVED, { actor: 'bad' });
    const { store, tenant } = kept.flags;
    const rootKey = Buffer.alloc(32, 7).toString('base64');
    memory = await openMemory({ store, tenant, rootKey, limits: { fileBytes: 100 } });
  });
  afterEach(async () => {
    await memory.close();
    await kept.remove();
  });

  const textsNow = async (): Promise<Readonly<Record<string, string | undefined>>> => {
    const texts: Record<string, string | undefined> = {};
    for await (const { path } of kept.memory.files.list('/memories', { recursive: true }))
      texts[path] = (await kept.memory.files.read(path))?.text();
    return texts;
  };
  const REST = { [KEPT]: LARGE, [GROWN]: 'small', [MOVED]: `${LARGE}!` };

  it('is listed as whole', async () => {
    let damaged = 0;
    const onDamaged = (count: number) => {
      damaged += count;
    };
    const [all, one] = [
      await memory.history.list(undefined, { onDamaged }),
      await memory.history.list(GROWN),
    ];
    expect([all.length, one.length, damaged]).toEqual([6, 2, 0]);
    expect((await memory.history.list(undefined, { limit: 2, onDamaged })).length).toBe(2);
    expect(damaged).toBe(0);
  });

  it('is undone, but for a rename, which the limit refuses', async () => {
    const undone = await memory.history.undo({ writer: 'bad' });
    expect(undone.left).toEqual([
      expect.objectContaining({ path: MOVED, reason: 'refused', limit: 'file_bytes' }),
    ]);
    expect(undone.changes.map(({ what, path }) => `${what} ${path}`)).toEqual([
      `replace ${GROWN}`,
      `delete ${PLANTED}`,
    ]);
    expect(await textsNow()).toEqual(REST);
  });

  it('goes back to a moment, and spares what is as it was', async () => {
    const withheld = await memory.history.restoreAt(then);
    expect([withheld.outcome, withheld.left.map(({ reason }) => reason)]).toEqual([
      'withheld',
      ['refused', 'refused'],
    ]);
    expect((await memory.history.restoreAt(then, { partial: true })).outcome).toBe('written');
    expect(await textsNow()).toEqual(REST);
  });

  it('gives a text back that fits, whatever lies there', async () => {
    const [, small] = await memory.history.list(GROWN);
    if (small?.kind !== 'written') throw new Error('no version');
    expect(await memory.history.restore(small)).toMatchObject({ restored: true });
    expect((await memory.files.read(GROWN))?.text()).toBe('small');
  });
});
