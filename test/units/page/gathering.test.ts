import { describe, expect, it } from 'vitest';
import { gathering } from '../../../src/page/client/data/gathering.ts';
import type { TreeChange } from '../../../src/page/protocol.ts';

const fileOf = (name: string) => ({
  path: `/memories/${name}`,
  size: 1,
  stored: 300,
  modified: 0,
  version: name,
  key: name,
});
const some = (count: number, from = 0) =>
  Array.from({ length: count }, (_, index) => fileOf(`${from + index}`));
const partOf = (more: Partial<TreeChange>): TreeChange => ({
  whole: false,
  isPartial: true,
  changed: [],
  removed: [],
  foreign: 0,
  requests: {},
  everyMs: 800,
  restMs: 800,
  ...more,
});

function gather(changes: readonly TreeChange[], first?: TreeChange) {
  const passed: TreeChange[] = [];
  const take = gathering((change) => passed.push(change), first);
  for (const change of changes) take(change);
  return passed.map(({ whole, changed, removed }) => [whole, changed.length, removed]);
}

describe('the changes of a watch', () => {
  it('are passed on when they are as many as those before them, and at the end', () => {
    const pages = [100, 900, 1_000, 1_000, 1_000].map((count, page) =>
      partOf({ whole: page === 0, changed: some(count, page * 1_000) }),
    );
    expect(gather([...pages, partOf({ isPartial: false, changed: some(1, 9_000) })])).toEqual([
      [true, 100, []],
      [false, 900, []],
      [false, 1_000, []],
      [false, 2_000, []],
      [false, 1, []],
    ]);
  });

  it('are passed on at the end alone once a tree was complete, by a watch that began anew too', () => {
    const anew = [
      partOf({ whole: true, changed: some(100) }),
      partOf({ changed: some(50, 100) }),
      partOf({ isPartial: false }),
    ];
    const complete = partOf({ whole: true, isPartial: false, changed: some(150) });
    expect(gather([complete, ...anew])).toEqual([
      [true, 150, []],
      [true, 150, []],
    ]);
    expect(gather(anew, complete)).toEqual([[true, 150, []]]);
  });

  it('lose no file that is gone while they are held, and bring back one that came again', () => {
    const first = partOf({ whole: true, changed: some(10) });
    const held = partOf({ removed: ['/memories/1', '/memories/2'] });
    const last = partOf({ isPartial: false, changed: [fileOf('2')] });
    expect(gather([held, last], first)).toEqual([[false, 1, ['/memories/1']]]);
  });
});
