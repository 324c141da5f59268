import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { concat, fromBase64url, toBase64url, u32 } from '../../../src/format/encoding.ts';
import { createNames, FILE_SUFFIX, type Names } from '../../../src/format/names.ts';
import { childTweak, ROOT_TWEAK } from '../../../src/format/segments.ts';
import { deriveKey, hash, loadSodium } from '../../../src/format/sodium.ts';
import { isValidSegment } from '../../../src/language/path.ts';
import { encodeText } from '../../../src/language/text.ts';
import { added, applyOps, expand, format1, fromHex, input, toHex } from '../../format/format-vectors.ts';

beforeAll(loadSodium);

const encrypted = (key = 'NK'): Names => createNames({ mode: 'encrypted', nameKey: input(key) });
const plain = (): Names => createNames({ mode: 'plain', nameKey: input('NK') });

/** The segments of the file whose key has the text `text` before its suffix. */
const decode = (names: Names, base: readonly string[], text: string): readonly string[] | undefined =>
  names.decodeFile(base, `${text}${FILE_SUFFIX}`);

const segment = fc.string({ minLength: 1, maxLength: 40, unit: 'binary' }).filter(isValidSegment);
const segments = fc.array(segment, { minLength: 1, maxLength: 4 });

describe('encrypted names', () => {
  it.each(format1.names)('write $segment in $dir as $text', ({ dir, segment: given, t, text, child }) => {
    const name = expand(given);
    const encoded = encrypted().encodeDirectory([...dir, name]);
    expect(encoded.slice(encoded.lastIndexOf('/') + 1)).toBe(text);
    expect(decode(encrypted(), dir, text)).toEqual([name]);
    expect(decode(encrypted(), [], encoded)).toEqual([...dir, name]);
    expect([toHex(tweakOf(dir)), toHex(tweakOf([...dir, name]))]).toEqual([t, child]);
  });

  it.each(format1.foreign)('take $id for foreign: $what', ({ dir, text }) => {
    expect(decode(encrypted(), dir, text)).toBeUndefined();
  });

  it.each(format1.foreign.filter(({ of }) => of !== undefined))(
    'are attacked in $id by the change it tells of',
    ({ of: [dir, name] = [[], ''], NK = 'NK', ops = [], text }) => {
      const encoded = encrypted(NK).encodeDirectory([...dir, name]);
      expect(changeText(encoded.slice(encoded.lastIndexOf('/') + 1), ops)).toBe(text);
    },
  );

  it.each(format1.foreign.filter(({ p }) => p !== undefined))(
    'are attacked in $id by a holder of the name key',
    ({ dir, p = '', text }) => {
      expect(forgeText(tweakOf(dir), fromHex(p))).toBe(text);
    },
  );

  it('are foreign as a whole when one segment is', () => {
    const names = encrypted();
    const text = names.encodeDirectory(['notes', 'a.txt']);
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
      expect(decode(names, [], broken)).toBeUndefined();
    }
    expect(decode(names, [], text)).toEqual(['notes', 'a.txt']);
  });

  it('say the same before and after a directory was met', () => {
    const names = encrypted();
    const [directory, file] = [names.encodeDirectory(['a']), names.encodeDirectory(['a', 'b'])];
    expect(file.startsWith(`${directory}/`)).toBe(true);
    expect(decode(names, ['a'], file.slice(directory.length + 1))).toEqual(['b']);
    expect([names.encodeDirectory(['a']), names.encodeDirectory(['a', 'b'])]).toEqual([directory, file]);
    expect(decode(encrypted(), ['a'], file.slice(directory.length + 1))).toEqual(['b']);
    expect(names.encodeDirectory([])).toBe('');
  });

  it('stay right when more directories were met than are remembered', () => {
    const names = encrypted();
    const before = names.encodeDirectory(['first', 'file']);
    for (let index = 0; index < 20_100; index++) names.encodeDirectory([`directory ${index}`, 'file']);
    expect(names.encodeDirectory(['first', 'file'])).toBe(before);
    expect(decode(names, ['first'], before.split('/')[1] ?? '')).toEqual(['file']);
  });

  it('come back as they were', () => {
    fc.assert(
      fc.property(segments, (path) => {
        const names = encrypted();
        expect(decode(names, [], names.encodeDirectory(path))).toEqual(path);
        const [first = '', ...rest] = path;
        const below = names.encodeDirectory(path).slice(names.encodeDirectory([first]).length + 1);
        expect(decode(names, [first], below)).toEqual(rest.length === 0 ? undefined : rest);
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
        expect(names.encodeDirectory(left) === names.encodeDirectory(right)).toBe(same);
      }),
      { numRuns: 300 },
    );
  });

  it('hide which names of different directories are equal', () => {
    const names = encrypted();
    const last = (path: readonly string[]) => names.encodeDirectory(path).split('/').at(-1);
    expect(new Set([last(['x']), last(['a', 'x']), last(['b', 'x']), last(['a', 'a', 'x'])]).size).toBe(4);
  });

  it('show the length of a name in steps of 16 bytes only', () => {
    const names = encrypted();
    const lengths = Array.from(
      { length: 143 },
      (_, index) => names.encodeDirectory(['x'.repeat(index + 1)]).length,
    );
    expect([lengths[0], lengths[14], lengths[15], lengths[142]]).toEqual([43, 43, 64, 214]);
    expect(new Set(lengths).size).toBe(9);
  });
});

