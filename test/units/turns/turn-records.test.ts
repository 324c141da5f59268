import { describe, expect, it } from 'vitest';
import { encodeText } from '../../../src/language/text.ts';
import { encodeFields } from '../../../src/tree/records/sealed-record.ts';
import {
  encodeReceipt,
  parseAnswer,
  parseConversation,
  parseCount,
  parseProgress,
  parsePrompt,
  parseReceipt,
  parseSaved,
  parseStoredText,
  RECEIPT_BYTES,
  type Receipt,
} from '../../../src/turns/turn-records.ts';
import { describeRecords } from '../../format/describe-records.ts';

const integrity = expect.objectContaining({ code: 'integrity' });
const TRACE = { turn: 't', list: [], unlisted: 0 };
/** Values that are neither missing nor a text. */
const NO_TEXTS: readonly unknown[] = [null, 0, true, [], {}];
/** Values that are neither missing nor an object. */
const NO_OBJECTS: readonly unknown[] = [null, 0, true, '', []];

describeRecords('receipts/turn', parseReceipt);
describeRecords('receipts/progress', parseProgress);
describeRecords('receipts/tokens', parseCount);
describeRecords('conversations/prompt', parsePrompt);

describe('a stored text', () => {
  it.each([
    [{ text: 'a' }, { text: 'a' }],
    [{ text: '' }, { text: '' }],
    [{ record: 'r' }, { record: 'r' }],
    [{ record: '', more: 1 }, { record: '' }],
  ])('is found in %j', (value, stored) => {
    expect(parseStoredText(value)).toStrictEqual(stored);
  });

  it.each([undefined, null, 1, 'a', [], {}, { text: 'a', record: 'r' }, { text: 1 }, { record: 1 }])(
    'is not found in %j',
    (value) => {
      expect(parseStoredText(value)).toBeUndefined();
    },
  );

  it.each([
    { text: 'a', record: 1 },
    { text: 1, record: 'r' },
    { text: null, record: 'r' },
  ])('is no mixture, as %j', (value) => {
    expect(parseStoredText(value)).toBeUndefined();
  });
});

describe('a receipt', () => {
  const progress = { text: '{}' };

  it.each<Receipt>([
    { state: 'running', message: 'm', owner: 'o', leaseMs: 1 },
    { state: 'running', message: '', owner: '', leaseMs: 0, progress },
    { state: 'free', message: 'm' },
    { state: 'running', message: 'm', owner: 'o', leaseMs: 1, attempts: 1 },
    { state: 'free', message: 'm', progress: { record: 'r' } },
    { state: 'free', message: 'm', progress, attempts: 9 },
    { state: 'done', message: 'm' },
  ])('is read as it was written: %j', (receipt) => {
    expect(parseReceipt(encodeReceipt(receipt))).toStrictEqual(receipt);
  });

  it('keeps of its fields those of its state', () => {
    const fields = { message: 'm', owner: 'o', leaseMs: 1, progress, attempts: 2, more: 1 };
    const read = (state: string) => parseReceipt(encodeFields({ state, ...fields }));
    expect(read('done')).toStrictEqual({ state: 'done', message: 'm' });
    expect(read('free')).toStrictEqual({ state: 'free', message: 'm', progress, attempts: 2 });
    expect(read('running')).toStrictEqual({
      state: 'running',
      message: 'm',
      owner: 'o',
      leaseMs: 1,
      progress,
      attempts: 2,
    });
  });

  it.each([
    { state: 'done' },
    { state: 'done', message: 1 },
    { state: 'free', message: 'm', progress: {} },
    { state: 'free', message: 'm', progress: null },
    { state: 'free', message: 'm', attempts: -1 },
    { state: 'running', message: 'm', owner: 'o', leaseMs: 1, attempts: '1' },
    { state: 'paused', message: 'm', owner: 'o', leaseMs: 1 },
    { message: 'm', owner: 'o', leaseMs: 1 },
    { state: 'running', message: 'm', leaseMs: 1 },
    { state: 'running', message: 'm', owner: 1, leaseMs: 1 },
    { state: 'running', message: 'm', owner: 'o' },
    { state: 'running', message: 'm', owner: 'o', leaseMs: 0.5 },
  ])('is never %j', (fields) => {
    expect(() => parseReceipt(encodeFields(fields))).toThrow(integrity);
  });

  it('has 65,536 bytes at most', () => {
    expect(RECEIPT_BYTES).toBe(65_536);
  });
});

