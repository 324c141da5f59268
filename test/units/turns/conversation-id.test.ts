import { beforeAll, describe, expect, it } from 'vitest';
import { createNames, type Names } from '../../../src/format/names.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { bodyId, headId, parseConversationId, promptId } from '../../../src/turns/conversation-id.ts';
import { added, fromHex, input } from '../../format/format-vectors.ts';

const { recordIds } = added;
const HASH = `-_09azAZ${'h'.repeat(35)}`;
const RANDOM = '-_09azAZ-_09azAZ';

describe('the ids of conversations', () => {
  let names: Names;
  beforeAll(async () => {
    await loadSodium();
    names = createNames({ mode: 'encrypted', nameKey: input('NK') });
  });

  it.each(recordIds.conversations)(
    'of $conversation are those of the vectors, and are parsed to its head',
    ({ conversation, random, head, body }) => {
      expect(headId(names, conversation)).toBe(head);
      expect(bodyId(head, Buffer.from(fromHex(random)).toString('base64url'))).toBe(body);
      expect(parseConversationId(head)).toEqual({ kind: 'head', head });
      expect(parseConversationId(body)).toEqual({ kind: 'body', head });
    },
  );

  it.each(recordIds.prompts)(
    'of the prompt of turn $turn in $conversation are those of the vectors',
    ({ conversation, turn, id }) => {
      expect(promptId(names, { conversation, turn })).toBe(id);
      expect(parseConversationId(id)).toEqual({ kind: 'prompt' });
    },
  );

  it('of a prompt are the same whether its conversation is missing or null, and others with one', () => {
    const alone = promptId(names, { turn: 't' });
    expect(promptId(names, { conversation: null, turn: 't' })).toBe(alone);
    expect(promptId(names, { conversation: undefined, turn: 't' })).toBe(alone);
    expect(promptId(names, { conversation: '', turn: 't' })).not.toBe(alone);
    expect(promptId(names, { turn: 'u' })).not.toBe(alone);
  });
});

describe('parseConversationId', () => {
  it.each([
    [`h${HASH}`, { kind: 'head', head: `h${HASH}` }],
    [`b${HASH}${RANDOM}`, { kind: 'body', head: `h${HASH}` }],
    [`p${HASH}`, { kind: 'prompt' }],
  ])('tells what %s is', (id, parsed) => {
    expect(parseConversationId(id)).toEqual(parsed);
  });

  const longer = (id: string): readonly string[] => [
    `${id}a`,
    id.slice(0, -1),
    `a${id}`,
    `${id}\n`,
    `\n${id}`,
  ];
  const foreign = (id: string): readonly string[] => [id.slice(1), `x${id.slice(1)}`, id.replace('-', '.')];
  it.each([
    ...[`h${HASH}`, `b${HASH}${RANDOM}`, `p${HASH}`].flatMap((id) => [...longer(id), ...foreign(id)]),
    ...['', 'h', 'b', 'p', `H${HASH}`, `h${HASH}${RANDOM}`, `p${HASH}${RANDOM}`, `b${HASH}`],
    `b${HASH}${RANDOM.replace('_', '.')}`,
  ])('takes %j for no id of a conversation', (id) => {
    expect(parseConversationId(id)).toBeUndefined();
  });
});
