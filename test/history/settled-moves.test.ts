import { describe, expect, it } from 'vitest';
import { type Move, settledMoves } from '../../src/history/moves.ts';
import { leaveSealedAgain } from '../../src/history/sealed-again.ts';
import { at } from '../support/test-tree.ts';

const [FROM, TO] = [at('/memories/d/a'), at('/memories/e/a')];

/** What the rename of a directory has written down of one version before it went on. */
function planned(version: string, time: number, event = 'rename'): Move {
  return { version, at: time, by: undefined, from: FROM, to: TO, event, planned: true };
}

const saved = { path: FROM, text: 'kept' };

describe('of the versions that a directory was renamed with', () => {
  it('one went that was sealed again since, though an earlier one at its place was deleted first', () => {
    const deleted: Move = { ...planned('first', 2, 'delete'), to: undefined, planned: false };
    const moves = [planned('first', 1), deleted, planned('second', 3)];
    const known = {
      versions: new Map([['first', saved]]),
      successors: new Map(),
      places: new Map([['first', new Set([FROM])]]),
    };
    expect(settledMoves(moves, known)).toEqual([deleted, planned('second', 3)]);
  });

  it('one stayed that was replaced where it was saved, though what replaced it was sealed again since', () => {
    const moves = [planned('first', 1), planned('second', 2)];
    const known = {
      versions: new Map([
        ['first', saved],
        ['second, sealed again', { path: TO, text: 'current' }],
      ]),
      successors: new Map([['first', { id: 'second, sealed again' }]]),
      places: new Map([
        ['first', new Set([FROM])],
        ['second, sealed again', new Set([TO])],
      ]),
    };
    expect(settledMoves(moves, known)).toEqual([planned('second', 2)]);
  });

  it('one went that was saved by an edit that came too late, and was replaced at its new place', () => {
    const known = {
      versions: new Map([['first', saved]]),
      successors: new Map([['first', { id: 'second' }]]),
      places: new Map([['first', new Set([FROM, TO])]]),
    };
    expect(settledMoves([planned('first', 1)], known)).toEqual([planned('first', 1)]);
  });
});

describe('a version that a migration of keys has sealed again', () => {
  const facts = { mtime: 1, size: 4, textHash: 'hash', previous: undefined, writer: undefined, text: 'kept' };
  const ids = (places: Record<string, readonly string[]>): readonly string[] => {
    const versions = new Map(Object.keys(places).map((id) => [id, facts]));
    const sets = new Map(Object.entries(places).map(([id, each]) => [id, new Set(each)]));
    leaveSealedAgain(versions, { places: sets, hasEnd: (id) => id === 'later' });
    return [...versions.keys()];
  };

  it('is one with what was made of it, wherever else that was saved', () => {
    expect(ids({ earlier: [FROM], later: [TO, FROM] })).toEqual(['later']);
    expect(ids({ earlier: [FROM], later: [FROM, TO] })).toEqual(['later']);
  });

  it('is two where they never lay at one place', () => {
    expect(ids({ earlier: [FROM], later: [TO] })).toEqual(['earlier', 'later']);
  });
});
