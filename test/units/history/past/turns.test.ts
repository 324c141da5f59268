import { expect, it } from 'vitest';
import { type FileSighting, itemByItem, modelOf } from '../../../../src/history/past/model.ts';
import { versionsAt } from '../../../../src/history/trace/known.ts';
import type { TurnRun } from '../../../../src/history/trace/read-runs.ts';
import { traceVersions } from '../../../../src/history/trace/trace.ts';
import { mostBetweenRounds } from '../../../stage/measures.ts';
import { at } from '../../../stage/test-tree.ts';

const TURNS = 3_000;
const PATH = at('/memories/notes.md');

/** A version that each turn read, and wrote the next one. */
function sightingOf(turn: number): FileSighting {
  const previous = turn === 0 ? undefined : `v${turn - 1}`;
  const saved = { record: `r${turn}`, at: turn, for: undefined };
  return {
    id: `v${turn}`,
    path: PATH,
    bound: BigInt(turn),
    mtime: turn,
    size: 1,
    previous,
    saved,
    writer: undefined,
    textHash: 'the same',
  };
}

it('lets others run between every few of its turns', async () => {
  let looks = 0;
  const runOf = (turn: number): TurnRun => ({
    turn: String(turn),
    id: `r${turn}`,
    time: turn,
    isAnswered: true,
    unlisted: 0,
    get list() {
      looks++;
      return [
        { kind: 'read', path: PATH, version: `v${turn}` },
        { kind: 'written', path: PATH, version: `v${turn + 1}` },
      ] as const;
    },
  });
  const sightings = Array.from({ length: TURNS }, (_, turn) => sightingOf(turn));
  const runs = Array.from({ length: TURNS }, (_, turn) => runOf(turn));
  const past = await itemByItem(modelOf({ sightings, leaves: [], damaged: { records: [], files: [] } }));
  const known = {
    past,
    turns: { runs, untraced: 0, damaged: [] },
    actors: new Map<string, string>(),
    keptSince: 0,
    writerOf: (actor: string) => actor,
  };
  const most = await mostBetweenRounds(
    () => looks,
    async () => {
      const starts = await itemByItem(versionsAt(known, PATH));
      expect((await itemByItem(traceVersions(known, PATH, starts))).turns).toHaveLength(TURNS);
    },
  );
  expect(most).toBeLessThan(TURNS / 5);
});
