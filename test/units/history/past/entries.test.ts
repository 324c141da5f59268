import { describe, expect, it } from 'vitest';
import {
  entriesOf,
  type HistoryEntry,
  type HistoryListOptions,
  isFull,
  pageOf,
} from '../../../../src/history/past/entries.ts';
import { itemByItem } from '../../../../src/history/past/model.ts';
import { at } from '../../../stage/test-tree.ts';
import { pastOf } from '../story.ts';

const ACTORS = new Map([['hash', 'ann']]);

async function entriesIn(
  story: string,
  options: Pick<HistoryListOptions, 'limit' | 'before'> = {},
  isBy?: (writer: string | undefined) => boolean,
): Promise<readonly HistoryEntry[]> {
  return itemByItem(entriesOf(await pastOf(story), pageOf(options, isBy), ACTORS));
}

describe('an entry', () => {
  it.each<readonly [claim: string, story: string, entry: HistoryEntry]>([
    [
      'of a file has its facts, and nothing that is not known',
      'v lies a 7 size 3',
      {
        kind: 'written',
        path: at('/memories/a'),
        version: 'v',
        time: new Date(7),
        size: 3,
        text: 'kept',
        end: 'current',
      },
    ],
    [
      'of a version that was replaced names its actor and the one before, also where that is not kept',
      'v kept a 7 after u by hash; w lies a 8 mtime 2 after v',
      {
        kind: 'written',
        path: at('/memories/a'),
        version: 'v',
        time: new Date(7),
        writer: 'ann',
        size: 1,
        previous: 'u',
        text: 'kept',
        end: 'replaced',
      },
    ],
    [
      'of a redacted version says when, and names an unknown actor by its hash',
      'v redacted a 7 saved 9 by other',
      {
        kind: 'written',
        path: at('/memories/a'),
        version: 'v',
        time: new Date(7),
        writer: 'other',
        size: 1,
        text: 'redacted',
        redacted: { time: new Date(9) },
        end: 'unrecorded',
      },
    ],
    [
      'of a version whose text has gone elsewhere tells of it as kept',
      'v seen a 7',
      {
        kind: 'written',
        path: at('/memories/a'),
        version: 'v',
        time: new Date(7),
        size: 1,
        text: 'kept',
        end: 'unrecorded',
      },
    ],
    [
      'of a delete has its time and its actor',
      'v deleted a 7 at 8 by hash',
      { kind: 'deleted', path: at('/memories/a'), version: 'v', time: new Date(8), writer: 'ann' },
    ],
    [
      'of a rename has its new path as well',
      'v moved a 7 to b at 8',
      { kind: 'renamed', path: at('/memories/a'), version: 'v', time: new Date(8), to: at('/memories/b') },
    ],
  ])('%s', async (_, story, entry) => {
    const { version, kind } = entry;
    const found = (await entriesIn(story)).filter((each) => each.version === version && each.kind === kind);
    expect(found).toStrictEqual([entry]);
  });

  it('of a redaction names the actor that did it', async () => {
    const past = await pastOf('v redacted a 7 saved 9');
    const [version] = past.versions.values();
    if (version === undefined) throw new Error('there is no version');
    const versions = new Map([['v', { ...version, redacted: { at: 9, by: 'hash' } }]]);
    const [entry] = await itemByItem(entriesOf({ ...past, versions }, pageOf({}, undefined), ACTORS));
    expect(entry).toMatchObject({ redacted: { time: new Date(9), writer: 'ann' } });
  });

  it.each<readonly [end: string, story: string]>([
    ['current', 'v lies a 1; v moved b 1 to a; w lies c 9 after v'],
    ['replaced', 'v kept a 1; w kept a 2 after v; v deleted a 1'],
    ['deleted', 'v kept a 1; v deleted a 1'],
    ['deleted', 'v moved a 1 to b; v kept b 2; v deleted b 2'],
    ['renamed', 'v kept a 1; v moved a 1 to b'],
    ['unrecorded', 'v kept a 1'],
  ])('ends as %s where it is told so: %s', async (end, story) => {
    const [entry] = (await entriesIn(story)).filter(
      (each) => each.kind === 'written' && each.version === 'v',
    );
    expect(entry).toMatchObject({ end });
  });

  it.each<readonly [claim: string, story: string, same: Readonly<Record<string, string>>]>([
    [
      'names the newest earlier one',
      'u kept a 1 text x; v kept a 2 after u text x; w lies a 3 after v text x',
      { v: 'u', w: 'v' },
    ],
    ['passes others by', 'u kept a 1 text x; v kept a 2 after u; w lies a 3 after v text x', { w: 'u' }],
    ['names none whose text is unknown', 'u kept a 1 text -; v lies a 2 after u text -', {}],
    ['names none of another file', 'u lies a 1 text x; v lies b 2 text x', {}],
    [
      'names those of each of two places of a file',
      'u kept a 1 text x; v lies a 2 after u text y; w kept b 3 after u text x; t lies b 4 after w text y',
      { w: 'u' },
    ],
    [
      'begins behind a version that is not kept',
      'u kept a 2 after lost text x; v lies a 3 after u text x',
      { v: 'u' },
    ],
  ])('with an earlier text %s', async (_, story, same) => {
    const named = (await entriesIn(story)).flatMap((each) =>
      each.kind === 'written' && each.sameTextAs !== undefined ? [[each.version, each.sameTextAs]] : [],
    );
    expect(Object.fromEntries(named)).toEqual(same);
  });
});

