import { expect, it } from 'vitest';
import { treeAt } from '../../../../src/history/past/at.ts';
import { itemByItem } from '../../../../src/history/past/model.ts';
import type { Past } from '../../../../src/history/past/past.ts';
import { FOLLOWED_MS } from '../../../../src/keys/keyring.ts';
import { pastOf, short } from '../story.ts';

/** The files of a moment as `path: version`, and the doubts as `path? reason version`. */
async function filesAt(time: number, past: Past, keptSince: number | undefined): Promise<string> {
  const { files, doubts } = await itemByItem(treeAt(past, { time, keptSince }));
  return [
    ...[...files].map(([path, { id }]) => `${short(path)}: ${id}`),
    ...[...doubts].map(([path, { reason, version }]) => `${short(path)}? ${reason} ${version}`),
  ]
    .sort()
    .join(', ');
}

/** The moments between 0 and 100 at which the files become others, each with the files from then on. */
async function timelineOf(story: string): Promise<Readonly<Record<number, string>>> {
  const past = await pastOf(story);
  const moments: Record<number, string> = {};
  let last = '';
  for (let time = 0; time < 100; time++) {
    const now = await filesAt(time, past, 0);
    if (now !== last) moments[time] = now;
    last = now;
  }
  return moments;
}

type Timelines = readonly (readonly [
  claim: string,
  story: string,
  moments: Readonly<Record<number, string>>,
])[];

const TOLD: Timelines = [
  ['counts behind the millisecond in which it is written', 'v lies a 10', { 11: 'a: v' }],
  ['counts from the first millisecond on', 'v lies a 0', { 1: 'a: v' }],
  [
    'has the version that was its newest then',
    'u kept a 10; v kept a 20 after u; w lies a 30 after v',
    { 11: 'a: u', 21: 'a: v', 31: 'a: w' },
  ],
  [
    'is where its renames had brought it',
    'v moved a 10 to b at 20; v moved b 20 to c at 30; v lies c 30 mtime 10',
    { 11: 'a: v', 21: 'b: v', 31: 'c: v' },
  ],
  [
    'is where it came back to',
    'v lies a 10; v moved a 10 to b at 20; v moved b 20 to a at 30',
    { 11: 'a: v', 21: 'b: v', 31: 'a: v' },
  ],
  [
    'stays where a rename brings it to its own path',
    'v moved a 10 to a at 20; v lies a 20 mtime 10',
    { 11: 'a: v' },
  ],
  ['is gone from its delete on', 'v kept a 10; v deleted a 10 at 20', { 11: 'a: v', 21: '' }],
  [
    'lies there still where it was read after its delete',
    'v lies a 10; v deleted a 10 at 20',
    { 11: 'a: v' },
  ],
  ['stays where an earlier binding of it was deleted', 'v lies a 10; v deleted a 5 at 7', { 11: 'a: v' }],
  [
    'is another one where that is created later',
    'v kept a 10; v deleted a 10 at 20; w lies a 30',
    { 11: 'a: v', 21: '', 31: 'a: w' },
  ],
  [
    'gives way to a rename',
    'v kept a 10; v deleted a 10 at 20; w moved b 5 to a at 21; w lies a 21 mtime 5',
    { 6: 'b: w', 11: 'a: v, b: w', 21: 'b: w', 22: 'a: w' },
  ],
  [
    'moves no earlier than it was written, whatever the clock of the renamer said',
    'v moved a 10 to b at 5; v lies b 20 mtime 10',
    { 11: 'b: v' },
  ],
  [
    'is no older than the one that it replaced, whatever its clock said',
    'u kept a 10; v kept a 20 mtime 5 after u; w lies a 30 mtime 2 after v; z kept b 1; z deleted b 1 at 3',
    { 2: 'b: z', 4: '', 11: 'a: w' },
  ],
  [
    'is as young as its newest version, though that was read first',
    'w lies b 30 after v; v kept a 10',
    { 11: 'a: v', 31: 'b: w' },
  ],
  [
    'is so in whatever order its versions were read, and at both of its places',
    'w lies a 30 mtime 40 after v; v kept a 20 mtime 5 after u; t lies b 35 mtime 3 after v; u kept a 10',
    { 11: 'a: v, b: t', 41: 'a: w, b: t' },
  ],
  [
    'ends where it was replaced at a path that is not known for it',
    'v seen a 10; w lies b 20 after v',
    { 11: 'a: v', 21: 'b: w' },
  ],
  [
    'is the later one of two, whichever was read first',
    'w lies a 20; v kept a 10 saved 90',
    { 11: 'a: v', 21: 'a: w' },
  ],
  ['is the later one of two in any order', 'v kept a 10 saved 90; w lies a 20', { 11: 'a: v', 21: 'a: w' }],
  [
    'is where it came back to a second time',
    'v moved a 10 to b at 20; v moved b 20 to a at 30; v moved a 30 to c at 40; v lies c 40 mtime 10',
    { 11: 'a: v', 21: 'b: v', 31: 'a: v', 41: 'c: v' },
  ],
  [
    'lies at its first path still where it was read there, though it went on from the second',
    'v lies a 10; v moved a 10 to b at 20; v moved b 20 to c at 30; v lies c 30 mtime 10',
    { 11: 'a: v', 21: 'a: v, b: v', 31: 'a: v, c: v' },
  ],
  [
    'lies there still where it had come there before',
    'v moved c 5 to a at 8; v lies a 10 mtime 5; v moved a 10 to b at 20; v lies b 20 mtime 5',
    { 6: 'c: v', 9: 'a: v', 21: 'a: v, b: v' },
  ],
  ['stays where its rename was undone', 'v moved a 10 to b at 20 planned; v lies a 10', { 11: 'a: v' }],
  [
    'lies at both paths of a rename that was cut off',
    'v lies a 10; v lies b 20 mtime 10 brought; v moved a 10 to b at 19 planned',
    { 11: 'a: v', 20: 'a: v, b: v' },
  ],
];

