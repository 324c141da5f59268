import { describe, expect, it } from 'vitest';
import { MemoryError } from '../../../../src/errors.ts';
import { classKey } from '../../../../src/format/object-keys.ts';
import type { ToldLeave } from '../../../../src/history/past/leaves.ts';
import { type FileSighting, itemByItem, modelOf } from '../../../../src/history/past/model.ts';
import type { Damaged } from '../../../../src/history/past/past.ts';
import { type KnownTurns, readKnown, versionsAt } from '../../../../src/history/trace/known.ts';
import { readTurnRuns, type TurnRun } from '../../../../src/history/trace/read-runs.ts';
import { type Trace, traceVersions } from '../../../../src/history/trace/trace.ts';
import { encodeFields } from '../../../../src/tree/records/sealed-record.ts';
import type { Touch } from '../../../../src/tree/touches.ts';
import { putRecord } from '../../../stage/key-operator.ts';
import { mostBetweenRounds } from '../../../stage/measures.ts';
import { at, bytes, createSite } from '../../../stage/test-tree.ts';

const TURNS = 3_000;
const PATH = at('/memories/notes.md');

/** A saved version of a file that nobody replaced; its text is that of no other one unless it is told. */
function sightingOf(id: string, mtime: number, more: Partial<FileSighting> = {}): FileSighting {
  const saved = { record: `record of ${id}`, at: mtime, for: undefined };
  const facts = {
    id,
    path: PATH,
    bound: BigInt(mtime),
    mtime,
    size: 1,
    previous: undefined,
    writer: undefined,
  };
  return { ...facts, saved, textHash: `text of ${id}`, ...more };
}

function leave(id: string, from: string, more: Partial<ToldLeave> = {}): ToldLeave {
  const facts = { to: undefined, bound: 1n, at: 20, lastAt: 20, by: undefined, event: id, isPlanned: false };
  return { ...facts, id, from: at(from), ...more };
}

interface Known extends KnownTurns, Pick<KnownTurns['turns'], 'untraced' | 'damaged'> {
  readonly leaves: readonly ToldLeave[];
  readonly unread: Pick<Damaged, 'records' | 'files'>;
}

async function knownOf(
  sightings: readonly FileSighting[],
  runs: readonly TurnRun[],
  more: Partial<Known> = {},
): Promise<KnownTurns> {
  const {
    leaves = [],
    unread = { records: [], files: [] },
    untraced = 0,
    damaged = [],
    keptSince = 0,
  } = more;
  const past = await itemByItem(modelOf({ sightings, leaves, damaged: unread }));
  const turns = { runs, untraced, damaged };
  return { past, turns, keptSince, actors: new Map([['h-ann', 'ann']]), writerOf: (actor) => actor };
}

it('lets others run between every few of its turns', async () => {
  let looks = 0;
  const runOf = (turn: number): TurnRun => ({
    ...run(String(turn), ''),
    get list() {
      looks++;
      return touches(`read v${turn}, written v${turn + 1}`);
    },
  });
  const sightings = Array.from({ length: TURNS }, (_, turn) =>
    sightingOf(`v${turn}`, turn, {
      textHash: 'the same',
      ...(turn > 0 && { previous: `v${turn - 1}` }),
    }),
  );
  const known = await knownOf(
    sightings,
    Array.from({ length: TURNS }, (_, turn) => runOf(turn)),
  );
  const most = await mostBetweenRounds(
    () => looks,
    async () => {
      const starts = await itemByItem(versionsAt(known, PATH));
      expect((await itemByItem(traceVersions(known, PATH, starts))).turns).toHaveLength(TURNS);
    },
  );
  expect(most).toBeLessThan(TURNS / 5);
});

