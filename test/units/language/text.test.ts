import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  countLineBreaks,
  decodeText,
  encodeText,
  endOfLine,
  findInLines,
  LONGEST_TEXT,
  lineBreaksOf,
  lineStartAt,
  linesFrom,
  searchFor,
  startOfLine,
  startOfText,
} from '../../../src/language/text.ts';

describe('decodeText', () => {
  it('gives back what encodeText made, a byte order mark and CRLF included', () => {
    const text = '\ufeffa\r\nb\u0000é👩‍💻';
    expect(decodeText(encodeText(text))).toBe(text);
    expect(encodeText('\ufeff')).toEqual(Uint8Array.of(0xef, 0xbb, 0xbf));
  });

  it.each([[[0xff]], [[0xc0, 0xae]], [[0xed, 0xa0, 0x80]], [[0x61, 0xe2, 0x82]]])(
    'answers undefined for the bytes %j, which are not UTF-8',
    (bytes) => {
      expect(decodeText(Uint8Array.from(bytes))).toBeUndefined();
    },
  );
});

describe('decodeText of more than a string can hold', () => {
  const limit = 2 ** 29 - 24;

  it('says that the text is too large, not that it is none', () => {
    const text = new Uint8Array(limit + 1);
    const refusal = { limit: 'text_bytes', value: limit + 1, max: limit };
    expect(() => decodeText(text)).toThrow(
      expect.objectContaining({ code: 'limit_exceeded', details: refusal }),
    );
    text[0] = 0xff;
    expect(decodeText(text)).toBeUndefined();
  });

  it('has the limit of strings', () => {
    expect(LONGEST_TEXT).toBe(limit);
    expect(() => 'x'.repeat(limit + 1)).toThrow(RangeError);
    expect('x'.repeat(limit)).toHaveLength(limit);
  });
});

describe('startOfText', () => {
  it('never cuts a surrogate pair', () => {
    expect(startOfText('a😀b', 2)).toBe('a');
    expect(startOfText('a😀b', 3)).toBe('a😀');
    expect(startOfText('ab', 2)).toBe('ab');
    expect(startOfText('ab', 1)).toBe('a');
    expect(startOfText('ab', 0)).toBe('');
    expect(startOfText('', 1)).toBe('');
    expect(['\ud7ff', '\ud800', '\udbff', '\udc00'].map((unit) => startOfText(`${unit}b`, 1).length)).toEqual(
      [1, 0, 0, 1],
    );
    // A half that ends the text is cut from nothing.
    expect(startOfText('a\ud800', 2)).toBe('a\ud800');
  });
});

describe('lines', () => {
  /** Lines of which some end near the place from which they are looked for, and some far behind it. */
  const texts = [
    '',
    '\n',
    '\n\n',
    'a',
    'a\n',
    'a\r\nb\r\n',
    ...[6, 7, 8, 9, 20].map((length) => {
      const line = 'x'.repeat(length);
      return `${line}\n${line}\r\n\n${line}`;
    }),
  ];

  it.each(texts)('of %j are found from each place', (text) => {
    for (let at = 0; at <= text.length; at++) {
      const next = text.indexOf('\n', at);
      expect(endOfLine(text, at)).toBe(next === -1 ? text.length : next);
      expect(lineStartAt(text, at)).toBe(text.slice(0, at).lastIndexOf('\n') + 1);
      expect([...linesFrom(text, at)]).toEqual(text.slice(at).split('\n'));
      for (let to = at; to <= text.length; to++) {
        expect(countLineBreaks(text, at, to)).toBe(text.slice(at, to).split('\n').length - 1);
      }
    }
    expect(countLineBreaks(text)).toBe(text.split('\n').length - 1);
    const lines = text.split('\n');
    for (const line of lines.keys()) {
      const before = lines.slice(0, line).map((each) => `${each}\n`);
      expect(startOfLine(text, line + 1)).toBe(before.join('').length);
    }
  });

  it.each([
    ['', 0, 0],
    ['a', 0, 0],
    ['\n', 1, 0],
    ['\r\n', 1, 1],
    ['a\r\nb\n\r\n\r', 3, 2],
    [`${'x'.repeat(20)}\r\n${'x'.repeat(20)}\n`, 2, 1],
  ])('of %j end in %i line feeds, %i of them behind a carriage return', (text, all, crlf) => {
    expect(lineBreaksOf(text)).toEqual({ all, crlf });
  });
});

describe('findInLines', () => {
  const run = (text: string) => {
    const given: (readonly [string, number])[] = [];
    const steps = findInLines(text, (line, number) => {
      given.push([line, number]);
      return number % 2 === 0 ? undefined : number;
    });
    for (let count = 0; ; count++) {
      const step = steps.next();
      if (step.done === true) return { given, found: step.value, count };
    }
  };

  it.each([
    ['', []],
    ['\n', ['']],
    ['a', ['a']],
    ['a\n', ['a']],
    ['a\n\nb', ['a', '', 'b']],
    ['a\n\n', ['a', '']],
  ])('asks of %j about its lines, and keeps what is answered', (text, lines) => {
    const { given, found } = run(text);
    expect(given).toEqual(lines.map((line, index) => [line, index + 1]));
    expect(found).toEqual(lines.flatMap((_, index) => (index % 2 === 0 ? [index + 1] : [])));
  });

  it.each([
    ['x'.repeat(16_382), 1, 0],
    ['x'.repeat(16_383), 1, 1],
    ['x'.repeat(16_382), 2, 1],
    ['x'.repeat(16_383), 3, 3],
    ['x'.repeat(8_191), 2, 1],
    ['x'.repeat(8_190), 3, 1],
    ['x'.repeat(8_191), 5, 2],
  ])('lets others run behind every 16,384 characters', (line, lines, count) => {
    expect(run(`${line}\n`.repeat(lines)).count).toBe(count);
  });
});

describe('searchFor', () => {
  const piece = fc
    .tuple(fc.constantFrom('a', 'ab', 'aab', 'x\n', '😀'), fc.nat({ max: 300 }))
    .map(([text, times]) => text.repeat(times));
  const pieces = fc.array(piece, { maxLength: 4 }).map((all) => all.join(''));

  it('finds what indexOf finds, from wherever it begins', () => {
    fc.assert(
      fc.property(pieces, pieces, pieces, fc.nat(900), fc.boolean(), (before, part, after, from, isThere) => {
        if (part === '') return;
        const text = isThere ? before + part + after : before + after;
        expect(searchFor(part)(text, from)).toBe(text.indexOf(part, from));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each<readonly [title: string, text: string, part: (length: number) => string]>([
    ['one character', 'a', (length) => `${'a'.repeat(length)}b${'a'.repeat(length)}`],
    ['lines', `${'-'.repeat(79)}\n`, (length) => `${'-'.repeat(79)}\n`.repeat(length / 80).concat('!')],
    ['an end', `b${'a'.repeat(199)}`, (length) => `b${'a'.repeat(length)}`],
  ])('takes no longer for a long repetition of %s than for a short one', (_, unit, part) => {
    const text = unit.repeat(262_144 / unit.length);
    const fastest = (length: number): number => {
      const search = searchFor(part(length));
      const times = Array.from({ length: 10 }, () => {
        const before = performance.now();
        expect(search(text, 0)).toBe(-1);
        return performance.now() - before;
      });
      return Math.min(...times);
    };
    // A hundred times as much, where every character is compared with every other.
    expect(fastest(32_000) / fastest(320)).toBeLessThan(20);
  });
});
