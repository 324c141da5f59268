import { describe, expect, it } from 'vitest';
import { classKey } from '../../../src/format/object-keys.ts';
import { encodeFields, writeRecord } from '../../../src/tree/records/sealed-record.ts';
import {
  type ConversationHead,
  encodeHead,
  HEAD_BYTES,
  NO_HEAD,
  parseHead,
  readHead,
} from '../../../src/turns/conversation-head.ts';
import { describeRecords } from '../../format/describe-records.ts';
import { describeOnBothKinds } from '../../stage/test-tree.ts';

const HELD = { turn: 't2', owner: 'o', leaseMs: 60_000 };
const integrity = expect.objectContaining({ code: 'integrity' });

describeRecords('conversations/head', parseHead);

describe('the head of a conversation', () => {
  it.each<readonly [string, ConversationHead]>([
    ['no turn', { version: 0 }],
    ['no turn, and a hold', { version: 0, held: HELD }],
    ['a turn', { version: 1, turn: 't', content: { text: '{}' } }],
    ['a turn, and a hold', { version: 2, turn: '', content: { record: 'r' }, held: HELD }],
    ['a hold of no time', { version: 0, held: { ...HELD, leaseMs: 0 } }],
  ])('is read as it was written, with %s', (_, head) => {
    expect(parseHead(encodeHead(head))).toStrictEqual(head);
  });

  it('keeps of its fields those that it knows', () => {
    const fields = {
      version: 1,
      more: 1,
      held: { ...HELD, more: 1 },
      turn: 't',
      content: { text: '', more: 1 },
    };
    expect(parseHead(encodeFields(fields))).toStrictEqual({
      version: 1,
      turn: 't',
      content: { text: '' },
      held: HELD,
    });
  });

  it.each([
    [{}],
    [{ version: '1' }],
    [{ version: 1, turn: 't' }],
    [{ version: 1, content: { text: '' } }],
    [{ version: 1, turn: 1, content: { text: '' } }],
    [{ version: 1, turn: 't', content: {} }],
    [{ version: 1, content: 1 }],
    [{ version: 1, held: {} }],
    [{ version: 1, held: null }],
    [{ version: 1, held: { ...HELD, turn: 1 } }],
    [{ version: 1, held: { ...HELD, owner: 1 } }],
    [{ version: 1, held: { ...HELD, leaseMs: -1 } }],
  ])('is never %j', (fields) => {
    expect(() => parseHead(encodeFields(fields))).toThrow(integrity);
  });
});

describeOnBothKinds('the head of a conversation in the store', (newSite) => {
  const id = 'h'.repeat(44);

  it('is read by one request, and is empty where there is none', async () => {
    const client = await (await newSite()).client();
    const work = await client.open();
    client.calls.length = 0;
    expect(await readHead(work, id)).toBe(NO_HEAD);
    expect(NO_HEAD).toStrictEqual({ version: 0 });
    const key = classKey(client.layout, 'conversations', id);
    expect(client.calls).toEqual([{ verb: 'get', key }]);
  });

  it('has 65,536 bytes at most', async () => {
    const work = await (await (await newSite()).client()).open();
    const write = async (length: number, name: string): Promise<void> => {
      const text = 'x'.repeat(length - encodeHead({ version: 1, turn: 't', content: { text: '' } }).length);
      const content = encodeHead({ version: 1, turn: 't', content: { text } });
      expect(content).toHaveLength(length);
      await writeRecord(work, { cls: 'conversations', id: name }, { content, base: undefined });
    };
    await write(HEAD_BYTES, 'most');
    await write(HEAD_BYTES + 1, 'more');
    expect(HEAD_BYTES).toBe(65_536);
    expect(await readHead(work, 'most')).toMatchObject({ version: 1, turn: 't' });
    await expect(readHead(work, 'more')).rejects.toMatchObject({ code: 'limit_exceeded' });
  });
});