/** Touches in words: `read v, written w /memories/b, renamed /memories/b /memories/c, deleted /memories/c`. */
function touches(words: string): readonly Touch[] {
  return words.split(', ').flatMap((one): Touch[] => {
    const [kind, name = '', other] = one.split(' ');
    if (kind === 'deleted') return [{ kind, path: name }];
    if (kind === 'renamed') return [{ kind, path: name, to: other ?? '' }];
    return kind === 'read' || kind === 'written' ? [{ kind, path: other ?? PATH, version: name }] : [];
  });
}

/** A run at the time 100 unless it is told. */
function run(turn: string, words: string, more: Partial<TurnRun> = {}): TurnRun {
  return { turn, id: `run ${turn}`, time: 100, isAnswered: true, unlisted: 0, list: touches(words), ...more };
}

/** Turn by turn, behind the one that it follows, what it read and what it wrote then, perhaps (`?`). */
function told({ turns }: Trace): readonly string[] {
  return turns.map(({ turn, follows = '', read, written }) => {
    const reads = read.map(({ version }) => version).join(' ');
    const writes = written.map(({ version, order }) => (order === 'after' ? version : `${version}?`));
    return `${follows}${turn}: ${reads} > ${writes.join(' ')}`;
  });
}

async function trace(known: KnownTurns, ...starts: readonly string[]): Promise<Trace> {
  return itemByItem(traceVersions(known, '/memories/asked', starts));
}

const OTHER = '/memories/other';
const SAME = { textHash: 'bad text' };

