import { expect, it } from 'vitest';
import { itemByItem, modelOf, type Sighting } from '../../src/history/past/model.ts';
import { planUndo } from '../../src/history/plan-undo.ts';
import { at } from '../support/test-tree.ts';

const PATH = at('/memories/notes.md');

/** A file of so many versions, every second one by `mallory`, and a count of how often a version was looked at. */
async function fileOf(versions: number) {
  let looks = 0;
  const sightings = Array.from({ length: versions }, (_, turn): Sighting => {
    const previous = turn === 0 ? undefined : `v${turn - 1}`;
    const saved = { record: `r${turn}`, at: turn, for: undefined };
    const end = turn === versions - 1 ? { saved: undefined, file: { isRenamed: false } } : { saved };
    return {
      ...{ id: `v${turn}`, path: PATH, bound: BigInt(turn), mtime: turn, size: 1, previous, ...end },
      ...{ writer: turn % 2 === 0 ? 'ann' : 'mallory', textHash: `text ${turn}` },
    };
  });
  const past = await itemByItem(modelOf({ sightings, leaves: [], damaged: { records: [], files: [] } }));
  for (const version of past.versions.values()) {
    const { id } = version;
    Object.defineProperty(version, 'id', {
      get() {
        looks++;
        return id;
      },
    });
  }
  return { past, looks: () => looks };
}

const undoing = { isMeant: (by?: string) => by === 'mallory', force: false, isHidden: () => false };

/** How often the undo of one actor looks at the versions of such a file. */
async function looksOfUndo(versions: number): Promise<number> {
  const { past, looks } = await fileOf(versions);
  const { writes, left } = planUndo(past, undoing);
  expect([writes.size, left.size]).toEqual([1, 1]);
  return looks();
}

it('plans the undo of an actor in a time that grows as the versions of a file do', async () => {
  expect((await looksOfUndo(2_000)) / (await looksOfUndo(1_000))).toBeLessThan(2.5);
});
