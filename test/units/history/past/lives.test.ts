import { expect, it } from 'vitest';
import { millisecondsOf } from '../../../../src/format/wrap.ts';
import { type Life, livesOf } from '../../../../src/history/past/lives.ts';
import { itemByItem } from '../../../../src/history/past/model.ts';
import { pastOf, short } from '../story.ts';

/** A life in words: its path, its versions, its renames, and the bound of its delete. */
function wordsOf({ path, chain, renames, deleted }: Life): string {
  return [
    `${short(path)}:`,
    ...chain.map(({ id }) => id),
    ...renames.map(({ id, from, to }) => `${id} ${short(from)}>${short(to)}`),
    ...(deleted === undefined ? [] : [`deleted ${millisecondsOf(deleted.bound)}`]),
  ].join(' ');
}

it.each<readonly [claim: string, story: string, lives: readonly string[]]>([
  ['a file has its versions, the newest first', 'u kept a 1; v lies a 2 after u', ['a: v u']],
  [
    'a file has its renames in their order, of every version',
    'u kept b 2; u moved a 1 to b; v kept b 3 after u; v moved b 3 to c; v moved c 4 to d; v lies d 5 after u',
    ['d: v u u a>b v b>c v c>d'],
  ],
  [
    'a rename to another place does not belong to the file at this one',
    'v moved a 1 to b; v moved a 2 to c; v lies b 3',
    ['b: v v a>b'],
  ],
  [
    'a version at two places has a life at each',
    'v moved a 1 to b; v lies b 2; v lies a 3',
    ['b: v v a>b', 'a: v'],
  ],
  ['a deleted file has one', 'u kept a 1; v kept a 2 after u; v deleted a 2', ['a: v u deleted 2']],
  [
    'a file that was renamed before it was deleted has one',
    'v moved a 1 to b; v kept b 2; v deleted b 2',
    ['b: v v a>b deleted 2'],
  ],
  ['a version that came back has one alone', 'v kept a 1; v deleted a 1; v lies a 2', ['a: v']],
  ['a version that lies as it was deleted has both', 'v deleted a 1; v lies a 1', ['a: v', 'a: v deleted 1']],
  [
    'a file in the place of a deleted one takes nothing from it',
    'v kept a 1; v deleted a 1; w lies a 5',
    ['a: w', 'a: v deleted 1'],
  ],
  [
    'a version that was deleted twice has the last one',
    'v deleted a 1; v kept a 3; v deleted a 3',
    ['a: v deleted 3'],
  ],
  [
    'a version that was deleted at two places has both',
    'v deleted a 1; v kept b 3; v deleted b 3',
    ['a: v deleted 1', 'b: v deleted 3'],
  ],
  ['a version of which nothing but its end is known has none', 'v deleted a 1; v moved b 1 to c', []],
])('%s', async (_, story, lives) => {
  expect((await itemByItem(livesOf(await pastOf(story)))).map(wordsOf)).toEqual(lives);
});
