import { beforeAll, describe, expect, it } from 'vitest';
import { toBase64url } from '../../../../src/format/encoding.ts';
import { loadSodium } from '../../../../src/format/sodium.ts';
import { NO_ID } from '../../../../src/format/wrap.ts';
import { type Collector, createCollector } from '../../../../src/history/past/collect.ts';
import { encodeHistoryRecord, type HistoryRecord } from '../../../../src/history/save/history-record.ts';
import { at, bytes } from '../../../stage/test-tree.ts';

const [A, B] = [at('/memories/d/a'), at('/memories/e/a')];
const id = (byte: number): Uint8Array => new Uint8Array(16).fill(byte);
const named = (byte: number): string => toBase64url(id(byte));
const [V, U, ANN, BOB] = [1, 2, 8, 9];

interface Facts {
  readonly path?: typeof A;
  readonly bound?: bigint;
  readonly previous?: Uint8Array;
  readonly writer?: Uint8Array;
  readonly origin?: Uint8Array;
  readonly text?: string;
}

function addFile(collector: Collector, byte: number, facts: Facts = {}): void {
  const { path = A, bound = 3n, previous = NO_ID, writer = NO_ID, origin = NO_ID, text = 'text' } = facts;
  const file = {
    id: id(byte),
    mtime: 7,
    bound,
    previous,
    writer,
    origin,
    content: bytes(text),
    drawnUnder: 1,
  };
  collector.addFile(path, file as unknown as Parameters<Collector['addFile']>[1]);
}

/** A version as a record tells of it. */
const VERSION = { path: A, id: id(V), mtime: 7, bound: 3n, previous: id(U), writer: id(ANN), size: 4 };
const REPLACED = { kind: 'replaced', at: 5, by: id(BOB), version: VERSION, text: bytes('text') } as const;
const DELETED = { kind: 'deleted', at: 5, by: id(BOB), files: [[A, id(V), 3n]] } as const;
const MOVED = {
  kind: 'moved',
  ...{ at: 5, by: NO_ID, from: at('/memories/d'), to: at('/memories/e') },
  files: [
    [A, id(V), 3n],
    [at('/memories/d'), id(U), 2n],
  ],
} as const;

const recordId = (event: string): string => `${'h'.repeat(43)}_${'0'.repeat(11)}_${event}`;

function add(collector: Collector, record: HistoryRecord, event = 'eventAAA'): boolean {
  return collector.addRecord(recordId(event), encodeHistoryRecord(record));
}

