import { expect, it } from 'vitest';
import { planUndo } from '../../../../src/history/change/plan-undo.ts';
import { itemByItem } from '../../../../src/history/past/model.ts';
import { at } from '../../../stage/test-tree.ts';
import { pastOf, wordsOfDraft } from '../story.ts';

/** The plan that undoes what `bad` did. */
async function undoOf(story: string, force: boolean): Promise<readonly string[]> {
  const asked = { isMeant: (by: string | undefined) => by === 'bad', force, isHidden: () => false };
  return wordsOfDraft(await itemByItem(planUndo(await pastOf(story), asked)));
}

type Plan = readonly string[];

const POISONED = 'u kept a 1 by ann; v kept a 2 after u by bad';
const DELETED = 'v kept a 1 by ann; v deleted a 1 at 2 by bad';
const RENAMED = 'v moved a 1 to b at 2 by bad';

it.each<[claim: string, story: string, plan: Plan, forced?: Plan]>([
  ['a file that only the actor wrote is deleted', 'v lies a 1 by bad', ['delete a: v']],
  ['a file of others stays', 'v lies a 1 by ann', []],
  ['a text becomes the one before', 'u kept a 1 by ann; v lies a 2 after u by bad', ['replace a: v to u']],
  [
    'several texts become the one before them',
    `${POISONED}; w lies a 3 after v by bad`,
    ['replace a: w to u'],
  ],
  [
    'a text that others built on stays',
    `${POISONED}; w lies a 3 after v by ann`,
    ['built_on a: v, later w'],
    ['replace a: w to u'],
  ],
  [
    'of two such texts the later one is named',
    `${POISONED}; w kept a 3 after v by ann; x kept a 4 after w by bad; y lies a 5 after x by ann`,
    ['built_on a: x, later y'],
    ['replace a: y to u'],
  ],
  [
    'a text behind what others built goes, and the one before them is named',
    `${POISONED}; w kept a 3 after v by ann; z lies a 4 after w by bad`,
    ['replace a: z to w', 'built_on a: v, later z w'],
    ['replace a: z to u'],
  ],
  [
    'a file that others built on is named, and goes by force',
    'u kept a 1 by bad; v lies a 2 after u by ann',
    ['built_on a: u, later v'],
    ['delete a: v'],
  ],
  ['a text that expired is named', 'v lies a 3 after gone by bad', ['expired a: gone']],
  [
    'a text that was taken out is named',
    'u redacted a 1 by ann; v lies a 2 after u by bad',
    ['redacted a: u'],
  ],
  [
    'a text that has come back was undone',
    'u kept a 1 by ann text x; v kept a 2 after u by bad; w lies a 3 after v by ann text x',
    [],
  ],
  [
    'a text that came back, and that the actor wrote over again, comes back',
    'u kept a 1 by ann text x; v kept a 2 after u by bad text y; w kept a 3 after v by ann text x; z lies a 4 after w by bad text y',
    ['replace a: z to w'],
  ],
  [
    'a text whose like the actor wrote stays',
    'u kept a 1 by ann text x; v lies a 2 after u by bad text x',
    [],
  ],
  [
    'texts that nobody has read are not alike',
    'u kept a 1 by ann text -; v kept a 2 after u by bad text -; w lies a 3 after v by ann text -',
    ['built_on a: v, later w'],
    ['replace a: w to u'],
  ],
  [
    'a file that others created with the text of one that they deleted stays',
    'u kept a 1 by ann text x; u deleted a 1 by ann; v lies a 3 by ann text x',
    [],
  ],
  [
    'a file whose first versions expired is joined to no other',
    'u kept a 1 by bad text x; u deleted a 1 by ann; v lies a 3 after gone by ann text x',
    [],
  ],
  [
    'a file of the actor is joined to no other',
    't kept a 1 by ann text y; u kept a 2 after t by bad text x; u deleted a 2 by ann; v lies a 4 by bad text x',
    ['delete a: v'],
  ],
  ['a deleted file comes back', DELETED, ['create a: v']],
  ['a file that the actor wrote and deleted does not', 'v kept a 1 by bad; v deleted a 1 by bad', []],
  ['a file that others deleted does not', 'v kept a 1 by ann; v deleted a 1 by ann', []],
  [
    'a deleted file comes back with the text before the one of the actor',
    `${POISONED}; v deleted a 2 by bad`,
    ['create a: u'],
  ],
  [
    'such a text that expired is named',
    'v kept a 2 after gone by bad; v deleted a 2 by bad',
    ['expired a: gone'],
  ],
  [
    'a delete over which others created a file stays',
    `${DELETED}; w lies a 3 by ann`,
    ['built_on a: v, later w'],
    ['replace a: w to v'],
  ],
  [
    'such a delete names all versions of the new file',
    `${DELETED}; w kept a 3 by ann; x lies a 4 by ann after w`,
    ['built_on a: v, later x w'],
    ['replace a: x to v'],
  ],
  [
    'a delete over which the actor created a file is undone',
    `${DELETED}; w lies a 3 by bad`,
    ['replace a: w to v'],
  ],
  [
    'a delete was undone where the file has its text again',
    'v kept a 1 by ann text x; v deleted a 1 by bad; w lies a 3 by ann text x',
    [],
  ],
  [
    'it was undone where the file had its text again, and the later text of the actor goes',
    'v kept a 1 by ann text x; v deleted a 1 by bad; w kept a 3 by ann text x; z lies a 4 by bad after w',
    ['replace a: z to w'],
  ],
  [
    'it was undone over a file of the actor, which stays',
    'v kept a 1 by ann text x; v deleted a 1 by bad; w kept a 3 by bad; z lies a 4 by ann after w text x',
    [],
  ],
  [
    'it was undone over a file of the actor whose first versions expired, which is named by force alone',
    'v kept a 1 by ann text x; v deleted a 1 by bad; w kept a 3 after gone by bad; z lies a 4 after w by ann text x',
    [],
    ['expired a: gone'],
  ],
  [
    'it was undone, and what others built on the later text of the actor stays',
    'v kept a 1 by ann text x; v deleted a 1 by bad; w kept a 3 by ann text x; y kept a 4 by bad after w; z lies a 5 after y by ann',
    ['built_on a: y, later z'],
    ['replace a: z to w'],
  ],
  [
    'of two files that were deleted at one path the last one comes back',
    `${DELETED}; w kept a 3 by ann; w deleted a 3 at 4 by bad`,
    ['create a: w', 'built_on a: v, later w'],
  ],
  [
    'whichever was read first',
    `w kept a 3 by ann; w deleted a 3 at 4 by bad; ${DELETED}`,
    ['create a: w', 'built_on a: v, later w'],
  ],
  [
    'a file comes back though others deleted a later one',
    `${DELETED}; w kept a 3 by ann; w deleted a 3 at 4 by ann`,
    ['create a: v'],
  ],
  ['a renamed file goes back', `${RENAMED}; v lies b 2 mtime 1 by ann`, ['rename b to a: v']],
  ['a file that others renamed stays', 'v moved a 1 to b by ann; v lies b 2 mtime 1 by ann', []],
  [
    'a renamed file that others edited stays',
    `${RENAMED}; v kept b 2 mtime 1 by ann; w lies b 3 after v by ann`,
    ['built_on b: v, later w'],
    ['rename b to a: w'],
  ],
  [
    'a renamed file that the actor edited goes back with its text',
    `${RENAMED}; v kept b 2 mtime 1 by ann; w lies b 3 after v by bad`,
    ['rename b to a: w', 'replace a: w to v'],
  ],
  [
    'such a file names no version from before the rename',
    'u kept a 1 by ann; v kept a 2 after u by ann; v moved a 2 to b at 3 by bad; v kept b 3 mtime 2 after u by ann; w lies b 4 after v by ann',
    ['built_on b: v, later w'],
    ['rename b to a: w'],
  ],
  [
    'a file that is back at its path stays, whatever others built there',
    `${RENAMED}; v moved b 2 to a at 3 by bad; v kept a 3 mtime 1 by ann; w lies a 4 after v by ann`,
    [],
  ],
  [
    'a file that others renamed on stays',
    `${RENAMED}; v moved b 2 to c at 3 by ann; v lies c 3 mtime 1 by ann`,
    ['built_on c: v, later'],
    ['rename c to a: v'],
  ],
  [
    'a file that others renamed before goes back to where they had it',
    'v moved a 1 to b at 2 by ann; v moved b 2 to c at 3 by bad; v lies c 3 mtime 1 by ann',
    ['rename c to b: v'],
  ],
  [
    'a file that was renamed twice goes back to the first path',
    `${RENAMED}; v moved b 2 to c at 3 by bad; v lies c 3 mtime 1 by ann`,
    ['rename c to a: v'],
  ],
  [
    'a file that others renamed in between goes back behind that',
    `${RENAMED}; v moved b 2 to c at 3 by ann; v moved c 3 to d at 4 by bad; v lies d 4 mtime 1 by ann`,
    ['rename d to c: v'],
    ['rename d to a: v'],
  ],
  [
    'a file that is back at its path stays',
    `${RENAMED}; v moved b 2 to a at 3 by bad; v lies a 3 mtime 1 by ann`,
    [],
  ],
  [
    'a file that others renamed first goes back no further than the first rename of the actor',
    'v moved a 1 to b at 2 by ann; v moved b 2 to c at 3 by bad; v moved c 3 to d at 4 by ann; v moved d 4 to e at 5 by bad; v lies e 5 mtime 1 by ann',
    ['rename e to d: v'],
    ['rename e to b: v'],
  ],
  [
    'a rename back that was cut off is finished',
    `${RENAMED}; v lies b 2 mtime 1 by ann; v lies a 3 mtime 1 by ann`,
    ['delete b: v'],
  ],
  [
    'a file that was renamed and deleted comes back at its first path',
    `${RENAMED}; v kept b 2 mtime 1 by ann; v deleted b 2 at 3 by bad`,
    ['create a: v'],
  ],
  [
    'a file that was deleted comes back where another one is renamed away from',
    `${DELETED}; x moved b 1 to a at 3 by bad; x lies a 3 mtime 1 by ann`,
    ['rename a to b: x', 'create a: v'],
  ],
  [
    'a file that others deleted, and created with the text of the actor, is named',
    'u kept a 1 by bad; u deleted a 1 by ann; v lies a 3 by ann text u',
    ['built_on a: u, later v'],
    ['delete a: v'],
  ],
  [
    'so is one whose earlier text others have seen',
    't kept a 1 by ann; u kept a 2 after t by bad text x; u deleted a 2 by ann; v lies a 4 by ann text x',
    ['built_on a: u, later v'],
    ['replace a: v to t'],
  ],
  [
    'such a file is followed through several deletes',
    'u kept a 1 by bad text x; u deleted a 1 at 2 by ann; v kept a 3 by ann text x; v deleted a 3 at 4 by ann; w lies a 5 by ann text x',
    ['built_on a: u, later w v'],
    ['delete a: w'],
  ],
  [
    'a file of another text is another file',
    'u kept a 1 by bad; u deleted a 1 by ann; v lies a 3 by ann',
    [],
  ],
  [
    'a file that the actor deleted is another file',
    'u kept a 1 by bad text x; u deleted a 1 by bad; v lies a 3 by ann text x',
    [],
  ],
  [
    'a file that was deleted at another path is another file',
    'u kept b 1 by bad text x; u deleted b 1 by ann; v lies a 3 by ann text x',
    [],
  ],
])('%s', async (_, story, plan, forced = plan) => {
  expect(await undoOf(story, false)).toEqual(plan);
  expect(await undoOf(story, true)).toEqual(forced);
});

it('files that cannot be read are named', async () => {
  const past = await pastOf('v lies a 1 by bad', { files: [at('/memories/z')] });
  const asked = { isMeant: (by: string | undefined) => by === 'bad', force: false, isHidden: () => false };
  const draft = await itemByItem(planUndo(past, asked));
  expect(wordsOfDraft(draft)).toEqual(['delete a: v', 'damaged z']);
  expect(draft.left.get('/memories/z')).toStrictEqual({ path: '/memories/z', reason: 'damaged' });
});
