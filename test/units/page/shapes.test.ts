import { describe, expect, it } from 'vitest';
import { QUESTIONS } from '../../../src/page/protocol.ts';
import { either, flag, list, number, optional, record, text, word } from '../../../src/page/shapes.ts';

describe('a shape', () => {
  it('is had by a value of JSON, or is not', () => {
    const shape = record({ name: text, size: optional(number), marks: list(flag), kind: word('a', 'b') });
    const right = { name: '', marks: [], kind: 'a' };
    for (const value of [right, { ...right, size: 0, marks: [true, false] }, { ...right, more: 1 }]) {
      expect(shape(value)).toBe(true);
    }
    for (const value of [
      ...[undefined, null, 'a', 1, [], {}],
      ...[
        { ...right, name: null },
        { ...right, size: null },
        { ...right, size: '1' },
      ],
      ...[
        { ...right, marks: {} },
        { ...right, marks: [1] },
        { ...right, kind: 'c' },
        { name: '', marks: [] },
      ],
    ]) {
      expect(shape(value)).toBe(false);
    }
    const numbers = either(number, list(number));
    expect([1, [1], '1', ['1']].map(numbers)).toEqual([true, true, false, false]);
  });

  it('is of every result, line by line', () => {
    const { result, line } = QUESTIONS.search;
    expect(result({ files: 1, lines: 1, unread: 0, isCut: false })).toBe(true);
    expect(result({ files: 1, lines: 1, unread: 0 })).toBe(false);
    expect(line({ path: '/memories/a', line: 1, text: 'a' })).toBe(true);
    expect(line({ done: 1, total: 2 })).toBe(true);
    expect(line({ done: 1 })).toBe(false);
  });
});
