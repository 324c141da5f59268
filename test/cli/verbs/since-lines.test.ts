import { expect, it } from 'vitest';
import { findingLine } from '../../../src/cli/verbs/finding-lines.ts';
import { acceptedLine } from '../../../src/cli/verbs/since-lines.ts';
import { at } from '../../support/test-tree.ts';

const PATH = at('/memories/a');
const VERSION = { version: 'AAAAAAAAAAAAAAAAAAAAAA' };
const OTHER = { version: 'BBBBBBBBBBBBBBBBBBBBBB' };

it('a line says what was found and what to do, and once it is accepted only what was found', () => {
  const dropped = { kind: 'since', state: 'dropped', path: PATH, expected: VERSION } as const;
  const found = '/memories/a is gone, and nothing says why: it must hold version AAAAAAAA or what came of it';
  expect(findingLine(dropped)).toBe(
    `FAIL  ${found} — restore it from a backup; if it was on purpose, "checkpoint --accept" says so`,
  );
  expect(acceptedLine(dropped)).toBe(`accepted: ${found}`);
});

it('a forked file is named with both versions, or with its own where nothing lay there', () => {
  const forked = { kind: 'since', state: 'forked', path: PATH, found: OTHER } as const;
  expect(acceptedLine({ ...forked, expected: VERSION })).toMatch(
    /it holds version BBBBBBBB, which does not come of version AAAAAAAA$/,
  );
  expect(acceptedLine(forked)).toMatch(/which does not come of a version that lay there$/);
});

it('a version that the history has not can be accepted, a record that is damaged cannot', () => {
  const missing = {
    ...({ kind: 'history', state: 'missing', path: PATH } as const),
    ...{ expected: VERSION.version, replacedBy: OTHER.version },
  };
  expect(findingLine(missing)).toMatch(/"checkpoint --accept" says so$/);
  expect(findingLine({ ...missing, state: 'damaged' })).toMatch(/the versions of the bucket$/);
});

it('what cannot be told is marked as such, and asks for nothing', () => {
  const untold = { kind: 'since', state: 'untold', why: 'young', path: PATH, expected: VERSION } as const;
  expect(findingLine(untold)).toMatch(/^told\? \/memories\/a: .*, and held version AAAAAAAA$/);
});
