import { expect, it } from 'vitest';
import { countFindings, type Finding, sortFindings, weightOf } from '../../../src/admin/findings.ts';
import { classLogicalName, logicalName } from '../../../src/format/object-keys.ts';
import { at } from '../../stage/test-tree.ts';

const [A, B] = [at('/memories/a'), at('/memories/b')];
const rename = { kind: 'rename', phase: 'moving', from: A, to: B, ageMs: 1, files: 1 } as const;

it('findings are sorted: renames, duplicates, objects by kind and name, and what is only counted', () => {
  const sorted: readonly Finding[] = [
    { ...rename, state: 'expired' },
    { kind: 'duplicate', state: 'left', older: A, newer: B },
    { kind: 'duplicate', state: 'left', older: B, newer: A },
    { kind: 'clash', path: B },
    { kind: 'damaged', path: A },
    { kind: 'damaged', path: B },
    { kind: 'damaged_record', name: classLogicalName('answers', 'one') },
    { kind: 'unknown_key', name: classLogicalName('access', 'one') },
    { kind: 'unknown_key', name: logicalName(A) },
    { kind: 'unwritable', path: A, code: 'EINVAL' },
    { kind: 'foreign', objects: 1 },
    { kind: 'orphan', objects: 2 },
  ];
  expect(sortFindings(sorted.toReversed())).toEqual(sorted);
  expect(sortFindings([...sorted.slice(6), ...sorted.slice(0, 6)])).toEqual(sorted);
});

it('only a finding that was mended leaves nothing to do', () => {
  const mended: readonly Finding[] = [
    { ...rename, state: 'finished' },
    { kind: 'duplicate', state: 'removed', older: A, newer: B },
  ];
  expect(mended.map(weightOf)).toEqual(['settled', 'settled']);
  expect(weightOf({ ...rename, state: 'unfinished' })).toBe('fault');
  expect(weightOf({ kind: 'duplicate', state: 'not_removed', older: A, newer: B })).toBe('fault');
  expect(weightOf({ kind: 'damaged', path: A })).toBe('alarm');
});

it('objects of no name are counted by kind, and not told where there is none', () => {
  expect(countFindings({ foreign: 0, orphan: 0 })).toEqual([]);
  expect(countFindings({ foreign: 2, orphan: 1 })).toEqual([
    { kind: 'foreign', objects: 2 },
    { kind: 'orphan', objects: 1 },
  ]);
});