const UNTOLD: Timelines = [
  [
    'whose end is untold may be there from the time on at which it was saved',
    'v kept a 10 saved 40; w lies b 50',
    { 11: 'a: v', 41: 'a? unrecorded v', 51: 'a? unrecorded v, b: w' },
  ],
  ['that another source saw may be gone again', 'v seen a 10', { 11: 'a? unrecorded v' }],
  [
    'is not certain at its new path for as long as it was saved at the old one',
    'v kept a 10 saved 60; v lies a 10; v moved a 10 to b at 20',
    { 11: 'a: v', 21: 'a: v, b? unrecorded v' },
  ],
  [
    'was gone when another one came, and stays gone',
    'v kept a 20 saved 40; w kept a 50; w deleted a 50 at 60; u kept a 1; u deleted a 1 at 2',
    { 2: 'a: u', 3: '', 21: 'a: v', 41: 'a? unrecorded v', 51: 'a: w', 61: '' },
  ],
  [
    'may be back where another one came in the millisecond in which it was saved',
    'v kept a 10 saved 40; w kept a 40; w deleted a 40 at 60',
    { 11: 'a: v', 41: 'a: w', 61: 'a? unrecorded v' },
  ],
  [
    'of two that came at once is the last that was read',
    'v kept a 10 saved 90; w kept a 10 saved 90',
    { 11: 'a: w', 91: 'a? unrecorded w' },
  ],
  [
    'that came without a record may have been there before',
    'v lies b 30 brought mtime 10',
    { 11: 'b? unrecorded v', 31: 'b: v' },
  ],
  [
    'that a rename without a record moved leaves its old path then',
    'v kept a 10 saved 40; v lies b 50 mtime 10 brought',
    { 11: 'a: v, b? unrecorded v', 51: 'b: v' },
  ],
  [
    'that it left at both paths lies at both',
    'v lies a 10; v lies b 20 mtime 10 brought',
    { 11: 'a: v, b? unrecorded v', 21: 'a: v, b: v' },
  ],
  [
    'that it brought on from its middle one of three paths lies at the others',
    'v lies a 10; v kept b 20 mtime 10 saved 22; v lies c 30 mtime 10 brought',
    { 11: 'a: v, b? unrecorded v, c? unrecorded v', 21: 'a: v, b: v, c? unrecorded v', 31: 'a: v, c: v' },
  ],
  [
    'that was replaced at each of two paths ends at each in its time',
    'v kept a 10; v kept b 20 mtime 10; s lies a 30 after v; t lies b 25 after v',
    { 11: 'a: v, b? unrecorded v', 21: 'a: v, b: v', 26: 'a: v, b: t', 31: 'a: s, b: t' },
  ],
  [
    'that was replaced after it had been brought on ends there',
    'v kept a 10 saved 40; v kept b 50 mtime 10 saved 60; w lies b 70 after v',
    { 11: 'a: v, b? unrecorded v', 51: 'b: v', 71: 'b: w' },
  ],
  [
    'is certain until it was saved at that path, not at another',
    'v kept a 10 saved 15; v kept b 20 mtime 10 saved 60',
    { 11: 'a: v, b? unrecorded v', 21: 'b: v', 61: 'b? unrecorded v' },
  ],
  [
    'that was deleted, and came back without a record, was away in between',
    'v deleted a 10 at 20; v lies a 30 mtime 10',
    { 11: 'a: v', 21: 'a? unrecorded v', 31: 'a: v' },
  ],
  [
    'that was deleted and brought on is doubted on its way',
    'v deleted a 10 at 20; v moved c 40 to d at 50; v kept c 40 mtime 10',
    { 11: 'a: v, c? unrecorded v', 21: 'c? unrecorded v', 41: 'c: v', 51: 'd? unrecorded v' },
  ],
  [
    'is doubted no more at a path that another one held, while it is known elsewhere',
    'v kept a 10; v lies b 30 brought mtime 10; u kept b 5; u deleted b 5 at 29',
    { 6: 'b: u', 11: 'a: v, b: u', 30: 'a: v, b? unrecorded v', 31: 'b: v' },
  ],
  [
    'is doubted at such a path where it is known nowhere',
    'v deleted a 10 at 15; v lies b 30 mtime 10 brought; u kept b 5; u deleted b 5 at 29',
    { 6: 'b: u', 11: 'a: v, b: u', 16: 'b: u, b? unrecorded v', 30: 'b? unrecorded v', 31: 'b: v' },
  ],
  [
    'is doubted at the path of a rename that was planned, once it was saved',
    'v moved a 10 to b at 20 planned; v kept a 10',
    { 11: 'a: v', 21: 'b? unrecorded v' },
  ],
  [
    'before one whose predecessor is not kept is unknown',
    'v lies a 20 after gone',
    { 0: 'a? expired gone', 21: 'a: v' },
  ],
  [
    'is unknown where that was written, not where it lies',
    'v moved a 20 to b at 30; v lies b 30 mtime 20 after gone',
    { 0: 'a? expired gone', 21: 'a: v', 31: 'b: v' },
  ],
];

