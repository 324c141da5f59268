import { describe, expect, it } from 'vitest';
import {
  listReadsAndTurns,
  MOST_MARKS,
  outdatedAccess,
  outdatedTurns,
  readMarks,
  writeMarks,
} from '../../../../src/admin/expiry/expiry-records.ts';
import type { MigratedVersions } from '../../../../src/admin/keys/migrated-versions.ts';
import type { ObjectKey } from '../../../../src/format/object-keys.ts';
import type { ETag, ListedObject } from '../../../../src/store/port.ts';
import {
  accessRecordId,
  createAccessRecords,
  parseAccessRecordId,
} from '../../../../src/tree/records/access-records.ts';
import { encodeFields } from '../../../../src/tree/records/sealed-record.ts';
import { putRecord } from '../../../support/key-operator.ts';
import { at, bytes, createSite } from '../../../support/test-tree.ts';

const DAY = 86_400_000;
const FILE = 'f'.repeat(43);
const NOW = Date.UTC(2026, 5, 1);
const UNMIGRATED: MigratedVersions = { writtenVersion: (object) => object };

function object(name: string, lastModified = 0): ListedObject {
  return { key: name as ObjectKey, etag: `"${name}"` as ETag, size: 1, lastModified };
}

describe('records of reads', () => {
  it('count to the end of their day, and are listed by the server’s clock', async () => {
    const site = await createSite();
    const work = await (await site.client({ clock: () => 0 })).open();
    for (const day of ['2025-12-30', '2025-12-31', '2025-13-45']) {
      await putRecord(work, 'access', accessRecordId({ day, file: FILE }), bytes(''));
    }
    await putRecord(work, 'access', `2025-12-31_${FILE}f`, bytes(''));
    const { now, lastRead, access } = await listReadsAndTurns(work);
    expect(now).toBe(site.time.clock());
    expect([...lastRead]).toEqual([[FILE, Date.UTC(2026, 0, 1)]]);
    expect(access).toHaveLength(2);
  });

  it('go when they are too old to matter, or a newer one is there, and not before', () => {
    const read = (name: string, dayEnds: number) => ({ object: object(name), file: name[0] ?? '', dayEnds });
    const access = [
      read('a1', NOW - 2 * DAY),
      read('a2', NOW - DAY),
      read('b1', NOW - 30 * DAY),
      read('c1', NOW - 30 * DAY - 1),
    ];
    const lastRead = new Map(access.map(({ file, dayEnds }) => [file, dayEnds]));
    const records = { access, lastRead, now: NOW, receipts: new Map(), answers: new Map() };
    expect(outdatedAccess(records, 30).map(({ key }) => key)).toEqual(['a1', 'c1']);
    expect(outdatedAccess(records).map(({ key }) => key)).toEqual(['a1']);
  });

  it('have the id of a day and 43 characters, and nothing else has', () => {
    expect(parseAccessRecordId(`2026-01-01_${FILE}`)).toEqual({ day: '2026-01-01', file: FILE });
    for (const id of [`2026-01-01_${FILE}f`, `x2026-01-01_${FILE}`, `2026-01-01_${FILE.slice(1)}`]) {
      expect(parseAccessRecordId(id)).toBeUndefined();
    }
  });

  it('are written once for many readers at once, of whom one may cancel', async () => {
    const site = await createSite();
    const client = await site.client();
    const work = await client.open();
    const records = createAccessRecords();
    client.calls.length = 0;
    const abort = new AbortController();
    const first = records.record({ ...work, call: { signal: abort.signal } }, at('/memories/a'));
    abort.abort();
    await Promise.all([first, records.record(work, at('/memories/a'))]);
    expect(client.calls.map(({ verb }) => verb)).toEqual(['put']);
  });
});

describe('receipts and answers', () => {
  it('go when more than so many days have passed, an answer only with its receipt', () => {
    const old = NOW - 30 * DAY - 1;
    const receipts = new Map([
      ['old', object('old', old)],
      ['edge', object('edge', NOW - 30 * DAY)],
      ['kept', object('kept', NOW)],
    ]);
    const answers = new Map(
      ['old', 'edge', 'kept', 'alone'].map((id) => [id, object(`answer of ${id}`, old)] as const),
    );
    const records = { access: [], lastRead: new Map(), now: NOW, receipts, answers };
    const turns = outdatedTurns(records, 30, UNMIGRATED);
    expect(turns.receipts.map(({ key }) => key)).toEqual(['old']);
    expect(turns.answers.map(({ key }) => key)).toEqual(['answer of old', 'answer of alone']);
    const young = new Map([['old', object('young', NOW - 30 * DAY)]]);
    expect(outdatedTurns({ ...records, answers: young }, 30, UNMIGRATED).answers).toEqual([]);
  });
});

describe('marks', () => {
  it.each([
    {},
    { marks: 'x' },
    { marks: [1] },
    { marks: [[1, 'e', 1]] },
    { marks: [['f', 1, 1]] },
    { marks: [['f', 'e', '1']] },
  ])('that are malformed are refused: %j', async (fields) => {
    const work = await (await (await createSite()).client()).open();
    await putRecord(work, 'journal', 'expiry', encodeFields(fields));
    await expect(readMarks(work)).rejects.toMatchObject({ code: 'integrity' });
  });

  it('are read as they were written, twenty thousand at most', async () => {
    const work = await (await (await createSite()).client()).open();
    const mark = (n: number) =>
      [`${`${n}`.padStart(42, 'f')}A`, { etag: `"${n}"` as ETag, since: n }] as const;
    const marks = new Map(Array.from({ length: MOST_MARKS + 1 }, (_, n) => mark(n)));
    await writeMarks(work, marks, undefined);
    const stored = await readMarks(work);
    expect(MOST_MARKS).toBe(20_000);
    expect([...stored.marks]).toEqual([...marks].slice(0, MOST_MARKS));
  });

  it('are not written over those of another run', async () => {
    const work = await (await (await createSite()).client()).open();
    await writeMarks(work, new Map(), undefined);
    const { etag } = await readMarks(work);
    await writeMarks(work, new Map(), etag);
    for (const base of [undefined, etag]) {
      await expect(writeMarks(work, new Map(), base)).rejects.toMatchObject({ code: 'unavailable' });
    }
  });
});
