import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { isValidSegment } from '../../src/memory/path.ts';
import { fromBase64url, toBase64url } from '../../src/sealing/base64.ts';
import { concat, u32, utf8 } from '../../src/sealing/encoding.ts';
import { createNames, type Names } from '../../src/sealing/names.ts';
import { childTweak, ROOT_TWEAK } from '../../src/sealing/segment-cipher.ts';
import { deriveKey, hash, loadSodium } from '../../src/sealing/sodium.ts';
import { added, applyOps, expand, format1, fromHex, input, toHex } from '../support/format-vectors.ts';

beforeAll(loadSodium);

const encrypted = (key = 'NK'): Names => createNames({ mode: 'encrypted', nameKey: input(key) });
const plain = (): Names => createNames({ mode: 'plain', nameKey: input('NK') });

const segment = fc.string({ minLength: 1, maxLength: 40, unit: 'binary' }).filter(isValidSegment);
const segments = fc.array(segment, { minLength: 1, maxLength: 4 });

describe('encrypted names', () => {
  it.each(format1.names)('write $segment in $dir as $text', ({ dir, segment: given, t, text, child }) => {
    const name = expand(given);
    const encoded = encrypted().encodeSegments([...dir, name]);
    expect(encoded.slice(encoded.lastIndexOf('/') + 1)).toBe(text);
    expect(encrypted().decodeRelative(dir, text)).toEqual([name]);
    expect(encrypted().decodeRelative([], encoded)).toEqual([...dir, name]);
    expect([toHex(tweakOf(dir)), toHex(tweakOf([...dir, name]))]).toEqual([t, child]);
  });

  it.each(format1.foreign)('take $id for foreign: $what', ({ dir, text }) => {
    expect(encrypted().decodeRelative(dir, text)).toBeUndefined();
  });

  it.each(format1.foreign.filter(({ of }) => of !== undefined))(
    'are attacked in $id by the change it tells of',
    ({ of: [dir, name] = [[], ''], NK = 'NK', ops = [], text }) => {
      const encoded = encrypted(NK).encodeSegments([...dir, name]);
      expect(changeText(encoded.slice(encoded.lastIndexOf('/') + 1), ops)).toBe(text);
    },
  );

  it.each(format1.foreign.filter(({ p }) => p !== undefined))(
    'are attacked in $id by somebody who holds the name key',
    ({ dir, p = '', text }) => {
      expect(forgeText(tweakOf(dir), fromHex(p))).toBe(text);
    },
  );

  it('are foreign as a whole when one segment is', () => {
    const names = encrypted();
    const text = names.encodeSegments(['notes', 'a.txt']);
    const [notes, file] = text.split('/');
    for (const broken of [
      '',
      '/',
      `${text}/`,
      `/${text}`,
      `${notes}//${file}`,
      `${file}/${notes}`,
      `${notes}/x`,
    ]) {
      expect(names.decodeRelative([], broken)).toBeUndefined();
    }
    expect(names.decodeRelative([], text)).toEqual(['notes', 'a.txt']);
  });

  it('say the same before and after a directory was met', () => {
    const names = encrypted();
    const [directory, file] = [names.encodeSegments(['a']), names.encodeSegments(['a', 'b'])];
    expect(file.startsWith(`${directory}/`)).toBe(true);
    expect(names.decodeRelative(['a'], file.slice(directory.length + 1))).toEqual(['b']);
    expect([names.encodeSegments(['a']), names.encodeSegments(['a', 'b'])]).toEqual([directory, file]);
    expect(encrypted().decodeRelative(['a'], file.slice(directory.length + 1))).toEqual(['b']);
    expect(names.encodeSegments([])).toBe('');
  });

  it('stay right when more directories were met than are remembered', () => {
    const names = encrypted();
    const before = names.encodeSegments(['first', 'file']);
    for (let index = 0; index < 20_100; index++) names.encodeSegments([`directory ${index}`, 'file']);
    expect(names.encodeSegments(['first', 'file'])).toBe(before);
    expect(names.decodeRelative(['first'], before.split('/')[1] ?? '')).toEqual(['file']);
  });

  it('come back as they were', () => {
    fc.assert(
      fc.property(segments, (path) => {
        const names = encrypted();
        expect(names.decodeRelative([], names.encodeSegments(path))).toEqual(path);
        const [first = '', ...rest] = path;
        const below = names.encodeSegments(path).slice(names.encodeSegments([first]).length + 1);
        expect(names.decodeRelative([first], below)).toEqual(rest.length === 0 ? undefined : rest);
      }),
      { numRuns: 300 },
    );
  });

  it('are injective', () => {
    const short = fc.array(fc.constantFrom('a', 'b', 'aa', 'a\u0301', 'á'), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(short, short, (left, right) => {
        const names = encrypted();
        const same = left.join('/') === right.join('/');
        expect(names.encodeSegments(left) === names.encodeSegments(right)).toBe(same);
      }),
      { numRuns: 300 },
    );
  });

  it('hide which names of different directories are equal', () => {
    const names = encrypted();
    const last = (path: readonly string[]) => names.encodeSegments(path).split('/').at(-1);
    expect(new Set([last(['x']), last(['a', 'x']), last(['b', 'x']), last(['a', 'a', 'x'])]).size).toBe(4);
  });

  it('show the length of a name in steps of 16 bytes only', () => {
    const names = encrypted();
    const lengths = Array.from(
      { length: 159 },
      (_, index) => names.encodeSegments(['x'.repeat(index + 1)]).length,
    );
    expect([lengths[0], lengths[14], lengths[15], lengths[158]]).toEqual([43, 43, 64, 235]);
    expect(new Set(lengths).size).toBe(10);
  });
});

