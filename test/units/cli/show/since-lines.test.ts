import { expect, it } from 'vitest';
import type { Finding } from '../../../../src/admin/findings.ts';
import { linesOf } from '../../../../src/cli/history/verify.ts';
import { findingLine } from '../../../../src/cli/show/finding-lines.ts';
import { at } from '../../../stage/test-tree.ts';

const PATH = at('/memories/a');
const VERSION = { version: 'AAAAAAAAAAAAAAAAAAAAAA' };
const OTHER = { version: 'BBBBBBBBBBBBBBBBBBBBBB' };

const ON_PURPOSE =
  'if it is still named then, or after a restore on purpose, restart what holds the memory open, run "tenant history anew" where history is kept, then "checkpoint", and throw older lines away';

it('a line says what was found and what to do', () => {
  const gone = { kind: 'since', state: 'gone', path: PATH, expected: VERSION } as const;
  const found =
    '/memories/a is gone, and nothing says why: it must hold version vAAAAAAAA or what came of it';
  expect(findingLine(gone)).toBe(`FAIL  ${found} — restore it from the history or a backup; ${ON_PURPOSE}`);
  expect(findingLine({ ...gone, found: OTHER })).toContain('; version vBBBBBBBB is new — ');
});

it('an older file is named with both versions, or with its own where nothing must be', () => {
  const older = { kind: 'since', state: 'older', path: PATH, found: OTHER } as const;
  expect(findingLine({ ...older, expected: VERSION })).toMatch(
    /it holds version vBBBBBBBB, and must hold version vAAAAAAAA or what came of it — restore that/,
  );
  expect(findingLine(older)).toMatch(
    /it holds version vBBBBBBBB, which was deleted, renamed or replaced there, or never lay there — delete/,
  );
});

it('a version that the history has not may be what a restore left, a record that is damaged may not', () => {
  const missing = {
    ...({ kind: 'history', state: 'missing', path: PATH } as const),
    expected: VERSION.version,
    replacedBy: OTHER.version,
  };
  expect(findingLine(missing).endsWith(ON_PURPOSE)).toBe(true);
  expect(findingLine({ ...missing, state: 'damaged' })).toMatch(/the versions of the bucket$/);
});

it.each(['missing', 'other', 'damaged'] as const)('a checkpoint that is %s says what to do', (state) => {
  expect(findingLine({ kind: 'checkpoint', state, number: 7 })).toMatch(/ — (look|bring) .*; if it is still/);
});

it('what cannot be told is marked as such, and says what to look at', () => {
  const untold = { kind: 'since', state: 'untold', why: 'young', path: PATH, expected: VERSION } as const;
  expect(findingLine(untold)).toMatch(
    /^untold \/memories\/a: .*; it is gone, and held version vAAAAAAAA — look/,
  );
  for (const why of ['history_off', 'not_kept', 'unrecorded', 'saved', 'clock', 'renaming'] as const)
    expect(findingLine({ ...untold, why })).toMatch(/^untold [^—]+ — [^—]+$/);
});

it('a verification fails for one alarm, and is untold where nothing else is found', () => {
  const untold = { kind: 'since', state: 'untold', why: 'young', path: PATH } as const;
  const lastLine = (...findings: readonly Finding[]): string | undefined =>
    linesOf({ files: 1, bytes: 2, findings, keyVersions: [] }).at(-1);
  expect(lastLine()).toBe('ok    1 file, 2 bytes: all well');
  expect(lastLine(untold)).toBe('untold 1 file, 2 bytes: 1 finding left, untold');
  expect(lastLine(untold, { kind: 'damaged', path: PATH })).toBe(
    'FAIL  1 file, 2 bytes: 2 findings left, 1 of them untold',
  );
});
