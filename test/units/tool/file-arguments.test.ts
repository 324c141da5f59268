import { describe, expect, it } from 'vitest';
import { MEMORY_ROOT, parseMemoryPath } from '../../../src/language/path.ts';
import { bytesOf, pathOf, placeWithin, refuseTooLarge, versionOf } from '../../../src/tool/file-arguments.ts';

const refused = (code = 'invalid_command') => expect.objectContaining({ name: 'MemoryError', code });

describe('the path of a call', () => {
  it.each([undefined, null, 5, ['/memories/a'], new String('/memories/a')])('is no %o', (path) => {
    expect(() => pathOf(path)).toThrow(refused());
  });

  it('is read as it was given', () => {
    expect(pathOf('/memories/e\u0301')).toBe('/memories/e\u0301');
    expect(() => pathOf('/elsewhere')).toThrow(refused('invalid_path'));
  });
});

describe('the path behind which a list begins', () => {
  const directory = parseMemoryPath('/memories/a');

  it.each(['/memories/a/b', '/memories/a/b/c'])('lies below that of the list: %s', (after) => {
    expect(placeWithin(directory, after)).toBe(after);
    expect(placeWithin(MEMORY_ROOT, after)).toBe(after);
  });

  it.each(['/memories/ab', '/memories', '/memories/b/a', 5])('is not beside or above it: %s', (after) => {
    expect(() => placeWithin(directory, after)).toThrow(refused());
  });
});

describe('the version of a mode', () => {
  it.each(['a', '"a"', '0.9+/=_-Z', 'x'.repeat(128), `"${'x'.repeat(128)}"`])('may be %s', (ifUnchanged) => {
    expect(versionOf({ ifUnchanged })).toBe(ifUnchanged);
  });

  it.each(['', '""', '*', 'a b', 'a\n', '\na', ' a', 'a;', 'x'.repeat(129), 5, undefined, ['a']])(
    'is not %j',
    (ifUnchanged) => {
      expect(() => versionOf({ ifUnchanged })).toThrow(refused());
    },
  );

  it.each(['replace', undefined, null, 5, {}])('is in no mode like %o', (mode) => {
    expect(() => versionOf(mode)).toThrow(refused());
  });
});

describe('the content of a write', () => {
  it('is copied, so that its caller may change it', () => {
    const given = Uint8Array.of(1, 2, 3);
    const taken = bytesOf(given, 3);
    given.fill(9);
    expect(taken).toEqual(Uint8Array.of(1, 2, 3));
  });

  it('is a text in UTF-8, whose bytes the tree counts', () => {
    expect(bytesOf('aé', 2)).toEqual(Uint8Array.of(97, 0xc3, 0xa9));
    expect(bytesOf('', 0)).toEqual(new Uint8Array(0));
  });

  it.each([
    ['text', 'abcd'],
    ['array', new Uint8Array(4)],
  ])('is refused above the limit as %s', (_, content) => {
    expect(bytesOf(content, 4)).toHaveLength(4);
    expect(() => bytesOf(content, 3)).toThrow(
      expect.objectContaining({ code: 'limit_exceeded', details: { limit: 'file_bytes', value: 4, max: 3 } }),
    );
  });

  it.each(['\ud800', 'a\udc00b', 5, null, undefined, [1, 2], new ArrayBuffer(2), { length: 1 }])(
    'is refused where it is neither a well-formed text nor bytes: %o',
    (content) => {
      expect(() => bytesOf(content, 9)).toThrow(refused());
    },
  );

  it('may be as large as the limit, and not a byte more', () => {
    expect(() => refuseTooLarge(5, 5)).not.toThrow();
    expect(() => refuseTooLarge(6, 5)).toThrow(refused('limit_exceeded'));
  });
});