describe('a trace of version v', () => {
  it.each<
    [_: string, runs: readonly TurnRun[], turns: readonly string[], sightings?: readonly FileSighting[]]
  >([
    [
      'has the writes behind a read, and none before',
      [run('a', 'written p, read v, written q')],
      ['a: v > q'],
    ],
    ['passes over who only wrote it', [run('a', 'written v, written w')], []],
    [
      'tells of a version once, and keeps the order of reads',
      [run('a', 'read w, read v, read v')],
      ['a: v > '],
    ],
    [
      'has a reader of the second rank, and of the third',
      [run('c', 'read x'), run('b', 'read w, written x'), run('a', 'read v, written w')],
      ['c: x > ', 'b: w > x', 'a: v > w'],
    ],
    [
      'goes back in a run that turns out to have read another one before',
      [run('a', 'read w, written p, read v, written q'), run('b', 'read v, written w'), run('c', 'read p')],
      ['a: w v > p q', 'b: v > w', 'c: p > '],
    ],
    [
      'does not go back where it knew before',
      [run('a', 'read v, written p, read w, written q'), run('b', 'read v, written w')],
      ['a: v w > p q', 'b: v > w'],
    ],
    [
      'has another turn know what both wrote as one',
      [run('a', 'read v, written s'), run('b', 'written p, written s, written q')],
      ['a: v > s', 'b:  > q'],
    ],
    ['tells what a turn wrote itself for no read', [run('a', 'read v, written w, read w')], ['a: v > w']],
    [
      'has the next turn of a conversation know all from its beginning, and no turn of another one',
      [
        run('a', 'read v'),
        run('b', 'written w', { follows: 'run a' }),
        run('c', 'written x', { follows: 'run z' }),
        run('d', 'read v', { follows: 'run c' }),
      ],
      ['a: v > ', 'ab:  > w', 'd: v > '],
    ],
    [
      'passes over who read what a reader wrote before, or read as well',
      [run('a', 'written p, read v, read n'), run('b', 'read p'), run('c', 'read n')],
      ['a: v > '],
    ],
    [
      'has what no run of a turn names, which its readers have read',
      [run('a', 'read u, written p, read v'), run('b', 'read u, written q')],
      ['a: u v > u?', 'b: u > q'],
      [sightingOf('u', 50, { writer: 'turn a' }), sightingOf('p', 51, { writer: 'turn a' })],
    ],
    [
      'has two runs of one turn as one',
      [run('a', 'read v, written w'), run('a', 'read v, written x', { id: 'again' })],
      ['a: v > w x'],
    ],
    [
      'has no run of a turn that did not come to know it',
      [run('a', 'written w'), run('a', 'read v', { id: 'again' })],
      ['a: v > '],
    ],
    [
      'goes on with a later version that has its text at its place, and with no other one',
      [run('a', 'read again'), run('b', 'read before'), run('c', 'read elsewhere'), run('d', 'read at-once')],
      ['a: again > '],
      [
        sightingOf('v', 10, SAME),
        sightingOf('again', 11, SAME),
        sightingOf('before', 9, SAME),
        sightingOf('at-once', 10, SAME),
        sightingOf('elsewhere', 12, { ...SAME, path: at(OTHER) }),
      ],
    ],
    [
      'goes on with each of several later ones',
      [run('a', 'read x'), run('b', 'read y'), run('c', 'read z')],
      ['a: x > ', 'b: y > ', 'c: z > '],
      [
        sightingOf('v', 10, SAME),
        sightingOf('y', 12, SAME),
        sightingOf('z', 13, SAME),
        sightingOf('x', 11, SAME),
      ],
    ],
    [
      'goes on with none whose text, as its own, is unknown',
      [run('a', 'read x')],
      [],
      [sightingOf('v', 10, { textHash: undefined }), sightingOf('x', 11, { textHash: undefined })],
    ],
    [
      'goes on with the text of what was written of it',
      [run('a', 'read v, written w'), run('b', 'read again')],
      ['a: v > w', 'b: again > '],
      [sightingOf('w', 10, SAME), sightingOf('again', 11, SAME)],
    ],
  ])('%s', async (_, runs, turns, sightings = []) => {
    expect(told(await trace(await knownOf(sightings, runs), 'v'))).toEqual(turns);
  });

  it('tells of each turn by its last run, with all that it did from then on, by time', async () => {
    const list = `deleted /memories/early, read v ${OTHER}, renamed /memories/x /memories/y, deleted ${OTHER}`;
    const runs = [
      run('late', 'read w', { time: 300, isAnswered: false }),
      run('a', list, { isAnswered: false, time: 150 }),
      run('a', 'written w', { id: 'again', follows: 'run a', time: 120 }),
    ];
    const { turns, versions, again } = await trace(await knownOf([], runs), 'v');
    expect(turns).toEqual([
      {
        turn: 'a',
        time: new Date(150),
        state: 'answered',
        read: [{ path: OTHER, version: 'v' }],
        follows: 'a',
        written: [{ path: PATH, version: 'w', order: 'after' }],
        renamed: [{ path: '/memories/x', to: '/memories/y' }],
        deleted: [OTHER],
      },
      {
        turn: 'late',
        time: new Date(300),
        state: 'unfinished',
        read: [{ path: PATH, version: 'w' }],
        written: [],
        renamed: [],
        deleted: [],
      },
    ]);
    expect([versions, again]).toEqual([[{ path: '/memories/asked', version: 'v' }], []]);
  });

  it('tells what is kept of a version, the actor by name where that is known', async () => {
    const sightings = [
      sightingOf('v', 10, { ...SAME, writer: 'h-ann' }),
      sightingOf('late', 13, { ...SAME, writer: 'h-bob' }),
      sightingOf('early', 12, { ...SAME, file: { isRenamed: false }, saved: undefined, previous: 'late' }),
    ];
    const { versions, again } = await trace(await knownOf(sightings, []), 'v');
    const time = (ms: number) => ({ path: PATH, time: new Date(ms) });
    expect(versions).toStrictEqual([{ ...time(10), version: 'v', writer: 'ann', end: 'unrecorded' }]);
    expect(again).toStrictEqual([
      { ...time(12), version: 'early', end: 'current' },
      { ...time(13), version: 'late', writer: 'h-bob', end: 'replaced' },
    ]);
  });

  it('finds no text again that is asked for itself, nor where only a leave tells that the version lay', async () => {
    const sightings = [
      sightingOf('v', 10, SAME),
      sightingOf('x', 11, SAME),
      sightingOf('y', 12, { ...SAME, path: at(OTHER) }),
    ];
    const known = await knownOf(sightings, [], { leaves: [leave('v', OTHER)] });
    expect((await trace(known, 'v', 'x')).again).toEqual([]);
  });
});

