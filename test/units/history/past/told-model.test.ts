import { describe, expect, it } from 'vitest';
import { millisecondsOf } from '../../../../src/format/wrap.ts';
import type { PastVersion } from '../../../../src/history/past/past.ts';
import { pastOf, short } from '../story.ts';

function backwards(story: string): string {
  return story.split('; ').reverse().join('; ');
}

function wordsOf({ text, path, bound }: PastVersion): string {
  return `${text} ${short(path)} ${millisecondsOf(bound)}`;
}

const namesOf = (versions: readonly PastVersion[]): string => versions.map(({ id }) => id).join(' ');

describe('a version that was seen twice', () => {
  it.each<readonly [version: string, story: string]>([
    ['current a 1', 'v lies a 1; v kept b 2 mtime 1'],
    ['current a 1', 'v lies a 1; v redacted b 2 mtime 1'],
    ['current a 1', 'v lies a 1; v seen b 2 mtime 1'],
    ['redacted a 1', 'v redacted a 1; v kept b 2 mtime 1'],
    ['redacted a 1', 'v redacted a 1; v seen b 2 mtime 1'],
    ['kept a 1', 'v kept a 1; v seen b 2 mtime 1'],
    ['kept b 2', 'v kept a 1; v kept b 2 mtime 1'],
    ['redacted b 2', 'v redacted a 1; v redacted b 2 mtime 1'],
    ['gone b 2', 'v seen a 1; v seen b 2 mtime 1'],
  ])('counts as %s: %s', async (version, story) => {
    for (const told of [story, backwards(story)]) {
      const { versions, damaged } = await pastOf(told);
      expect([...versions.values()].map(wordsOf)).toEqual([version]);
      expect([...damaged.versions]).toEqual([]);
    }
  });

  it('lies where it was seen first, of two files', async () => {
    const [a, b] = ['v lies a 1', 'v lies b 2 mtime 1'];
    expect((await pastOf(`${a}; ${b}`)).versions.get('v')).toMatchObject({ path: '/memories/a' });
    expect((await pastOf(`${b}; ${a}`)).versions.get('v')).toMatchObject({ path: '/memories/b' });
  });

  it('counts as it was seen first under one bound', async () => {
    const past = await pastOf('v kept a 1; v kept b 1');
    expect(past.versions.get('v')).toMatchObject({ path: '/memories/a', record: 'record of v at a 1' });
  });

  it.each<readonly [is: 'one' | 'two', story: string]>([
    ['one', 'v kept a 1; v lies b 2 mtime 1'],
    ['one', 'v kept a 1 text -; v lies b 2 mtime 1'],
    ['one', 'v redacted a 1; v lies b 2 mtime 1'],
    ['two', 'v kept a 1 text x; v lies b 2 mtime 1'],
    ['two', 'v kept a 1; v lies b 2 mtime 2'],
    ['two', 'v kept a 1 size 2; v lies b 2 mtime 1'],
    ['two', 'v kept a 1 after u; v lies b 2 mtime 1'],
    ['two', 'v kept a 1 by ann; v lies b 2 mtime 1'],
  ])('is %s: %s', async (is, story) => {
    for (const told of [story, backwards(story)])
      expect([...(await pastOf(told)).damaged.versions]).toEqual(is === 'one' ? [] : ['v']);
  });
});

it('a version has all its facts, and only those', async () => {
  const { versions } = await pastOf('v kept a 7 after u by ann size 3 saved 9; w lies b 8');
  expect([...versions.values()]).toStrictEqual([
    {
      id: 'v',
      path: '/memories/a',
      bound: 7n << 16n,
      mtime: 7,
      size: 3,
      previous: 'u',
      writer: 'ann',
      textHash: 'v',
      text: 'kept',
      record: 'record of v at a 7',
    },
    {
      id: 'w',
      path: '/memories/b',
      bound: 8n << 16n,
      mtime: 8,
      size: 1,
      previous: undefined,
      writer: undefined,
      textHash: 'w',
      text: 'current',
      record: undefined,
    },
  ]);
});

