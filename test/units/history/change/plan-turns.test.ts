import { expect, it } from 'vitest';
import { planRestoreAt } from '../../../../src/history/change/plan-restore-at.ts';
import { planUndo } from '../../../../src/history/change/plan-undo.ts';
import { type FileSighting, itemByItem, modelOf } from '../../../../src/history/past/model.ts';
import { mostBetweenRounds } from '../../../stage/measures.ts';
import { at } from '../../../stage/test-tree.ts';

const VERSIONS = 1_000;

/**
 * Answers a past with that number of versions of each file, every second one by `mallory`, and a count of how often a
 * version was looked at.
 */
async function pastOf(versions: number, files = 1) {
  let looks = 0;
  const sightings = Array.from({ length: versions }, (_, turn): FileSighting => {
    const path = at(`/memories/${turn % files}.md`);
    const previous = turn < files ? undefined : `v${turn - files}`;
    const saved = { record: `r${turn}`, at: turn, for: undefined };
    const end = turn >= versions - files ? { saved: undefined, file: { isRenamed: false } } : { saved };
    return {
      id: `v${turn}`,
      path,
      bound: BigInt(turn),
      mtime: turn,
      size: 1,
      previous,
      ...end,
      writer: Math.floor(turn / files) % 2 === 0 ? 'ann' : 'mallory',
      textHash: `text ${turn}`,
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

const isHidden = () => false;
const undoing = { isMeant: (by?: string) => by === 'mallory', force: false, isHidden };
const moment = { time: VERSIONS / 2, below: at('/memories'), expiredBefore: 0, keptSince: 0, isHidden };

/** How often the undo of one actor looks at the versions of a file. */
async function looksOfUndo(versions: number): Promise<number> {
  const { past, looks } = await pastOf(versions);
  const { writes, left } = await itemByItem(planUndo(past, undoing));
  expect([writes.size, left.size]).toEqual([1, 1]);
  return looks();
}

it('plans the undo of an actor in a time that grows as the versions of a file do', async () => {
  expect((await looksOfUndo(2 * VERSIONS)) / (await looksOfUndo(VERSIONS))).toBeLessThan(2.5);
});

it.each([
  ['an undo, of many files', planUndo, undoing, VERSIONS],
  ['an undo, of few files', planUndo, undoing, 10],
  ['a restore of a moment, of many files', planRestoreAt, moment, VERSIONS],
  ['a restore of a moment, of few files', planRestoreAt, moment, 10],
] as const)('lets others run while it plans %s', async (_, plan, asked, files) => {
  const { past, looks } = await pastOf(2 * VERSIONS, files);
  const planned = () => itemByItem(plan(past, asked as never));
  const most = await mostBetweenRounds(looks, async () => {
    const { writes, deletes } = await planned();
    expect(writes.size + deletes.size).toBe(files);
  });
  expect(looks()).toBeGreaterThan(VERSIONS);
  expect(most).toBeLessThan(looks() / 5);
});
