import { expect, it } from 'vitest';
import { planRestoreAt } from '../../../../src/history/change/plan-restore-at.ts';
import { itemByItem } from '../../../../src/history/past/model.ts';
import type { Past } from '../../../../src/history/past/past.ts';
import { at } from '../../../stage/test-tree.ts';
import { pastOf, wordsOfDraft } from '../story.ts';

interface Asked {
  readonly below?: string;
  readonly expiredBefore?: number;
  readonly keptSince?: number | undefined;
  readonly damaged?: Partial<Past['damaged']>;
}

/** Plans the restore of a moment, in words, with the time at which the history begins where that is told. */
async function restoreOf(time: number, story: string, asked: Asked = {}): Promise<readonly string[]> {
  const { below = '', expiredBefore = 0, damaged } = asked;
  const keptSince = 'keptSince' in asked ? asked.keptSince : 0;
  const moment = { time, below: at(`/memories${below}`), expiredBefore, keptSince, isHidden: () => false };
  const draft = await itemByItem(planRestoreAt(await pastOf(story, damaged), moment));
  const { begins } = draft;
  return [...wordsOfDraft(draft), ...(begins === undefined ? [] : [`begins ${begins.getTime()}`])];
}

const EDITED = 'u kept a 1; v lies a 5 after u';
const SEVERAL = `${EDITED}; w kept d/a 1; w deleted d/a 1 at 4; x lies d/b 5; y lies da 5; z lies c 6`;

it.each<[claim: string, time: number, story: string, plan: readonly string[], asked?: Asked]>([
  ['a file that was edited since gets its text', 3, EDITED, ['replace a: v to u']],
  ['a file with the same text stays', 3, 'u kept a 1 text x; v lies a 5 after u text x', []],
  ['a file that is the same version stays', 3, 'v lies a 1', []],
  ['a file that was deleted since comes back', 3, 'v kept a 1; v deleted a 1 at 4', ['create a: v']],
  ['a file that was created since goes', 3, 'v lies a 5; w lies b 1', ['delete a: v']],
  ['a file that was created in that millisecond goes', 5, 'v lies a 5; w lies b 1', ['delete a: v']],
  ['a file that was created before stays', 6, 'v lies a 5', []],
  [
    'a file that was renamed since is created at its old path, and deleted at its new one',
    2,
    'v moved a 1 to b at 2; v lies b 2 mtime 1',
    ['create a: v', 'delete b: v'],
  ],
  [
    'such a file is deleted, though its first text expired',
    3,
    'v moved a 1 to b at 5; v lies b 5 mtime 1 after gone',
    ['create a: v', 'delete b: v'],
  ],
  [
    'what is untold of other files does not matter',
    3,
    'v kept a 1 saved 2; w lies d/b 5; x lies c 4 after gone; y lies b 1',
    ['delete d/b: w'],
    { below: '/d' },
  ],
  [
    'a damaged file stays as it is, whatever lay there',
    3,
    'v kept a 1; v deleted a 1 at 4',
    ['damaged a'],
    { damaged: { files: [at('/memories/a')] } },
  ],
  ['a text that was taken out is named', 3, 'u redacted a 1; v lies a 5 after u', ['redacted a: u']],
  ['a text that expired is named', 3, 'v lies a 5 after gone; w lies b 1', ['expired a: gone']],
  [
    'a text that expired is named where its file was renamed since, at both paths',
    4,
    'v moved a 5 to b at 6; v lies b 6 mtime 5 after gone; w lies c 1',
    ['expired a: gone', 'expired b: gone'],
  ],
  [
    'a text that expired is named for the file that came of it elsewhere',
    4,
    'v kept a 5 after gone; w lies b 6 after v; x lies c 1',
    ['expired a: gone', 'expired b: gone'],
  ],
  ['a file that is gone without a record is named', 4, 'v kept a 1 saved 2; w lies b 1', ['unrecorded a: v']],
  [
    'a file that may have been another one is named where history is off',
    3,
    'v lies a 5; w lies b 1',
    ['too_early a: v'],
    { keptSince: undefined },
  ],
  ['a moment before the history is named', 3, 'v lies a 5', ['delete a: v', 'too_early : ', 'begins 5']],
  [
    'the history begins with its first version, whichever that is',
    0,
    'v lies a 5; w lies b 1; x lies c 3',
    ['delete a: v', 'delete b: w', 'delete c: x', 'too_early : ', 'begins 1'],
  ],
  [
    'the history begins with a delete where no version is older',
    1,
    'm deleted a 2 at 3; n deleted b 2 at 2; o deleted c 2 at 4; v lies d 5',
    ['delete d: v', 'too_early : ', 'begins 2'],
  ],
  ['the moment in which it begins is in it', 5, 'v lies a 5', ['delete a: v']],
  ['an empty history has no beginning', 5, '', []],
  [
    'a moment that may have expired is named',
    3,
    EDITED,
    ['replace a: v to u', 'too_early : '],
    { expiredBefore: 4 },
  ],
  ['a moment from which on all is kept is not', 3, EDITED, ['replace a: v to u'], { expiredBefore: 3 }],
  [
    'all files are meant below the root',
    3,
    SEVERAL,
    ['replace a: v to u', 'create d/a: w', 'delete d/b: x', 'delete da: y', 'delete c: z'],
  ],
  [
    'files below a directory are meant alone',
    3,
    SEVERAL,
    ['create d/a: w', 'delete d/b: x'],
    { below: '/d' },
  ],
  ['a file is meant alone', 3, SEVERAL, ['replace a: v to u'], { below: '/a' }],
  [
    'damaged records are named by what was asked for',
    3,
    EDITED,
    ['damaged d'],
    { below: '/d', damaged: { records: ['r'] } },
  ],
  [
    'damaged files are named where they are meant',
    3,
    SEVERAL,
    ['create d/a: w', 'delete d/b: x', 'damaged d/z'],
    { below: '/d', damaged: { files: [at('/memories/d/z'), at('/memories/z')] } },
  ],
  [
    'a damaged file is named once, whatever it was',
    3,
    'v kept a 1; v deleted a 1 at 4',
    ['damaged a'],
    { damaged: { files: [at('/memories/a')] } },
  ],
])('%s', async (_, time, story, plan, asked) => {
  expect(await restoreOf(time, story, asked)).toEqual(plan.map((each) => each.replace(/ : $/, ' ')));
});