describe('a binding', () => {
  const [SAVED, ELSE] = [{ record: 'record of v at a 1', at: 9, for: 'delete' }, undefined];
  const BINDING = { id: 'v', path: '/memories/a', bound: 1n << 16n };
  it.each<readonly [claim: string, story: string, facts: object]>([
    ['of a file lies there', 'v lies a 1', { isThere: true, isRenamed: false, saved: ELSE }],
    ['of a renamed file says so', 'v lies a 1 brought', { isThere: true, isRenamed: true, saved: ELSE }],
    [
      'of a record was saved',
      'v kept a 1 saved 9 for delete',
      { isThere: false, isRenamed: false, saved: SAVED },
    ],
    [
      'that only a rename names is known as well',
      'v moved a 1 to b',
      { isThere: false, isRenamed: false, saved: ELSE },
    ],
    [
      'is one, whoever tells of it',
      'v moved a 1 to b; v lies a 1 brought; v kept a 1 saved 9 for delete; v seen a 1',
      { isThere: true, isRenamed: true, saved: SAVED },
    ],
    [
      'of a file and a record is both',
      'v lies a 1; v kept a 1 saved 9 for delete',
      { isThere: true, isRenamed: false, saved: SAVED },
    ],
  ])('%s', async (_, story, facts) => {
    for (const told of [story, backwards(story)])
      expect((await pastOf(told)).bindings('v')).toStrictEqual([{ ...BINDING, ...facts }]);
  });

  it('is another one at another path, or under another bound', async () => {
    const past = await pastOf('v lies b 3 mtime 1; v kept a 2 mtime 1; v kept b 1; w lies c 4');
    expect(past.bindings('v').map(({ path, bound }) => `${short(path)} ${millisecondsOf(bound)}`)).toEqual([
      'b 1',
      'a 2',
      'b 3',
    ]);
    expect(past.birthplace('v')).toBe('/memories/b');
    expect([...past.files]).toEqual([
      ['/memories/b', past.bindings('v')[2]],
      ['/memories/c', past.bindings('w')[0]],
    ]);
    expect([past.bindings('x'), past.birthplace('x'), past.leavesOf('x'), past.successors('x')]).toEqual([
      [],
      undefined,
      [],
      [],
    ]);
  });
});

describe('the line of a version', () => {
  // t was written before s, and was renamed since.
  const STORY =
    'u kept a 1; v kept a 2 after u; s lies a 4 after v; t kept b 3 after v; t lies b 9 mtime 3 after v; w lies c 5 after t';

  it.each([STORY, backwards(STORY)])('goes both ways, the first written first: %s', async (story) => {
    const past = await pastOf(story);
    expect(namesOf(past.successors('v'))).toBe('t s');
    expect(namesOf(past.successors('u'))).toBe('v');
    expect(namesOf(past.successors('w'))).toBe('');
    expect(namesOf(past.descendants('u'))).toBe('v t s w');
    expect(namesOf(past.descendants('w'))).toBe('');
    expect(namesOf(past.ancestors('w'))).toBe('t v u');
    expect(namesOf(past.ancestors('u'))).toBe('');
    expect(namesOf(past.ancestors('x'))).toBe('');
  });

  it('ends before a version that a caller has passed', async () => {
    const past = await pastOf(STORY);
    expect(namesOf(past.ancestors('w', (id) => id === 'v'))).toBe('t');
    expect(namesOf(past.ancestors('w', (id) => id === 't'))).toBe('');
    expect(namesOf(past.ancestors('w', () => false))).toBe('t v u');
  });

  it('ends where a version is not kept', async () => {
    const past = await pastOf('v kept a 2 after lost; w lies a 3 after v');
    expect(namesOf(past.ancestors('w'))).toBe('v');
    expect(namesOf(past.successors('lost'))).toBe('v');
    expect(namesOf(past.descendants('lost'))).toBe('v w');
  });

  it('ends where it comes back to itself', async () => {
    const past = await pastOf('v kept a 1 after s; s kept a 2 after v; t lies b 3 after s');
    expect(namesOf(past.ancestors('v'))).toBe('s');
    expect(namesOf(past.ancestors('t'))).toBe('s v');
    expect(namesOf(past.descendants('v'))).toBe('s t');
    expect(namesOf(past.descendants('s'))).toBe('v t');
  });
});

it('damage is told as it was found', async () => {
  const files = [...(await pastOf('v lies a 1')).files.keys()];
  const { damaged } = await pastOf('', { records: ['r'], files });
  expect(damaged).toEqual({ records: ['r'], files: ['/memories/a'], versions: new Set() });
});

it('leaves under one bound are told by their times', async () => {
  const story = 'v moved b 3 to c at 4; v moved b 3 to a at 3; v deleted d 2 at 9';
  for (const told of [story, backwards(story)])
    expect((await pastOf(told)).leavesOf('v').map(({ at }) => at)).toEqual([9, 3, 4]);
});