describe('plain names', () => {
  it('stand as they are', () => {
    expect(plain().encodeSegments(['café', '日本.md'])).toBe('café/日本.md');
    expect(plain().decodeRelative(['café'], '日本/a b.md')).toEqual(['日本', 'a b.md']);
  });

  it.each(added.plainForeign)('take %j for foreign', (text) => {
    expect(plain().decodeRelative([], text)).toBeUndefined();
  });
});

describe('keyedHash', () => {
  it('derives its key from the name key', () => {
    expect(toHex(deriveKey(input('NK'), 3, 'smem-nk1'))).toBe(added.nameId.K_id);
  });

  it.each(added.keyedHashes)('of $text in class $class is $hash', ({ class: cls, text, hash: expected }) => {
    expect(encrypted().keyedHash(cls, expand(text))).toBe(expected);
    expect(plain().keyedHash(cls, expand(text))).toBe(expected);
  });
});

describe('wiped names', () => {
  it.each(['plain', 'encrypted'] as const)('refuse every use in %s mode', (mode) => {
    const names = createNames({ mode, nameKey: input('NK') });
    const text = names.encodeSegments(['a', 'b']);
    names.wipe();
    const aborted = expect.objectContaining({ code: 'aborted' });
    expect(() => names.encodeSegments(['a', 'b'])).toThrow(aborted);
    expect(() => names.decodeRelative([], text)).toThrow(aborted);
    expect(() => names.keyedHash('access', 'x')).toThrow(aborted);
  });
});

const keysOf = (key: string) => ({
  mac: deriveKey(input(key), 1, 'smem-nk1'),
  encryption: deriveKey(input(key), 2, 'smem-nk1'),
});

function tweakOf(dir: readonly string[]): Uint8Array {
  return dir.reduce((tweak, name) => childTweak(keysOf('NK'), tweak, name), ROOT_TWEAK);
}

/** The text of a padded segment, whatever it holds, as the format encrypts it. */
function forgeText(tweak: Uint8Array, padded: Uint8Array): string {
  const { mac, encryption } = keysOf('NK');
  const siv = hash(16, mac, concat(utf8('seg'), tweak, padded));
  const blocks = Array.from({ length: Math.ceil(padded.length / 64) }, (_, index) =>
    hash(64, encryption, concat(siv, u32(index))),
  );
  const stream = concat(...blocks);
  return toBase64url(
    concat(
      siv,
      padded.map((byte, index) => byte ^ (stream[index] ?? 0)),
    ),
  );
}

function changeText(text: string, ops: (typeof format1.foreign)[number]['ops'] = []): string {
  return ops.reduce((changed, [verb, ...rest]) => {
    switch (verb) {
      case 'append-text':
        return changed + String(rest[0]);
      case 'cut':
        return changed.slice(0, -Number(rest[0]));
      case 'next-character': {
        const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
        return changed.slice(0, -1) + alphabet.charAt(alphabet.indexOf(changed.slice(-1)) + 1);
      }
      case 'xor-bytes': {
        const bytes = fromBase64url(changed) ?? new Uint8Array(0);
        return toBase64url(applyOps(bytes, [['xor', ...rest]], () => bytes));
      }
      default:
        throw new Error(`format-1.json has an operation ${verb} on texts that is not known here`);
    }
  }, text);
}