describe('what a trace cannot tell', () => {
  const at10 = sightingOf('v', 10, { writer: 'h-ann' });
  it.each<readonly [string, Parameters<typeof knownOf>, readonly object[]]>([
    ['nothing', [[at10], [], { keptSince: 10 }], []],
    [
      'turns that may have expired since',
      [[at10], [], { keptSince: 11 }],
      [{ kind: 'expired', before: new Date(11) }],
    ],
    [
      'none of those while a turn is kept that is older',
      [[at10], [run('a', '', { time: 10 })], { keptSince: 20 }],
      [],
    ],
    [
      'not when a version was written',
      [[], [], { keptSince: 1 }],
      [{ kind: 'expired', before: new Date(1) }],
    ],
    [
      'more touches of a turn than are listed, since the first turn was stored that wrote the version',
      [
        [],
        [
          run('a', 'read v', { time: 9, unlisted: 1 }),
          run('b', 'written v', { time: 10, unlisted: 2 }),
          run('c', 'written v', { time: 11, unlisted: 3 }),
        ],
      ],
      [
        { kind: 'unlisted', turn: 'b', count: 2 },
        { kind: 'unlisted', turn: 'c', count: 3 },
      ],
    ],
    [
      'what writers read who are no turns, since the version',
      [
        [
          at10,
          sightingOf('at once', 10, { writer: 'h-carl' }),
          sightingOf('x', 11, { writer: 'h-ann' }),
          sightingOf('y', 12, { writer: 'h-bob' }),
          sightingOf('z', 13, { writer: 'turn a' }),
          sightingOf('n', 14),
        ],
        [run('a', '', { time: 10 })],
      ],
      [
        { kind: 'writers', writers: ['ann', 'h-bob'] },
        { kind: 'unnamed', versions: 1 },
      ],
    ],
    [
      'more touches of a turn than are listed, since the version',
      [
        [at10],
        [
          run('a', '', { time: 9, unlisted: 1 }),
          run('b', '', { time: 10, unlisted: 2 }),
          run('c', '', { time: 11 }),
        ],
      ],
      [{ kind: 'unlisted', turn: 'b', count: 2 }],
    ],
    [
      'answers without deeds, and what cannot be read',
      [
        [at10],
        [],
        { untraced: 3, damaged: ['a'], unread: { records: ['b', 'c'], files: [PATH, PATH, PATH] } },
      ],
      [
        { kind: 'untraced', count: 3 },
        { kind: 'damaged', count: 6 },
      ],
    ],
  ])('is %s', async (_, known, untold) => {
    expect((await trace(await knownOf(...known), 'v')).untold).toEqual(untold);
  });

  it('counts no version that is asked for, and begins with the first of them', async () => {
    const known = await knownOf([at10, sightingOf('w', 12)], [], { keptSince: 11 });
    expect((await trace(known, 'w', 'v')).untold).toEqual([{ kind: 'expired', before: new Date(11) }]);
  });
});

it('finds the versions of a path: by their places, by the leaves that happened, by the touches of turns', async () => {
  const stays = { path: at(OTHER), file: { isRenamed: false }, saved: undefined };
  const leaves = [
    leave('gone', PATH),
    leave('left', PATH, { to: at('/memories/third') }),
    leave('came', '/memories/third', { to: PATH }),
    leave('stayed', OTHER, { to: PATH, isPlanned: true }),
    leave('third', '/memories/third'),
  ];
  const sightings = [
    sightingOf('own', 1),
    sightingOf('own', 1, { path: at(OTHER), bound: 9n }),
    sightingOf('theirs', 2, stays),
    sightingOf('stayed', 3, stays),
  ];
  const runs = [run('a', `read seen, written w, read no ${OTHER}, deleted ${PATH}`)];
  const known = await knownOf(sightings, runs, { leaves });
  expect(await itemByItem(versionsAt(known, PATH))).toEqual(['own', 'gone', 'left', 'came', 'seen', 'w']);
});

