import { expect, it } from 'vitest';
import { pastOf, short, storyOf, wordsOfLeave } from '../story.ts';

/** Leaves in words, with all that is told of each: its bound, its times, its actor. */
async function told(story: string): Promise<readonly string[]> {
  const { leaves } = await pastOf(story);
  return leaves.map((leave) => {
    const { bound, at, lastAt, by, event } = leave;
    return `${wordsOfLeave(leave)}: ${bound >> 16n} at ${at}-${lastAt} by ${by} of ${event}`;
  });
}

it.each<readonly [claim: string, story: string, leaves: readonly string[]]>([
  [
    'a rename that two processes wrote down is one: the first time, and the greatest bound',
    'v moved a 3 to b at 9 of e by ann; v moved a 2 to b at 7 of e by bob',
    ['v moved a to b: 3 at 7-9 by bob of e'],
  ],
  [
    'whichever was read first',
    'v moved a 2 to b at 7 of e by bob; v moved a 3 to b at 9 of e by ann',
    ['v moved a to b: 3 at 7-9 by bob of e'],
  ],
  [
    'three are one as well',
    'v moved a 1 to b at 9 of e; v moved a 3 to b at 5 of e; v moved a 2 to b at 7 of e',
    ['v moved a to b: 3 at 5-9 by undefined of e'],
  ],
  [
    'of two at one time the one that was read first counts',
    'v moved a 1 to b at 7 of e by ann; v moved a 1 to b at 7 of e by bob',
    ['v moved a to b: 1 at 7-7 by ann of e'],
  ],
  [
    'another event, version or way is another rename',
    'v moved a 1 to b of e; v moved a 1 to b of f; w moved a 1 to b of e; v moved c 1 to b of e; v moved a 1 to c of e',
    [
      'v moved a to b: 1 at 1-1 by undefined of e',
      'v moved c to b: 1 at 1-1 by undefined of e',
      'v moved a to c: 1 at 1-1 by undefined of e',
      'v moved a to b: 1 at 1-1 by undefined of f',
      'w moved a to b: 1 at 1-1 by undefined of e',
    ].sort(),
  ],
  [
    'a binding is deleted once, by whatever event',
    'v deleted a 1 at 8 of e by ann; v deleted a 1 at 6 of f by bob',
    ['v deleted a: 1 at 6-8 by bob of f'],
  ],
  [
    'another bound, path or version is another delete',
    'v deleted a 1 of e; v deleted a 2 of e; v deleted b 1 of e; w deleted a 1 of e',
    [
      'v deleted a: 1 at 1-1 by undefined of e',
      'v deleted a: 2 at 2-2 by undefined of e',
      'v deleted b: 1 at 1-1 by undefined of e',
      'w deleted a: 1 at 1-1 by undefined of e',
    ],
  ],
])('%s', async (_, story, leaves) => {
  expect([...(await told(story))].sort()).toEqual([...leaves].sort());
});

it.each<readonly [state: 'done' | 'supposed' | 'undone', why: string, story: string]>([
  ['supposed', 'nothing else is known', ''],
  ['done', 'the version lies there', 'v lies b 3'],
  ['done', 'it lay there', 'v kept b 3'],
  ['supposed', 'it lay there under the bound that it had here', 'v kept b 2'],
  ['supposed', 'it lay there before', 'v kept b 1'],
  ['supposed', 'it lay elsewhere', 'v kept c 3'],
  ['supposed', 'another version lies there', 'w lies b 3'],
  ['undone', 'the version lies here still', 'v lies a 2'],
  ['done', 'it lies at both', 'v lies a 2; v lies b 3'],
  ['undone', 'it lies here again', 'v lies a 3'],
  ['undone', 'it was deleted here', 'v deleted a 2'],
  ['undone', 'it was deleted here later', 'v deleted a 3'],
  ['supposed', 'it was deleted here before', 'v deleted a 1'],
  ['supposed', 'it was deleted elsewhere', 'v deleted c 3'],
  ['undone', 'another process renamed it', 'v moved a 2 to c'],
  ['supposed', 'another rename of it was only planned', 'v moved a 2 to c planned'],
  ['undone', 'another rename of it was planned, and happened', 'v moved a 2 to c planned; v kept c 3'],
  ['supposed', 'the other telling is of this rename', 'v moved a 2 to c of e'],
  ['undone', 'it was replaced here', 'w lies a 3 after v'],
  [
    'undone',
    'it was replaced here by one that lay elsewhere before',
    'w kept c 3 after v; w lies a 4 after v',
  ],
  ['supposed', 'it was replaced elsewhere', 'w lies b 3 after v'],
  [
    'undone',
    'it was saved here before it was replaced, wherever that is now',
    'v kept a 2; w lies c 4 after v',
  ],
  ['undone', 'it was saved here later', 'v kept a 3; w lies c 4 after v'],
  ['supposed', 'it was saved here before the plan', 'v kept a 1; w lies c 4 after v'],
  ['supposed', 'it was saved here, and nothing replaced it', 'v kept a 2'],
  ['supposed', 'it was saved elsewhere', 'v kept c 2; w lies c 4 after v'],
  ['supposed', 'another version was replaced here', 'u kept a 2; w lies a 4 after u'],
])('a planned rename counts as %s where %s', async (state, _, story) => {
  const { leaves } = await pastOf(`v moved a 2 to b planned of e; ${story}`);
  expect(leaves.filter(({ event, to }) => event === 'e' && short(String(to)) === 'b')).toMatchObject([
    { state },
  ]);
});

it('leaves that happened are told by version, in the order of their bounds and times, without the others', async () => {
  const past = await pastOf(
    'v moved c 5 to d at 5; v moved b 3 to c at 4; v moved b 3 to a at 3; v moved a 1 to b at 9; v moved e 2 to f planned; v kept e 2; v kept e 9; w lies e 10 after v; v deleted d 6',
  );
  expect(past.leavesOf('v').map(wordsOfLeave)).toEqual([
    'v moved a to b',
    'v moved b to a',
    'v moved b to c',
    'v moved c to d',
    'v deleted d',
  ]);
  expect(past.leaves.map(wordsOfLeave)).toContain('v moved e to f undone');
  expect(past.leaves).toHaveLength(6);
  expect(past.leavesOf('w')).toEqual([]);
  expect(storyOf('').leaves).toEqual([]);
});