describe('a count of tokens', () => {
  it.each([0, 1, Number.MAX_SAFE_INTEGER])('is %i', (tokens) => {
    expect(parseCount(encodeFields({ tokens }))).toEqual({ tokens, reserved: 0, until: 0 });
  });

  it('tells what is reserved, and until when', () => {
    const count = { tokens: 1, reserved: 2, until: 3 };
    expect(parseCount(encodeFields(count))).toEqual(count);
  });

  it.each([
    ...[{}, { tokens: -1 }, { tokens: '1' }, { tokens: null }],
    ...[
      { tokens: 1, reserved: -1 },
      { tokens: 1, reserved: null },
      { tokens: 1, until: '3' },
    ],
  ])('is not in %j', (fields) => {
    expect(() => parseCount(encodeFields(fields))).toThrow(integrity);
  });

  it('is not in what holds no fields', () => {
    expect(() => parseCount(encodeText('[]'))).toThrow(integrity);
  });
});

/** Cases in which one field has another value. */
function changing(field: string, values: readonly unknown[]): readonly Readonly<Record<string, unknown>>[] {
  return values.map((value) => ({ [field]: value }));
}

describe('an answer', () => {
  const answer = { outcome: 'answered', messages: [], text: '' };

  it.each([
    {},
    ...changing('outcome', ['answered', 'refused', 'truncated', 'too_large']),
    ...changing('reason', ['', 'r']),
    ...changing('model', ['', 'm']),
    ...changing('digest', ['', 'd']),
    ...changing('usage', [{}, { outputTokens: 1 }]),
    ...changing('trace', [TRACE]),
    ...changing('more', [null, 1]),
  ])('may have %j', (fields) => {
    expect(parseAnswer(encodeFields({ ...answer, ...fields }))).toEqual({ ...answer, ...fields });
  });

  it.each([
    ...changing('outcome', [undefined, ...NO_TEXTS, '', 'done', 'Answered']),
    ...changing('messages', [undefined, null, 0, '', {}]),
    ...changing('text', [undefined, ...NO_TEXTS]),
    ...changing('digest', NO_TEXTS),
    ...changing('reason', NO_TEXTS),
    ...changing('model', NO_TEXTS),
    ...changing('usage', NO_OBJECTS),
    ...changing('trace', [...NO_OBJECTS, {}]),
  ])('has never %j', (fields) => {
    expect(() => parseAnswer(encodeFields({ ...answer, ...fields }))).toThrow(integrity);
  });

  it('is not what holds no fields', () => {
    expect(() => parseAnswer(encodeText('[]'))).toThrow(integrity);
  });
});

