import { describe, expect, it } from 'vitest';
import {
  ancestorsOf,
  isValidSegment,
  isWithin,
  joinPath,
  MEMORY_ROOT,
  parseGivenPath,
  parseMemoryPath,
  parseStoredPath,
  rebase,
  refuseTooDeep,
  segmentsOf,
} from '../../../src/language/path.ts';
import { watchProcessor } from '../../stage/measures.ts';

/** A path of so many segments. */
const deep = (segments: number): string => `/memories${'/a'.repeat(segments)}`;

function ruleOf(text: string): unknown {
  try {
    parseMemoryPath(text);
  } catch (error) {
    return (error as { details: Record<string, unknown> }).details['rule'];
  }
  return undefined;
}

describe('parseMemoryPath', () => {
  it.each([
    ['/memories', '/memories'],
    ['/memories/', '/memories'],
    ['/memories//', '/memories'],
    ['/memories/a.txt', '/memories/a.txt'],
    ['/memories//a///b.txt/', '/memories/a/b.txt'],
    ['/memories/.hidden', '/memories/.hidden'],
    ['/memories/...', '/memories/...'],
    ['/memories/a..b', '/memories/a..b'],
    ['/memories/with space & +?#~', '/memories/with space & +?#~'],
    ['/memories/100% sure', '/memories/100% sure'],
    ['/memories/50%25', '/memories/50%25'],
    ['/memories/%41%7e%2', '/memories/%41%7e%2'],
    ['/memories/%c0%ae', '/memories/%c0%ae'],
    ['/memories/می\u200cخواهم', '/memories/می\u200cخواهم'],
    ['/memories/👩\u200d💻', '/memories/👩\u200d💻'],
    ['/memories/unassigned\u0378', '/memories/unassigned\u0378'],
    ['/memories/e\u0301.md', '/memories/\u00e9.md'],
  ])('takes %j as %j', (text, path) => {
    expect(parseMemoryPath(text)).toBe(path);
  });

  it.each([
    '',
    '/',
    'memories',
    'memories/a',
    '//memories/a',
    '/Memories/a',
    '/memories_evil/a',
    '/memoriesfoo',
    '/memories\\a',
    '/memories\u0301/a',
    ' /memories',
    '\ufeff/memories',
    '/etc/passwd',
    '../memories/a',
    '/memories%2fa',
  ])('refuses %j as outside /memories', (text) => {
    expect(ruleOf(text)).toBe('outside_root');
  });

  it.each([
    ['/memories/..', 'parent_segment'],
    ['/memories/../etc/passwd', 'parent_segment'],
    ['/memories/a/../b', 'parent_segment'],
    ['/memories/..\\..\\a', 'parent_segment'],
    ['/memories/.', 'dot_segment'],
    ['/memories/./a', 'dot_segment'],
    ['/memories/a\\b', 'backslash'],
    ['/memories/a\ud800b', 'lone_surrogate'],
    ['/memories/\udc00', 'lone_surrogate'],
  ])('refuses %j by the rule %s', (text, rule) => {
    expect(ruleOf(text)).toBe(rule);
  });

  it.each([
    '\u0000',
    '\n',
    '\t',
    '\u001b',
    '\u007f',
    '\u0085',
    '\u00ad',
    '\u061c',
    '\u200b',
    '\u200e',
    '\u202e',
    '\u2028',
    '\u2029',
    '\u2060',
    '\u2066',
    '\ufeff',
    '\ufff9',
    '\u{e0041}',
  ])('refuses the character %j and names its code point', (character) => {
    const code = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
    expect(() => parseMemoryPath(`/memories/a${character}b`)).toThrow(
      expect.objectContaining({
        code: 'invalid_path',
        details: { rule: 'forbidden_character', character: code },
      }),
    );
  });

  it.each([
    '%2e',
    '%2E%2e',
    '%2e%2e%2fetc',
    '..%2f..',
    'a%2Fb',
    'a%5cb',
    'a%5Cb',
    'a%00',
    '%252e%252e',
    '%25252e',
    '%252525255C',
    '%25%32%65',
    '%%32e',
    '%%32%65',
    '%2%65',
    'a%2500',
  ])('refuses %j, which decodes to a dot, slash, backslash or NUL', (segment) => {
    expect(ruleOf(`/memories/${segment}`)).toBe('percent_encoded');
  });

  it('allows 143 bytes of UTF-8 after NFC in a segment and refuses 144', () => {
    expect(parseMemoryPath(`/memories/${'x'.repeat(143)}`)).toHaveLength(153);
    expect(parseMemoryPath(`/memories/${'e\u0301'.repeat(71)}x`)).toBe(`/memories/${'\u00e9'.repeat(71)}x`);
    expect(() => parseMemoryPath(`/memories/${'é'.repeat(72)}`)).toThrow(
      expect.objectContaining({ details: { rule: 'segment_too_long', value: 144, max: 143 } }),
    );
  });

  it('takes a path of any number of segments that a key has room for', () => {
    expect(parseMemoryPath(deep(512))).toBe(deep(512));
    expect(() => parseMemoryPath(deep(513))).toThrow(
      expect.objectContaining({ details: { rule: 'too_many_segments', value: 513, max: 20 } }),
    );
  });

  it('keeps the path out of the error message', () => {
    expect(() => parseMemoryPath('/memories/../secret')).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
  });

  it('judges a path of a million characters in no time', () => {
    expect(ruleOf(`/memories/${'%25'.repeat(350_000)}`)).toBe('segment_too_long');
    expect(parseMemoryPath(`/memories${'/'.repeat(1_000_000)}a`)).toBe('/memories/a');
    const taken = watchProcessor();
    expect(ruleOf(`/memories/a${'\u0315\u0300'.repeat(80_000)}`)).toBe('segment_too_long');
    expect(taken()).toBeLessThan(2_000);
  });

  it('brings every text to NFC that could be short enough in it', () => {
    const given = 'U\u0308\u0304'.repeat(71);
    expect(parseMemoryPath(`/memories/${given}`)).toBe(`/memories/${'\u01d5'.repeat(71)}`);
    expect(mostUnitsPerByte()).toBe(1.5);
  });
});

