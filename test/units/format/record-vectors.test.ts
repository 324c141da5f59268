import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  decodeHead as decodeCheckpoint,
  decodePart,
} from '../../../src/admin/checkpoints/checkpoint-record.ts';
import { decodeMarks } from '../../../src/admin/expiry/expire-files.ts';
import { decodeExpired } from '../../../src/admin/expiry/history-note.ts';
import { decodeVersions } from '../../../src/admin/keys/migrated-versions.ts';
import { toBase64url } from '../../../src/format/encoding.ts';
import { classKey } from '../../../src/format/object-keys.ts';
import { decodeActor } from '../../../src/history/save/actors.ts';
import { inTurns } from '../../../src/time.ts';
import { readRecord, writeRecord } from '../../../src/tree/records/sealed-record.ts';
import { readRegister } from '../../../src/tree/rename/register.ts';
import { decodeConversation } from '../../../src/worker/leases/conversation.ts';
import { decodeAnswer } from '../../../src/worker/turn/turn-answer.ts';
import { describeRecords, type RecordReader } from '../../format/describe-records.ts';
import { added, fromHex } from '../../format/format-vectors.ts';
import { createSite } from '../../stage/test-tree.ts';

const READERS: Readonly<Record<string, RecordReader>> = {
  actors: (content) => ({ actor: decodeActor(content) }),
  answers: decodeAnswer,
  'conversations/body': decodeConversation,
  'journal/register': async (content) => {
    const work = await (await (await createSite()).client()).open();
    await writeRecord(work, { cls: 'journal', id: 'register' }, { content, base: undefined });
    const { entry } = await readRegister(work);
    if (entry === undefined) return { phase: 'idle' };
    const { id, by, ...rest } = entry;
    return { ...rest, id: toBase64url(id), ...(by && { by: toBase64url(by) }) };
  },
  'journal/expiry': (content) => ({
    marks: [...decodeMarks(content)].map(([file, { etag, since }]) => [file, etag, since]),
  }),
  'journal/swept': (content) => ({
    versions: [...decodeVersions(content)].map(([made, { etag, lastModified, since }]) => [
      ...[made, etag, lastModified, since],
    ]),
  }),
  'journal/history': (content) => ({ expiredBefore: decodeExpired(content) }),
  'checkpoints/head': (content) => {
    const head = decodeCheckpoint(content);
    return head && { ...head, secret: toBase64url(head.secret) };
  },
  'checkpoints/part': async (content) => {
    const entries = await inTurns(decodePart(content));
    return entries?.map(({ path, id, bound, mtime, size, previous, writer, etag, textHash, note }) => [
      ...[path, id, String(bound), mtime, size, previous, writer, etag, textHash, note],
    ]);
  },
};

/** The suites beside the code of other records, in which their vectors are read. */
const READ_ELSEWHERE: Readonly<Record<string, string>> = {
  sessions: 'test/units/sessions/page.test.ts',
  'conversations/head': 'test/units/turns/conversation-head.test.ts',
  'conversations/prompt': 'test/units/turns/turn-records.test.ts',
  'receipts/turn': 'test/units/turns/turn-records.test.ts',
  'receipts/progress': 'test/units/turns/turn-records.test.ts',
  'receipts/tokens': 'test/units/turns/turn-records.test.ts',
};

for (const [kind, reader] of Object.entries(READERS)) describeRecords(kind, reader);

it.each(added.openedTombstones)(
  'the vectors of tombstones that are opened: $bytes is $answer where writers make them: $makesTombstones',
  async ({ bytes, makesTombstones, answer }) => {
    const site = await createSite(makesTombstones ? 'unguarded' : 'guarded');
    const work = await (await site.client()).open();
    const name = { cls: 'answers', id: 'one', maxBytes: 1_024 } as const;
    await site.base.put(classKey(work.tenant.layout, name.cls, name.id), fromHex(bytes), {
      mode: 'overwrite',
    });
    const found = readRecord(work, name);
    if (answer === 'absent') expect(await found).toBeUndefined();
    else await expect(found).rejects.toMatchObject({ code: answer });
  },
);

it('the vectors of records are read by kind, but for those whose names say everything', () => {
  const isRead = (kind: string): boolean =>
    kind in READERS ||
    (kind in READ_ELSEWHERE &&
      readFileSync(READ_ELSEWHERE[kind] ?? '', 'utf8').includes(`describeRecords('${kind}', `));
  const unread = added.records.map(({ kind }) => kind).filter((kind) => !isRead(kind));
  expect(unread).toEqual(['access']);
});

/** A record of each kind whose arrays have a bound, with that many elements. */
const BOUNDED: readonly (readonly [kind: string, most: number, record: (count: number) => object])[] = [
  ['journal/expiry', 20_000, (count) => ({ marks: repeated(count, (at) => [hashLike(at), '', 0]) })],
  ['journal/swept', 60_000, (count) => ({ versions: repeated(count, (at) => [String(at), '', 0, 0]) })],
  ['answers', 2_000, (count) => ({ outcome: 'answered', text: '', messages: [], trace: traceOf(count) })],
];

const repeated = <T>(count: number, make: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => make(at));

const hashLike = (at: number): string => toBase64url(new Uint8Array(32).fill(at & 255).fill(at >> 8, 1));

const traceOf = (count: number): object => ({
  turn: 't',
  unlisted: 0,
  list: repeated(count, () => ({ kind: 'deleted', path: '' })),
});

it.each(BOUNDED)('%s has at most %i elements in its array', async (kind, most, record) => {
  const read = async (count: number): Promise<unknown> =>
    READERS[kind]?.(new TextEncoder().encode(JSON.stringify(record(count))));
  expect(await read(most)).toBeDefined();
  await expect(read(most + 1)).rejects.toMatchObject({ code: 'integrity' });
});