describe('a collector', () => {
  beforeAll(loadSodium);

  it('makes of a file a version, and the binding that lies at its path', async () => {
    const collector = createCollector();
    addFile(collector, V, { previous: id(U), writer: id(ANN) });
    const { versions, files, leaves, damaged } = await collector.past();
    expect([...versions.values()]).toStrictEqual([
      {
        ...{ id: named(V), path: A, bound: 3n, mtime: 7, size: 4, previous: named(U), writer: named(ANN) },
        ...{ text: 'current', record: undefined, textHash: expect.stringMatching(/^[\w-]{43}$/) },
      },
    ]);
    expect([...files]).toStrictEqual([
      [A, { id: named(V), path: A, bound: 3n, isThere: true, isRenamed: false, saved: undefined }],
    ]);
    expect(leaves).toEqual([]);
    expect(damaged).toEqual({ records: [], files: [], versions: new Set() });
  });

  it('knows a file that a rename of a directory brought by its origin', async () => {
    const collector = createCollector();
    addFile(collector, V, { origin: id(9) });
    addFile(collector, U, { path: B });
    const { files } = await collector.past();
    expect([...files.values()].map(({ isRenamed }) => isRenamed)).toEqual([true, false]);
  });

  it('takes the last reading of a file, whole or not', async () => {
    const collector = createCollector();
    const told = async () => {
      const { files, damaged } = await collector.past();
      return [[...files.values()].map((file) => file.id), damaged.files];
    };
    addFile(collector, V);
    addFile(collector, U);
    expect(await told()).toEqual([[named(U)], []]);
    collector.addDamagedFile(A);
    expect(await told()).toEqual([[], [A]]);
    addFile(collector, V);
    expect(await told()).toEqual([[named(V)], []]);
    collector.removeFile(A);
    expect(await told()).toEqual([[], []]);
    collector.addDamagedFile(A);
    collector.addDamagedFile(B);
    collector.removeFile(A);
    expect(await told()).toEqual([[], [B]]);
  });

  it('tells equal texts from others by their hashes', async () => {
    const collector = createCollector();
    addFile(collector, V);
    addFile(collector, U, { path: B, text: 'other' });
    add(collector, { ...REPLACED, version: { ...VERSION, id: id(3) } });
    const { versions } = await collector.past();
    const [v, u, w] = [V, U, 3].map((each) => versions.get(named(each))?.textHash);
    expect(w).toBe(v);
    expect(u).not.toBe(v);
  });

  it('makes of a record a version that was saved, as it says', async () => {
    const collector = createCollector();
    expect(add(collector, { ...REPLACED, for: 'delete' })).toBe(true);
    const past = await collector.past();
    const record = recordId('eventAAA');
    expect([...past.versions.values()]).toStrictEqual([
      {
        ...{ id: named(V), path: A, bound: 3n, mtime: 7, size: 4, previous: named(U), writer: named(ANN) },
        ...{ text: 'kept', record, textHash: expect.stringMatching(/^[\w-]{43}$/) },
      },
    ]);
    expect(past.bindings(named(V))).toStrictEqual([
      {
        id: named(V),
        path: A,
        bound: 3n,
        isThere: false,
        isRenamed: false,
        saved: { record, at: 5, for: 'delete' },
      },
    ]);
  });

  it('makes of a redacted record a version without a text, and names who took it out', async () => {
    const collector = createCollector();
    const { text: _, ...rest } = REPLACED;
    expect(add(collector, { ...rest, kind: 'redacted' })).toBe(true);
    const past = await collector.past();
    const record = recordId('eventAAA');
    expect([...past.versions.values()]).toStrictEqual([
      {
        ...{ id: named(V), path: A, bound: 3n, mtime: 7, size: 4, previous: named(U), writer: named(ANN) },
        ...{ text: 'redacted', record, textHash: undefined, redacted: { at: 5, by: named(BOB) } },
      },
    ]);
    expect(past.bindings(named(V))).toMatchObject([{ saved: { record, at: undefined, for: undefined } }]);
  });

  it('makes leaves of deletes and renames, by their events', async () => {
    const collector = createCollector();
    expect(add(collector, DELETED, 'deleteAA')).toBe(true);
    expect(add(collector, MOVED, 'renameAA')).toBe(true);
    const facts = { at: 5, lastAt: 5 };
    const [gone, planned, moved] = [
      { ...facts, id: named(V), from: A, bound: 3n, by: named(BOB), event: 'deleteAA', to: undefined },
      { ...facts, id: named(V), from: A, bound: 3n, by: undefined, event: 'renameAA', to: B },
      {
        ...{ ...facts, id: named(U), from: at('/memories/d'), bound: 2n, by: undefined },
        ...{ event: 'renameAA', to: at('/memories/e') },
      },
    ];
    expect([...collector.leaves()]).toStrictEqual([
      { ...gone, isPlanned: false },
      { ...planned, isPlanned: true },
      { ...moved, isPlanned: false },
    ]);
    expect((await collector.past()).leaves).toStrictEqual([
      { ...gone, state: 'done' },
      { ...planned, state: 'undone' },
      { ...moved, state: 'done' },
    ]);
  });

  it('names damaged records, those that do not open and those that are malformed', async () => {
    const collector = createCollector();
    collector.addDamagedRecord('unopened');
    expect(collector.addRecord('malformed', bytes('{}'))).toBe(false);
    expect((await collector.past()).damaged.records).toEqual(['unopened', 'malformed']);
  });

  it('takes a binding from another source, whose text is gone', async () => {
    const collector = createCollector();
    const seen = { id: 'v', path: A, bound: 3n, mtime: 7, size: 4, previous: 'u', writer: 'ann' };
    collector.addSeen(seen);
    const past = await collector.past();
    expect([...past.versions.values()]).toStrictEqual([
      { ...seen, text: 'gone', record: undefined, textHash: undefined },
    ]);
    expect(past.files.size).toBe(0);
  });

  it.each<readonly [what: string, add: (collector: Collector) => void]>([
    ['a file', (collector) => addFile(collector, V)],
    ['a damaged file', (collector) => collector.addDamagedFile(A)],
    ['a file that is gone', (collector) => collector.removeFile(A)],
    ['a record', (collector) => add(collector, REPLACED)],
    ['a damaged record', (collector) => collector.addDamagedRecord('r')],
    [
      'a binding',
      (collector) =>
        collector.addSeen({
          id: 'v',
          path: A,
          bound: 3n,
          mtime: 7,
          size: 4,
          previous: undefined,
          writer: undefined,
        }),
    ],
  ])('makes another past once it was given %s', async (_, give) => {
    const collector = createCollector();
    const before = await collector.past();
    expect(await collector.past()).toBe(before);
    give(collector);
    expect(await collector.past()).not.toBe(before);
  });
});
