import { describe, expect, it } from 'vitest';
import {
  type Change,
  closeDraft,
  haveSameText,
  type PlanDraft,
  planDigest,
  planOf,
  renameLayers,
} from '../../../../src/history/change/plan.ts';
import type { PastVersion } from '../../../../src/history/past/past.ts';
import type { MemoryPath } from '../../../../src/language/path.ts';

const at = (name: string): MemoryPath => `/memories/${name}` as MemoryPath;

/** A change in words: `create a`, `replace a`, `delete a`, `rename a b`; of version `is a` to `for a`. */
function changeOf(words: string): Change {
  const [what = '', from = '', to] = words.split(' ');
  const path = at(from);
  const fromVersion = `is ${from}`;
  if (what === 'rename') return { path, what, fromVersion, to: at(to ?? '') };
  if (what === 'delete') return { path, what, fromVersion };
  if (what === 'create') return { path, what, toVersion: `for ${from}` };
  return {
    path,
    what: 'replace',
    fromVersion: to === undefined ? fromVersion : `is ${to}`,
    toVersion: `for ${from}`,
  };
}

function draftOf(files: string, words: readonly string[], hidden = ''): PlanDraft {
  const changes = words.map(changeOf);
  const of = (...kinds: readonly string[]) =>
    new Map(changes.filter(({ what }) => kinds.includes(what)).map((each) => [each.path as string, each]));
  return {
    files: files.split(' ').map(at),
    renames: of('rename'),
    writes: of('create', 'replace'),
    deletes: of('delete'),
    left: new Map(),
    isHidden: (path) => path === at(hidden),
  };
}

const short = (path: string): string => path.slice('/memories/'.length);

describe('a draft that is closed', () => {
  it.each<[_: string, files: string, words: readonly string[], closed: readonly string[], hidden?: string]>([
    [
      'keeps what stands in no way',
      'a b',
      ['create c', 'replace a', 'delete b'],
      ['replace a', 'delete b', 'create c'],
    ],
    ['leaves a create where a file stays', 'a', ['create a'], ['occupied a: for a']],
    ['keeps one where the file goes by a delete', 'a', ['create a', 'delete a'], ['create a', 'delete a']],
    [
      'keeps one where the file goes by a rename',
      'a',
      ['create a', 'rename a b'],
      ['rename a b', 'create a'],
    ],
    ['leaves a create below a file', 'a', ['create a/b'], ['occupied a/b: for a/b']],
    ['leaves a create above a file', 'a/b', ['create a'], ['occupied a: for a']],
    ['leaves a replacement alone, whatever lies there', 'a', ['replace a'], ['replace a']],
    ['leaves a rename to a file that stays', 'a b', ['rename a b'], ['occupied a: is a']],
    ['leaves one below a file', 'a b', ['rename a b/c'], ['occupied a: is a']],
    ['leaves one above a file', 'a b/c', ['rename a b'], ['occupied a: is a']],
    ['keeps one where the file goes', 'a b', ['rename a b', 'delete b'], ['rename a b', 'delete b']],
    ['keeps a chain', 'a b', ['rename a b', 'rename b c'], ['rename a b', 'rename b c']],
    ['leaves a ring', 'a b', ['rename a b', 'rename b a'], ['occupied a: is a', 'occupied b: is b']],
    [
      'looks again when the way of one is barred by another that was left',
      'a b c',
      ['rename a b', 'rename b c', 'create a'],
      ['occupied a: for a', 'occupied b: is b'],
    ],
    [
      'gives a file that stays its text there',
      'a b',
      ['rename a b', 'replace b a'],
      ['replace a', 'occupied a: is a'],
    ],
    [
      'gives it no text of another one',
      'a b',
      ['rename a b', 'replace b b'],
      ['replace b', 'occupied a: is a'],
    ],
    [
      'leaves what a mount hides',
      'a b',
      ['replace a', 'delete b'],
      ['delete b', 'hidden_by_mount a: for a'],
      'a',
    ],
    [
      'leaves a delete that a mount hides',
      'a b',
      ['replace a', 'delete b'],
      ['replace a', 'hidden_by_mount b: is b'],
      'b',
    ],
    ['leaves a rename from there', 'a b', ['rename a c'], ['hidden_by_mount a: is a'], 'a'],
    ['leaves a rename to there', 'a b', ['rename a c'], ['hidden_by_mount a: is a'], 'c'],
  ])('%s', (_, files, words, closed, hidden) => {
    const draft = draftOf(files, words, hidden);
    closeDraft(draft);
    const { changes, left } = planOf(draft);
    expect([
      ...changes.map(
        ({ what, path, to }) => `${what} ${short(path)}${to === undefined ? '' : ` ${short(to)}`}`,
      ),
      ...left.map(({ reason, path, version }) => `${reason} ${short(path)}: ${version}`),
    ]).toEqual(closed);
  });
});

it('renames go in layers: a file leaves before another comes, and those of a ring are stuck', () => {
  const renames = ['rename a b', 'rename b c', 'rename x y', 'rename r s', 'rename s r'].map(changeOf);
  const { layers, stuck } = renameLayers(renames);
  const from = (some: readonly Change[]) => some.map(({ path }) => short(path)).join(' ');
  expect([...layers.map(from), from(stuck)]).toEqual(['b x', 'a', 'r s']);
  expect(renameLayers([])).toEqual({ layers: [], stuck: [] });
});

it('a plan is named by all that it does and leaves, and not by when the history begins', () => {
  const draft = draftOf('a b', ['replace b', 'replace a', 'create b/c']);
  closeDraft(draft);
  const plan = planOf(draft);
  expect('begins' in plan).toBe(false);
  expect(plan.changes.map(({ path }) => short(path))).toEqual(['a', 'b']);
  const { digest, ...later } = { ...planOf({ ...draft, begins: new Date(5) }), digest: planDigest(plan) };
  expect(later).toEqual({ ...plan, begins: new Date(5) });
  expect(digest).toMatch(/^[\w-]{43}$/);
  expect(planDigest(later)).toBe(digest);
  expect(planDigest({ ...plan, left: [] })).not.toBe(digest);
  expect(planDigest({ ...plan, changes: [] })).not.toBe(digest);
});

it.each([
  [true, { id: 'a' }, { id: 'a' }],
  [false, { id: 'a' }, { id: 'b' }],
  [true, { id: 'a', textHash: 'x' }, { id: 'b', textHash: 'x' }],
  [false, { id: 'a', textHash: 'x' }, { id: 'b', textHash: 'y' }],
  [false, { id: 'a', textHash: 'x' }, { id: 'b' }],
])('%j: %j and %j have the same text', (isSame, a, b) => {
  expect(haveSameText(a as PastVersion, b as PastVersion)).toBe(isSame);
});
