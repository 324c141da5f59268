import { expect, it } from 'vitest';
import { decodeFields, encodeFields } from '../../../../src/tree/records/sealed-record.ts';
import { bytes } from '../../../stage/test-tree.ts';

it('the content of a record is one JSON object', () => {
  const fields = { text: 'ä', list: [1, null], nested: {} };
  expect(decodeFields(encodeFields(fields))).toEqual(fields);
  expect(decodeFields(bytes('{}'))).toEqual({});
});

it.each(['', 'null', '[]', '[{}]', '"text"', '1', 'true', '{', '{} {}'])(
  'the content of a record is never %j',
  (text) => {
    expect(decodeFields(bytes(text))).toBeUndefined();
  },
);

it('the content of a record is UTF-8', () => {
  expect(decodeFields(Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d))).toBeUndefined();
});