it.each(TOLD)('a file of a moment %s', async (_, story, moments) => {
  expect(await timelineOf(story)).toEqual(moments);
});

it.each(UNTOLD)('a file of which the records do not tell all %s', async (_, story, moments) => {
  expect(await timelineOf(story)).toEqual(moments);
});

it('meets each version once on its way to their births, whichever was read first', async () => {
  const past = await pastOf('w lies a 40 after v; v kept a 30 after u; u kept a 20 after t; t kept a 10');
  const met: string[] = [];
  const ancestors: Past['ancestors'] = (...asked) => {
    const found = past.ancestors(...asked);
    met.push(...found.map(({ id }) => id));
    return found;
  };
  expect(await filesAt(35, { ...past, ancestors }, 0)).toBe('a: v');
  expect(met).toEqual(['v', 'u', 't']);
});

const ON = 10 * FOLLOWED_MS;

it.each<
  readonly [is: 'new' | 'unsure', what: string, writer: string, time: number, keptSince: number | undefined]
>([
  ['new', 'names its writer', 'by ann', 0, undefined],
  ['new', 'names its writer before history was on', 'by ann', 0, ON],
  ['unsure', 'is in a tenant whose history is off', '', 0, undefined],
  ['new', 'is as old as the history, for a moment before that', '', 0, ON],
  ['unsure', 'is a bit older', '', 0, ON + 1],
  ['unsure', 'is an hour older', '', 0, ON + FOLLOWED_MS],
  [
    'unsure',
    'comes an hour after it was turned on, for the moment before that',
    '',
    ON - 1,
    ON + FOLLOWED_MS,
  ],
  ['new', 'comes in the millisecond in which it was turned on, for that moment', '', ON, ON + FOLLOWED_MS],
  ['unsure', 'comes a bit before', '', ON, ON + FOLLOWED_MS + 1],
])('a file is %s that %s', async (is, _, writer, time, keptSince) => {
  const files = await filesAt(time, await pastOf(`v lies a ${ON} ${writer}`), keptSince);
  expect(files).toBe(is === 'new' ? '' : 'a? too_early v');
});