describe('the suffix of a file', () => {
  it.each([encrypted, plain])('is all that tells its key from that of a directory', (make) => {
    const [names, other] = [make(), make()];
    const path = ['notes', 'a.txt'];
    expect(names.encodeFile(path)).toBe(`${names.encodeDirectory(path)}.sealed`);
    expect(other.decodeFile([], names.encodeFile(path))).toEqual(path);
    expect(other.decodeFile([], names.encodeDirectory(path))).toBeUndefined();
  });

  it.each([encrypted, plain])('may end the name of a file, too', (make) => {
    const names = make();
    expect(names.decodeFile([], names.encodeFile(['a', 'b.sealed']))).toEqual(['a', 'b.sealed']);
  });

  it('is no end of a directory when names are plain', () => {
    const [names, path] = [plain(), ['a', 'b.sealed', 'c']];
    const refusal = expect.objectContaining({
      code: 'invalid_path',
      details: { rule: 'directory_suffix', suffix: '.sealed' },
    });
    expect(() => names.encodeFile(path)).toThrow(refusal);
    expect(names.decodeFile([], 'a/b.sealed/c.sealed')).toBeUndefined();
    expect(names.decodeFile(['a', 'b.sealed'], 'c.sealed')).toBeUndefined();
    expect(encrypted().decodeFile([], encrypted().encodeFile(path))).toEqual(path);
  });

  it('is foreign to an encrypted name when it stands there twice or before a slash', () => {
    const [names, file] = [encrypted(), encrypted().encodeFile(['a', 'b'])];
    const [directory, last] = file.split('/');
    for (const text of [`${file}.sealed`, `${directory}.sealed/${last}`]) {
      expect(names.decodeFile([], text)).toBeUndefined();
    }
  });
});

describe('the key text of a file', () => {
  const namesOf = (mode: number): Names => (mode === 0 ? plain() : encrypted());

  it.each(added.fileKeys)('of $segments in mode $mode is $text', ({ mode, segments: given, text }) => {
    const path = given.map(expand);
    expect(namesOf(mode).encodeFile(path)).toBe(text);
    expect(namesOf(mode).decodeFile([], text)).toEqual(path);
  });

  it.each(added.foreignKeys)('is not, in $id: $what', ({ mode, text }) => {
    expect(namesOf(mode).decodeFile([], text)).toBeUndefined();
  });
});

describe('paths that were encoded before', () => {
  it('are encoded as at the first time, also beyond those that are remembered', () => {
    const [names, fresh] = [encrypted(), encrypted()];
    const paths = Array.from({ length: 5_000 }, (_, at) => ['d', `${at}`]);
    const texts = paths.map((path) => names.encodeFile(path));
    for (const at of [0, 1, 4_095, 4_096, 4_999]) {
      expect(names.encodeFile(paths[at] ?? [])).toBe(texts[at]);
      expect(texts[at]).toBe(fresh.encodeFile(paths[at] ?? []));
      expect(names.encodeDirectory(paths[at] ?? [])).toBe(texts[at]?.slice(0, -FILE_SUFFIX.length));
    }
    expect(new Set(texts).size).toBe(paths.length);
  });

  it('are not encoded any more once the names are wiped', () => {
    const names = encrypted();
    names.encodeFile(['a']);
    names.wipe();
    expect(() => names.encodeFile(['a'])).toThrow(expect.objectContaining({ code: 'aborted' }));
  });
});

describe('a segment', () => {
  const illFormed = added.illFormed.map((hex) => fromHex(hex));
  const fromUtf16 = (units: Uint8Array): string =>
    String.fromCharCode(
      ...Array.from(
        { length: units.length / 2 },
        (_, at) => (units[2 * at] ?? 0) * 256 + (units[2 * at + 1] ?? 0),
      ),
    );

  it.each(added.segments.accept)('may be %j', (given) => {
    expect(isValidSegment(expand(given))).toBe(true);
  });

  it.each([...added.segments.refuse, ...illFormed.map(fromUtf16)])('is never %j', (given) => {
    expect(isValidSegment(expand(given))).toBe(false);
  });
});

describe('plain names', () => {
  it('stand as they are', () => {
    expect(plain().encodeDirectory(['café', '日本.md'])).toBe('café/日本.md');
    expect(decode(plain(), ['café'], '日本/a b.md')).toEqual(['日本', 'a b.md']);
  });

  it.each(added.plainForeign)('take %j for foreign', (text) => {
    expect(plain().decodeFile([], text)).toBeUndefined();
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
    const text = names.encodeDirectory(['a', 'b']);
    names.wipe();
    const aborted = expect.objectContaining({ code: 'aborted' });
    expect(() => names.encodeDirectory(['a', 'b'])).toThrow(aborted);
    expect(() => names.encodeFile(['a', 'b'])).toThrow(aborted);
    expect(() => decode(names, [], text)).toThrow(aborted);
    expect(() => names.keyedHash('access', 'x')).toThrow(aborted);
    expect(() => names.textHash(encodeText('x'))).toThrow(aborted);
    expect(() => names.writerId('x')).toThrow(aborted);
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
  const siv = hash(16, mac, concat(encodeText('seg'), tweak, padded));
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