describe('the turns of a tenant', () => {
  const traceOf = (turn: string) => ({ turn, list: [], unlisted: 0 });
  const said = { messages: [], text: '' };
  const answer = (fields: object) => encodeFields({ ...said, outcome: 'answered', ...fields });
  const progress = (fields: object) => encodeFields({ ...said, usage: {}, ...fields });

  it('are read from their answers, and from receipts that have none, in the order of their times', async () => {
    const site = await createSite();
    const client = await site.client({ keepsHistory: true });
    await client.tree.create(PATH, bytes('text'), { actor: 'ann' });
    const work = await client.open();
    const before = site.time.clock();
    const records: readonly (readonly ['answers' | 'receipts', string, Uint8Array])[] = [
      ['answers', 'z', answer({ trace: traceOf('first') })],
      ['answers', 'b', answer({ trace: traceOf('third') })],
      ['answers', 'old', answer({})],
      ['answers', 'bad', encodeFields({})],
      ['receipts', 'a', progress({ trace: { ...traceOf('second'), follows: 'z' } })],
      ['receipts', 'b', progress({ trace: traceOf('answered') })],
      ['receipts', 'c', progress({ trace: traceOf('fourth') })],
      ['receipts', 'gone', progress({ trace: traceOf('gone') })],
      ['receipts', 'count', encodeFields({ tokens: 1 })],
      ['receipts', 'young', progress({})],
      ['receipts', 'worse', encodeFields({})],
    ];
    for (const [index, [cls, id, content]] of records.entries()) {
      await putRecord(work, cls, id, content);
      if (index === 0) await site.time.pause(1);
    }
    const gone = classKey(client.layout, 'receipts', 'gone');
    client.intercept(async (call, proceed) => {
      if (call.verb === 'get' && call.key === gone) await site.base.delete([{ key: gone }]);
      return proceed();
    });
    const known = await readKnown(work);
    expect(known.turns).toEqual({
      runs: [
        { ...traceOf('first'), id: 'z', time: before, isAnswered: true },
        { ...traceOf('second'), follows: 'z', id: 'a', time: before + 1, isAnswered: false },
        { ...traceOf('third'), id: 'b', time: before + 1, isAnswered: true },
        { ...traceOf('fourth'), id: 'c', time: before + 1, isAnswered: false },
      ],
      untraced: 1,
      damaged: ['bad', 'worse'],
    });
    expect([...known.actors]).toEqual([[known.writerOf('ann'), 'ann']]);
    expect([...known.past.files.keys()]).toEqual([PATH]);
    expect(known.keptSince).toBe(site.time.clock() - 15 * 86_400_000);
    client.intercept((call, proceed) =>
      call.verb === 'get' ? Promise.reject(new MemoryError('unavailable', 'not now')) : proceed(),
    );
    await expect(readTurnRuns(work)).rejects.toMatchObject({ code: 'unavailable' });
  });

  it('counts by the time of the store for how long turns are kept, where its clock is off by hours', async () => {
    const site = await createSite();
    const storeTime = site.time.clock;
    for (const hours of [-47, 0, 47]) {
      const clock = (): number => storeTime() + hours * 3_600_000;
      const stamps = { now: storeTime, storeTime, observe: () => {}, skew: () => hours * 3_600_000 };
      const client = await site.client({ clock, stamps });
      expect((await readKnown(await client.open())).keptSince).toBe(storeTime() - 15 * 86_400_000);
    }
  });
});
