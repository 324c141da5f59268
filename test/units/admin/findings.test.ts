import { describe, expect, it } from 'vitest';
import {
  countFindings,
  type Finding,
  findingOf,
  type HistoryFinding,
  type SinceFinding,
  sortFindings,
  weightOf,
} from '../../../src/admin/findings.ts';
import type { Inspection, ListedRecord } from '../../../src/admin/scan.ts';
import { classLogicalName, logicalName, type ObjectKey } from '../../../src/format/object-keys.ts';
import type { ETag } from '../../../src/store/port.ts';
import { at } from '../../stage/test-tree.ts';

const [A, B] = [at('/memories/a'), at('/memories/b')];
const ANSWER = classLogicalName('answers', 'one');
const rename = { kind: 'rename', phase: 'moving', from: A, to: B, ageMs: 1, files: 1 } as const;
const duplicate = { kind: 'duplicate', older: A, newer: B } as const;
const missing = { kind: 'history', state: 'missing' } as const;

describe('findings are sorted', () => {
  it.each<{ readonly by: string; readonly sorted: readonly Finding[] }>([
    {
      by: 'renames, duplicates, objects by kind and name, and what is only counted',
      sorted: [
        { ...rename, state: 'expired' },
        { kind: 'duplicate', state: 'left', older: A, newer: B },
        { kind: 'duplicate', state: 'left', older: B, newer: A },
        { kind: 'clash', path: B },
        { kind: 'damaged', path: A },
        { kind: 'damaged', path: B },
        { kind: 'damaged_record', name: ANSWER },
        { kind: 'unknown_key', name: classLogicalName('access', 'one') },
        { kind: 'unknown_key', name: logicalName(A) },
        { kind: 'unwritable', path: A, code: 'EINVAL' },
        { kind: 'foreign', objects: 1 },
        { kind: 'orphan', objects: 2 },
      ],
    },
    {
      by: 'what is about the whole tenant first, by its kind',
      sorted: [
        { kind: 'checkpoint', state: 'other', number: 1 },
        { kind: 'keyring', expected: 2, found: 1 },
        { kind: 'register', code: 'integrity' },
        { ...rename, state: 'expired' },
        { ...duplicate, state: 'left' },
      ],
    },
    {
      by: 'versions of the history between the other objects, by path and id, those of an unknown path first',
      sorted: [
        { kind: 'damaged', path: A },
        { ...missing, expected: 'z' },
        { ...missing, path: A, expected: 'x' },
        { ...missing, path: A, expected: 'y' },
        { ...missing, path: B, expected: 'a' },
        { kind: 'since', state: 'older', path: A },
      ],
    },
  ])('$by', ({ sorted }) => {
    expect(sortFindings(sorted.toReversed())).toEqual(sorted);
    const half = sorted.length / 2;
    expect(sortFindings([...sorted.slice(half), ...sorted.slice(0, half)])).toEqual(sorted);
  });

  it('and stay as they were found where nothing decides', () => {
    const alike: readonly Finding[] = [
      { ...rename, state: 'expired' },
      { ...rename, state: 'under_way' },
      { ...rename, state: 'finished' },
    ];
    expect(sortFindings(alike)).toEqual(alike);
    expect(sortFindings(alike.toReversed())).toEqual(alike.toReversed());
  });
});

describe('a finding weighs', () => {
  const since = (state: SinceFinding['state']): Finding => ({ kind: 'since', state, path: A });
  const history = (state: HistoryFinding['state']): Finding => ({ kind: 'history', state, expected: 'x' });
  it.each<readonly [ReturnType<typeof weightOf>, readonly Finding[]]>([
    [
      'alarm',
      [
        { kind: 'damaged', path: A },
        { kind: 'damaged_record', name: ANSWER },
        { kind: 'unknown_key', name: ANSWER },
        { kind: 'too_large', path: A },
        { kind: 'checkpoint', state: 'missing', number: 1 },
        { kind: 'keyring', expected: 2, found: 1 },
        ...(['missing', 'damaged', 'misplaced', 'unredacted', 'doubled'] as const).map(history),
        ...(['older', 'gone'] as const).map(since),
      ],
    ],
    [
      'fault',
      [
        { ...rename, state: 'expired' },
        { ...rename, state: 'unfinished' },
        ...(['left', 'not_removed', 'undecided'] as const).map((state) => ({ ...duplicate, state })),
        { kind: 'ahead', name: ANSWER, aheadMs: 1 },
        { kind: 'unreadable', path: A },
        { kind: 'vanished', path: A },
        { kind: 'clash', path: A },
        { kind: 'unwritable', path: A, code: 'EINVAL' },
        { kind: 'foreign', objects: 1 },
        { kind: 'orphan', objects: 1 },
        { kind: 'register', code: 'integrity' },
      ],
    ],
    [
      'under_way',
      [
        { ...rename, state: 'under_way' },
        { ...duplicate, state: 'in_progress' },
      ],
    ],
    ['untold', [since('untold')]],
    [
      'settled',
      [
        { ...rename, state: 'finished' },
        { ...duplicate, state: 'removed' },
      ],
    ],
  ])('as %s', (weight, findings) => {
    expect(findings.map((finding) => [finding, weightOf(finding)])).toEqual(
      findings.map((finding) => [finding, weight]),
    );
  });
});

describe('an object that was read', () => {
  const object = { key: 'k' as ObjectKey, etag: 'e' as ETag, size: 1, lastModified: 0 };
  const file: ListedRecord = { cls: 'data', path: A, name: logicalName(A), object };
  const record: ListedRecord = { cls: 'answers', name: ANSWER, object };
  const whole = { state: 'whole' } as Inspection;
  const damaged: Inspection = { state: 'damaged', keyVersion: undefined };

  it.each<readonly [string, ListedRecord, Inspection, Finding | undefined]>([
    ['a whole file', file, whole, undefined],
    ['a whole record', record, whole, undefined],
    ['a damaged file', file, damaged, { kind: 'damaged', path: A }],
    ['a file that is too large', file, { state: 'too_large' }, { kind: 'too_large', path: A }],
    ['a damaged record', record, damaged, { kind: 'damaged_record', name: ANSWER }],
    ['a record that is too large', record, { state: 'too_large' }, { kind: 'damaged_record', name: ANSWER }],
    ['a file under an unknown key', file, { state: 'unknown_key' }, { kind: 'unknown_key', name: file.name }],
    ['a record under one', record, { state: 'unknown_key' }, { kind: 'unknown_key', name: ANSWER }],
  ])('makes the finding of %s', (_, listed, inspection, finding) => {
    expect(findingOf(listed, inspection)).toEqual(finding);
  });
});

it('objects of no name are counted by kind, and not told where there is none', () => {
  expect(countFindings({ foreign: 0, orphan: 0 })).toEqual([]);
  expect(countFindings({ foreign: 2, orphan: 1 })).toEqual([
    { kind: 'foreign', objects: 2 },
    { kind: 'orphan', objects: 1 },
  ]);
});
