import { describe, expect, it } from 'vitest';
import {
  boundIn,
  bytesIn,
  idIn,
  numberIn,
  pathIn,
  timeIn,
} from '../../../../src/tree/records/record-values.ts';

const ID_TEXT = 'AwMDAwMDAwMDAwMDAwMDAw';
const NO_VALUES = [undefined, null, true, [], {}, [1], ['a']];

describe('a value of a record', () => {
  it.each([0, 1, 2 ** 53 - 1])('is a number: %d', (number) => {
    expect(numberIn(number)).toBe(number);
  });

  it.each([...NO_VALUES, '1', -1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY])(
    'is no number: %j',
    (value) => {
      expect(numberIn(value)).toBeUndefined();
    },
  );

  it.each([
    [0, 0],
    [8.64e15, 8.64e15],
    [8.64e15 + 1, undefined],
    [-1, undefined],
    ['0', undefined],
    [undefined, undefined],
  ])('is a time as long as a date can be: %j', (value, time) => {
    expect(timeIn(value)).toBe(time);
  });

  it.each([
    ['', 0, []],
    ['Aw', 1, [3]],
    ['Aw', 2, undefined],
    ['AwM', 1, undefined],
    ['AwM', 2, [3, 3]],
    ['Aw==', 1, undefined],
    ['A*', 1, undefined],
    [3, 1, undefined],
    [undefined, 0, undefined],
  ])('is base64url of as many bytes: %j, %i', (value, length, bytes) => {
    expect(bytesIn(value, length)).toEqual(bytes && Uint8Array.from(bytes));
  });

  it('is an id of exactly 16 bytes', () => {
    expect(idIn(ID_TEXT)).toEqual(new Uint8Array(16).fill(3));
    for (const value of [...NO_VALUES, 7, ID_TEXT.slice(0, 20), `${ID_TEXT.slice(0, 20)}AwMD`])
      expect(idIn(value)).toBeUndefined();
  });

  it.each(['0', '1', '10', '9', '9223372036854775806', '9223372036854775807'])('is a bound: %s', (text) => {
    expect(boundIn(text)).toBe(BigInt(text));
  });

  it.each([
    ...NO_VALUES,
    1,
    '',
    '-1',
    '+1',
    '01',
    '00',
    ' 1',
    '1 ',
    '1\n',
    'x1',
    '1x',
    '1.0',
    '0x1',
    '9223372036854775808',
    '10000000000000000000',
  ])('is no bound: %j', (value) => {
    expect(boundIn(value)).toBeUndefined();
  });

  it.each(['/memories', '/memories/a', '/memories/日本/b'])('is a path: %s', (text) => {
    expect(pathIn(text)).toBe(text);
  });

  it.each([...NO_VALUES, 7, '', '/', 'memories/a', '/memories/', '/memories/../a', '/memoriesX/a'])(
    'is no path: %j',
    (value) => {
      expect(pathIn(value)).toBeUndefined();
    },
  );
});