describe('a page of entries', () => {
  const STORY =
    'u kept a 1 by ann; u moved a 1 to b at 2 by bob; u kept b 2 mtime 1 by ann; v kept b 3 after u by bob; v deleted b 3 at 4 by ann';
  const wordsOf = (entries: readonly HistoryEntry[]) =>
    entries.map(({ kind, version }) => `${kind} ${version}`);
  const ALL = ['deleted v', 'written v', 'renamed u', 'written u'];

  it('has the newest entries, as many as are asked for', async () => {
    expect(wordsOf(await entriesIn(STORY))).toEqual(ALL);
    for (let limit = 1; limit < 6; limit++)
      expect(wordsOf(await entriesIn(STORY, { limit }))).toEqual(ALL.slice(0, limit));
  });

  it('begins behind any entry that is given', async () => {
    const entries = await entriesIn(STORY);
    for (const [index, before] of entries.entries()) {
      expect(wordsOf(await entriesIn(STORY, { before }))).toEqual(ALL.slice(index + 1));
      expect(wordsOf(await entriesIn(STORY, { before, limit: 1 }))).toEqual(ALL.slice(index + 1, index + 2));
    }
  });

  it('has the entries of one actor alone, behind the entry of any', async () => {
    const isBy = (writer: string | undefined): boolean => writer === 'ann';
    const [, before] = await entriesIn(STORY);
    expect(wordsOf(await entriesIn(STORY, {}, isBy))).toEqual(['deleted v', 'written u']);
    expect(wordsOf(await entriesIn(STORY, { limit: 1 }, isBy))).toEqual(['deleted v']);
    if (before === undefined) throw new Error('the page is another one');
    expect(wordsOf(await entriesIn(STORY, { before }, isBy))).toEqual(['written u']);
  });

  const GONE: HistoryEntry = { kind: 'renamed', version: 'u', path: '/memories/a', time: new Date(2) };
  it.each<readonly [what: string, before: HistoryEntry]>([
    ['another kind', { ...GONE, kind: 'deleted' }],
    ['another version', { ...GONE, version: 'v' }],
    ['another path', { ...GONE, path: '/memories/b' }],
    ['another time', { ...GONE, time: new Date(3) }],
    [
      'a delete that was a rename',
      { ...GONE, kind: 'deleted', version: 'v', path: '/memories/b', time: new Date(3) },
    ],
    ['a rename that was a delete', { ...GONE, version: 'v', path: '/memories/b', time: new Date(4) }],
  ])('is refused behind an entry that the history lacks: %s', async (_, before) => {
    await expect(entriesIn(STORY, { before: GONE })).resolves.toHaveLength(1);
    await expect(entriesIn(STORY, { before })).rejects.toMatchObject({ code: 'not_found' });
  });

  it('takes a version that was written for no delete and no rename of it', async () => {
    const [deleted, written] = await entriesIn(STORY);
    if (deleted === undefined || written?.kind !== 'written') throw new Error('the page is another one');
    const other: HistoryEntry = { ...written, version: 'w' };
    await expect(entriesIn(STORY, { before: other })).rejects.toMatchObject({ code: 'not_found' });
    expect(wordsOf(await entriesIn(STORY, { before: deleted }))[0]).toBe('written v');
  });

  it.each([0, -1, 1.5, Number.NaN, '1'])('is never of %j entries', (limit) => {
    expect(() => pageOf({ limit: limit as number }, undefined)).toThrow(
      expect.objectContaining({ code: 'misconfigured' }),
    );
  });

  it('is full where its last entry is later than the moment from which on all is known', async () => {
    const past = await pastOf(STORY);
    const isFullOf = async (limit: number, since: number): Promise<boolean> =>
      itemByItem(isFull(past, pageOf({ limit }, undefined), since));
    expect(await isFullOf(2, 2)).toBe(true);
    expect(await isFullOf(2, 3)).toBe(false);
    expect(await isFullOf(2, 4)).toBe(false);
    expect(await isFullOf(4, 0)).toBe(true);
    expect(await isFullOf(5, 0)).toBe(false);
    expect(
      await itemByItem(isFull(past, pageOf({ limit: 1, before: { ...GONE, version: 'x' } }, undefined), 0)),
    ).toBe(false);
  });
});