describe('a progress', () => {
  const progress = { messages: [], text: '', usage: {} };
  const pending = { reply: { content: [] }, key: 'k', since: 1 };

  it.each([
    {},
    ...changing('version', [0, 1]),
    ...changing('digest', ['', 'd']),
    ...changing('usage', [{ outputTokens: 1 }]),
    ...changing('trace', [TRACE]),
    ...changing('pending', [pending, { ...pending, more: 1 }]),
    ...changing('more', [null, 1]),
  ])('may have %j', (fields) => {
    expect(parseProgress(encodeFields({ ...progress, ...fields }))).toEqual({ ...progress, ...fields });
  });

  const malformed = [
    ...changing('messages', [undefined, null, 0, '', {}]),
    ...changing('text', [undefined, ...NO_TEXTS]),
    ...changing('digest', NO_TEXTS),
    ...changing('usage', [undefined, ...NO_OBJECTS]),
    ...changing('version', [null, -1, 0.5, '1', {}]),
    ...changing('trace', [...NO_OBJECTS, {}]),
    ...changing('pending', [
      ...NO_OBJECTS,
      {},
      { ...pending, reply: {} },
      { ...pending, key: 1 },
      { ...pending, since: -1 },
    ]),
  ];

  it.each(malformed)('has never %j', (fields) => {
    const content = encodeFields({ ...progress, ...fields });
    expect(() => parseProgress(content)).toThrow(integrity);
    expect(() => parseSaved(content)).toThrow(integrity);
  });

  it('is found in a record of its own, and in a receipt that holds it', () => {
    expect(parseSaved(encodeFields(progress))).toEqual(progress);
    const text = JSON.stringify(progress);
    const running = { state: 'running', message: 'm', owner: 'o', leaseMs: 1 } as const;
    expect(parseSaved(encodeReceipt({ ...running, progress: { text } }))).toEqual(progress);
    expect(parseSaved(encodeReceipt({ state: 'free', message: 'm', progress: { text } }))).toEqual(progress);
  });

  it.each([
    { tokens: 1 },
    { tokens: 1, state: 'paused' },
    { state: 'free', message: 'm' },
    { state: 'free', message: 'm', progress: { record: 'r' } },
    { state: 'done', message: 'm', progress: { text: '{}' } },
    { state: 'running', message: 'm', owner: 'o', leaseMs: 1 },
  ])('lies elsewhere, or is missing, where a record holds %j', (fields) => {
    expect(parseSaved(encodeFields(fields))).toBeUndefined();
  });

  it.each([
    {},
    { tokens: -1 },
    { state: 'paused', message: 'm' },
    { state: 'free' },
    { state: 'free', message: 'm', progress: { text: '{}' } },
    { state: 'free', message: 'm', progress: { text: '' } },
  ])('is damaged where a record holds %j', (fields) => {
    expect(() => parseSaved(encodeFields(fields))).toThrow(integrity);
  });

  it('is damaged where a record holds no fields', () => {
    expect(() => parseSaved(encodeText('[]'))).toThrow(integrity);
  });
});

it.each([[[]], [[0xff]], [[0xed, 0xa0, 0x80]]])('a prompt is never the bytes %j', (bytes) => {
  expect(() => parsePrompt(Uint8Array.from(bytes))).toThrow(integrity);
});

describe('the body of a conversation', () => {
  const last = { turn: 't', from: 0, answer: { text: '' } };

  it('is read with every field of the answer, and no other field', () => {
    const answer = { text: 'a', outcome: 'answered', more: 1 };
    const messages = [{ role: 'user' }];
    const content = encodeFields({ messages, last: { turn: 't', from: 3, answer, more: 1 }, more: 1 });
    expect(parseConversation(content)).toStrictEqual({ messages, last: { turn: 't', from: 3, answer } });
  });

  it.each([
    { last },
    { messages: {}, last },
    { messages: [] },
    { messages: [], last: null },
    { messages: [], last: { ...last, turn: undefined } },
    { messages: [], last: { ...last, turn: 1 } },
    { messages: [], last: { ...last, from: undefined } },
    { messages: [], last: { ...last, from: -1 } },
    { messages: [], last: { ...last, answer: undefined } },
    { messages: [], last: { ...last, answer: {} } },
    { messages: [], last: { ...last, answer: { text: 1 } } },
  ])('is never %j', (fields) => {
    expect(() => parseConversation(encodeFields(fields))).toThrow(integrity);
  });

  it('is not what holds no fields', () => {
    expect(() => parseConversation(encodeText('[]'))).toThrow(integrity);
  });
});
