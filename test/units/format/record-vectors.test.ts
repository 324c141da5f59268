import { describe, expect, it } from 'vitest';
import {
  decodeHead as decodeCheckpoint,
  decodePart,
} from '../../../src/admin/checkpoints/checkpoint-record.ts';
import { decodeMarks } from '../../../src/admin/expiry/expire-files.ts';
import { decodeExpired } from '../../../src/admin/expiry/history-note.ts';
import { decodeVersions } from '../../../src/admin/keys/migrated-versions.ts';
import { hasCode } from '../../../src/errors.ts';
import { toBase64url } from '../../../src/format/encoding.ts';
import { classKey } from '../../../src/format/object-keys.ts';
import { decodeActor } from '../../../src/history/save/actors.ts';
import { decodePage } from '../../../src/sessions/page.ts';
import { inTurns } from '../../../src/time.ts';
import { readRecord, writeRecord } from '../../../src/tree/records/sealed-record.ts';
import { readRegister } from '../../../src/tree/rename/register.ts';
import { parseHead } from '../../../src/turns/conversation-head.ts';
import { parseCount, parseProgress, parsePrompt, parseReceipt } from '../../../src/turns/turn-records.ts';
import { decodeConversation } from '../../../src/worker/leases/conversation.ts';
import { decodeAnswer } from '../../../src/worker/turn/turn-answer.ts';
import { added, fromHex } from '../../format/format-vectors.ts';
import { createSite } from '../../stage/test-tree.ts';

/**
 * What src finds in the content of a record, as the vectors tell it; undefined, or a failure, for what is malformed.
 */
type Reader = (content: Uint8Array) => unknown;

const READERS: Readonly<Record<string, Reader>> = {
  actors: (content) => ({ actor: decodeActor(content) }),
  answers: decodeAnswer,
  sessions: (content) => {
    const page = decodePage(content);
    return { ...page, lines: page.lines.map(({ text }) => text) };
  },
  'conversations/head': parseHead,
  'conversations/body': decodeConversation,
  'conversations/prompt': parsePrompt,
  'receipts/turn': parseReceipt,
  'receipts/progress': parseProgress,
  'receipts/tokens': (content) => ({ tokens: parseCount(content) }),
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

describe.each(added.records.filter(({ kind }) => kind in READERS))(
  'the vectors of records $kind',
  ({ kind, accept, refuse }) => {
    const read = async (content: string): Promise<unknown> => READERS[kind]?.(fromHex(content));

    it('are read', async () => {
      for (const { content, record } of accept) {
        const found = expect(await read(content), content);
        // What nobody named may be there as well.
        if (typeof record === 'object') found.toMatchObject(record ?? {});
        else found.toBe(record);
      }
    });

    it('are refused as damaged where they are malformed', async () => {
      for (const content of refuse) {
        const found = await read(content).catch((error: unknown) => {
          if (!hasCode(error, 'integrity')) throw error;
        });
        expect(found, Buffer.from(content, 'hex').toString()).toBeUndefined();
      }
    });
  },
);

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
  const unread = added.records.map(({ kind }) => kind).filter((kind) => !(kind in READERS));
  expect(unread).toEqual(['access']);
});

/** A record of each kind whose arrays have a bound, with that many elements. */
const BOUNDED: readonly (readonly [kind: string, most: number, record: (count: number) => object])[] = [
  ['journal/expiry', 20_000, (count) => ({ marks: repeated(count, (at) => [hashLike(at), '', 0]) })],
  ['journal/swept', 60_000, (count) => ({ versions: repeated(count, (at) => [String(at), '', 0, 0]) })],
  ['answers', 2_000, (count) => ({ outcome: 'answered', text: '', messages: [], trace: traceOf(count) })],
  ['receipts/progress', 2_000, (count) => ({ messages: [], text: '', usage: {}, trace: traceOf(count) })],
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