/** UTF-16 units of the longest way to write a character, by the bytes of UTF-8 that it has in NFC. */
function mostUnitsPerByte(): number {
  const characters = Array.from({ length: 0x110000 }, (_, code) => code)
    .filter((code) => code < 0xd800 || code > 0xdfff)
    .map((code) => String.fromCodePoint(code));
  const longest = new Map<string, number>();
  for (const character of characters) {
    const apart = character.normalize('NFD');
    if (apart === character || [...apart].length > 1) continue;
    longest.set(apart, Math.max(longest.get(apart) ?? apart.length, character.length));
  }
  let most = 0;
  for (const character of characters.filter((one) => one.normalize('NFC') === one)) {
    const parts = [...character.normalize('NFD')].map((part) => longest.get(part) ?? part.length);
    const units = parts.reduce((sum, part) => sum + part, 0);
    most = Math.max(most, units / new TextEncoder().encode(character).length);
  }
  return most;
}

describe('refuseTooDeep', () => {
  const refused = (path: string, from?: string): unknown => {
    try {
      refuseTooDeep(parseMemoryPath(path), from === undefined ? undefined : parseMemoryPath(from));
    } catch (error) {
      return (error as { details: unknown }).details;
    }
    return undefined;
  };

  it('allows 20 segments and refuses 21', () => {
    expect(refused(deep(20))).toBeUndefined();
    expect(refused(deep(21))).toEqual({ rule: 'too_many_segments', value: 21, max: 20 });
  });

  it('lets what is renamed stay as deep as it is', () => {
    expect(refused(deep(22), deep(22))).toBeUndefined();
    expect(refused(deep(22), deep(23))).toBeUndefined();
    expect(refused(deep(22), deep(21))).toEqual({ rule: 'too_many_segments', value: 22, max: 20 });
    expect(refused(deep(21), deep(3))).toEqual({ rule: 'too_many_segments', value: 21, max: 20 });
  });
});

describe('parseGivenPath', () => {
  it.each([
    ['/memories/e\u0301.md', '/memories/e\u0301.md'],
    ['/memories//u\u0308//a/', '/memories/u\u0308/a'],
    ['/memories/', '/memories'],
    // In NFC alone it is short enough.
    [`/memories/${'e\u0301'.repeat(71)}`, `/memories/${'\u00e9'.repeat(71)}`],
    // In NFC it is too long.
    [`/memories/${'\u0958'.repeat(47)}`, `/memories/${'\u0958'.repeat(47)}`],
  ])('takes %j as %j', (text, path) => {
    expect(parseGivenPath(text)).toBe(path);
  });

  it.each(['/memories/../a', '/memoriesx', '/memories/e\u0301\0'])('refuses %j', (text) => {
    expect(() => parseGivenPath(text)).toThrow(expect.objectContaining({ code: 'invalid_path' }));
  });
});

describe('parseStoredPath', () => {
  it.each(['/memories', '/memories/a', '/memories/e\u0301/b', deep(21)])('takes %j as it is', (text) => {
    expect(parseStoredPath(text)).toBe(text);
  });

  it.each([
    '',
    '/',
    '/memories/',
    '/memories//a',
    '/memories/a/',
    '/memoriesx/a',
    '/memories/../a',
    'memories/a',
  ])('knows no path in %j', (text) => {
    expect(parseStoredPath(text)).toBeUndefined();
  });
});

describe('isValidSegment', () => {
  it.each(['a', '.hidden', 'node_modules', 'é', 'e\u0301', 'unassigned\u0378', 'x'.repeat(143)])(
    'accepts %j',
    (segment) => {
      expect(isValidSegment(segment)).toBe(true);
    },
  );

  it.each(['', '.', '..', 'a/b', 'a\\b', 'a\0', 'a\nb', '%2e%2e', '\ufeffa', '\ud800', 'x'.repeat(160)])(
    'rejects %j',
    (segment) => {
      expect(isValidSegment(segment)).toBe(false);
    },
  );
});

describe('paths', () => {
  const path = parseMemoryPath('/memories/a/b/c.txt');

  it('have segments after the root', () => {
    expect(segmentsOf(path)).toEqual(['a', 'b', 'c.txt']);
    expect(segmentsOf(MEMORY_ROOT)).toEqual([]);
  });

  it('are joined from segments', () => {
    expect(joinPath(MEMORY_ROOT, 'a', 'b', 'c.txt')).toBe(path);
    expect(joinPath(MEMORY_ROOT)).toBe(MEMORY_ROOT);
  });

  it('have the directories between them and the root as ancestors, the nearest last', () => {
    expect(ancestorsOf(path)).toEqual(['/memories/a', '/memories/a/b']);
    expect(ancestorsOf(parseMemoryPath('/memories/a'))).toEqual([]);
    expect(ancestorsOf(MEMORY_ROOT)).toEqual([]);
  });

  it('lie within a directory only below a slash', () => {
    expect(isWithin(path, parseMemoryPath('/memories/a'))).toBe(true);
    expect(isWithin(path, MEMORY_ROOT)).toBe(true);
    expect(isWithin(path, path)).toBe(false);
    expect(isWithin(parseMemoryPath('/memories/ab'), parseMemoryPath('/memories/a'))).toBe(false);
  });

  it('move with the directory above them', () => {
    const [from, to] = [parseMemoryPath('/memories/a'), parseMemoryPath('/memories/x/y')];
    expect(rebase(path, from, to)).toBe('/memories/x/y/b/c.txt');
    expect(rebase(from, from, to)).toBe(to);
  });
});
