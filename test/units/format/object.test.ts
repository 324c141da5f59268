import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { bigU64, concat, domain, lengthPrefixed, u32, u64 } from '../../../src/format/encoding.ts';
import { readHeader } from '../../../src/format/header.ts';
import { type OpenedObject, open, rebind, seal } from '../../../src/format/object.ts';
import { classLogicalName, type LogicalName } from '../../../src/format/object-keys.ts';
import { sealedSize } from '../../../src/format/sizes.ts';
import { hash, loadSodium } from '../../../src/format/sodium.ts';
import { newVersion, type VersionIdBytes } from '../../../src/format/version.ts';
import { MAX_BOUND, nextBound } from '../../../src/format/wrap.ts';
import { encodeText } from '../../../src/language/text.ts';
import { osRandom as random } from '../../../src/store/os-random.ts';
import { forgeObject } from '../../format/forge.ts';
import {
  added,
  applyOps,
  contentOf,
  digestOf,
  type Expected,
  format1,
  fromHex,
  input,
  type Op,
  toHex,
} from '../../format/format-vectors.ts';
import {
  drawnUnderOf,
  keyringFields,
  objectFields,
  sealCase,
  sealingKeys,
  vectorBytes,
} from '../../format/vector-parts.ts';

beforeAll(loadSodium);

const keys = () => sealingKeys('two');
const name = format1.objects.defaults.name as LogicalName;
const other = '/memories/b.txt' as LogicalName;
const sealText = (text: string): Uint8Array =>
  seal({ keys: keys(), name, content: encodeText(text), version: newVersion({ mtime: 7, random }), random });

function expectBytes(bytes: Uint8Array, { size, hex, blake2b256 }: Expected): void {
  if (hex !== undefined) expect(toHex(bytes)).toBe(hex);
  if (blake2b256 !== undefined) expect(digestOf(bytes).blake2b256).toBe(blake2b256);
  expect(bytes).toHaveLength(size ?? Number.NaN);
}

/** Answers what `open` threw; fails when it did not throw the one error of a refused object. */
function refusalOf(object: Uint8Array, { keyring = 'two', as = name as string } = {}): MemoryError {
  try {
    open({ keys: sealingKeys(keyring), name: as as LogicalName, object });
  } catch (error) {
    if (error instanceof MemoryError && error.code === 'integrity') return error;
    throw error;
  }
  throw new Error('the object was opened');
}

describe('seal', () => {
  it('makes the steps of the example', () => {
    const { helloSteps } = format1;
    const object = vectorBytes('hello');
    expect(toHex(domain('wrap'))).toBe(helloSteps['D_wrap']);
    const bodyMessage = concat(domain('body'), input('keyringId'), object.slice(0, 12));
    expect(toHex(bodyMessage)).toBe(helloSteps['bodyMessage']);
    expect(toHex(hash(64, input('DEK'), bodyMessage))).toBe(helloSteps['O']);
    const wrapAad = concat(
      domain('wrap'),
      object.slice(0, 76),
      input('keyringId'),
      lengthPrefixed(encodeText('acme')),
      lengthPrefixed(encodeText(name)),
    );
    expect(toHex(wrapAad)).toBe(helloSteps['wrapAad']);
    const zeros = input('zero16');
    const bound = bigU64(nextBound(1_700_000_000_000));
    const wrapPlain = concat(
      input('DEK'),
      u32(1),
      u64(5),
      u64(1_700_000_000_000),
      bound,
      zeros,
      zeros,
      zeros,
    );
    expect(toHex(wrapPlain)).toBe(helloSteps['wrapPlain']);
    expect(helloSteps['chunkNonce']).toBe(toHex(concat(new Uint8Array(23), Uint8Array.of(1))));
  });

  it.each(format1.objects.cases)('writes $id to the byte', (expected) => {
    const fields = objectFields(expected.id);
    expectBytes(sealCase(fields), expected);
    expectBytes(forgeObject(fields, keyringFields(fields.keyring)), expected);
  });

  it('never gives the same object, version id, nonce or key twice', () => {
    const drawn: string[] = [];
    const recording = (length: number): Uint8Array => {
      const bytes = random(length);
      drawn.push(toHex(bytes));
      return bytes;
    };
    const sealings = Array.from({ length: 50 }, () =>
      seal({
        keys: keys(),
        name,
        content: encodeText('same'),
        version: newVersion({ mtime: 1, random: recording }),
        random: recording,
      }),
    );
    expect(new Set(drawn).size).toBe(150);
    const headers = sealings.map((object) => readHeader(object));
    expect(new Set(headers.map((header) => toHex(header?.id ?? input('zero16')))).size).toBe(50);
    expect(new Set(headers.map((header) => toHex(header?.wrapNonce ?? input('zero16')))).size).toBe(50);
    expect(new Set(sealings.map((object) => toHex(object.slice(28, 60)))).size).toBe(50);
    expect(new Set(sealings.map((object) => toHex(object.slice(184)))).size).toBe(50);
  });

  it('draws a new data key and nonce at every call', () => {
    const lengths: number[] = [];
    const counting = (length: number): Uint8Array => {
      lengths.push(length);
      return random(length);
    };
    for (let turn = 0; turn < 2; turn++)
      seal({
        keys: keys(),
        name,
        content: encodeText('x'),
        version: newVersion({ mtime: 1, random: counting }),
        random: counting,
      });
    expect(lengths.toSorted((left, right) => left - right)).toEqual([16, 16, 24, 24, 32, 32]);
  });

  it('refuses content that the format cannot hold', () => {
    const content = Object.create(Uint8Array.prototype, { length: { value: 2 ** 30 } }) as Uint8Array;
    expect(() =>
      seal({ keys: keys(), name, content, version: newVersion({ mtime: 1, random }), random }),
    ).toThrow(
      expect.objectContaining({
        code: 'limit_exceeded',
        details: { limit: 'file_bytes', value: 2 ** 30, max: 2 ** 30 - 1 },
      }),
    );
  });

  it('takes content as long as the format can hold', () => {
    const content = Object.create(Uint8Array.prototype, { length: { value: 2 ** 30 - 1 } }) as Uint8Array;
    const version = newVersion({ mtime: 1, random });
    const drawing = (): never => {
      throw new Error('a data key is drawn');
    };
    expect(() => seal({ keys: keys(), name, content, version, random: drawing })).toThrow('is drawn');
  });

  it('leaves the content as it was', () => {
    const content = encodeText('kept');
    seal({ keys: keys(), name, content, version: newVersion({ mtime: 1, random }), random });
    expect(content).toEqual(encodeText('kept'));
  });
});

describe('open', () => {
  it.each([...format1.objects.cases, ...format1.forgedObjects])('reads $id back', ({ id }) => {
    const fields = objectFields(id);
    const opened = open({
      keys: sealingKeys(fields.keyring),
      name: fields.name as LogicalName,
      object: vectorBytes(id),
    });
    expect(opened).toEqual({
      content: contentOf(fields),
      mtime: Number(fields.mtime),
      bound: BigInt(fields.bound),
      previous: input(fields.previous),
      writer: input(fields.writer),
      origin: input(fields.origin),
      id: input(fields.versionId) as VersionIdBytes,
      drawnUnder: drawnUnderOf(fields),
    } satisfies OpenedObject);
  });

  it('reads what seal wrote, whatever its length, name, time and origin', () => {
    const lengths = fc.oneof(
      fc.integer({ min: 0, max: 300 }),
      fc.constantFrom(65_535, 65_536, 65_537, 131_072, 131_073),
    );
    const id = fc.uint8Array({ minLength: 16, maxLength: 16 });
    const facts = fc.record({ mtime: fc.maxSafeNat(), previous: id, writer: id, origin: id });
    const after = fc.bigInt({ min: 0n, max: MAX_BOUND });
    fc.assert(
      fc.property(lengths, fc.string({ unit: 'grapheme' }), facts, after, (length, text, given, replaced) => {
        const content = random(length);
        const as = `/memories/${text}` as LogicalName;
        const { origin, ...facts } = given;
        const version = newVersion({ ...facts, random });
        const object = seal({
          keys: keys(),
          name: as,
          version,
          content,
          origin,
          clock: 1,
          after: replaced,
          random,
        });
        expect(object).toHaveLength(sealedSize(length));
        const { content: read, bound, id, drawnUnder, ...opened } = open({ keys: keys(), name: as, object });
        expect(Buffer.compare(read, content)).toBe(0);
        expect(opened).toEqual(given);
        expect(bound).toBe(nextBound(1, replaced));
        expect(drawnUnder).toBe(2);
        expect(toHex(id)).toBe(toHex(object.slice(12, 28)));
      }),
      { numRuns: 60 },
    );
  });

  it('takes a Buffer and neither changes nor keeps it', () => {
    const object = Buffer.from(vectorBytes('hello'));
    const opened = open({ keys: keys(), name, object });
    expect(toHex(object)).toBe(toHex(vectorBytes('hello')));
    object.fill(0);
    expect(opened.id).toEqual(input('versionId'));
  });

  const { cases, defaults } = format1.refuseObjects;

  it.each(cases)('refuses $id: $what', (refused) => {
    const { base = defaults.base, keyring, name: as, ops, forge } = refused;
    const forged =
      forge === undefined
        ? undefined
        : forgeObject({ ...objectFields(base), ...forge }, keyringFields(objectFields(base).keyring));
    const changed = ops === undefined ? undefined : operate(base, ops);
    if (forged !== undefined && changed !== undefined) expect(toHex(forged)).toBe(toHex(changed));
    if (forged !== undefined && refused.blake2b256 !== undefined) expectBytes(forged, refused);
    const object = changed ?? forged ?? vectorBytes(base);
    const { message, details, cause } = refusalOf(object, { keyring, as: as ?? defaults.name });
    const unknown = ['o15', 'o27', 'o28', 'o29'].includes(refused.id);
    expect(details).toStrictEqual(unknown ? { reason: 'unknown_key' } : {});
    expect(message).toBe(
      'An object was rejected: it is not what was sealed under this name for this tenant.',
    );
    expect(cause).toBeUndefined();
  });

  it('refuses an object with any one byte changed', () => {
    const object = sealText('a small file');
    for (let index = 0; index < object.length; index++) {
      const byte = object[index] ?? 0;
      for (const changed of [byte ^ 1, byte ^ 0x80, byte ^ 0xff]) refusalOf(object.with(index, changed));
    }
  });

  it('refuses an object cut at any length, or lengthened', () => {
    const object = sealText('a small file');
    for (let length = 0; length < object.length; length++) refusalOf(object.slice(0, length));
    for (const more of [1, 16, 17, 65_552]) refusalOf(concat(object, new Uint8Array(more)));
  });

  it('names the unknown key of what has the length of an object at least, and of nothing shorter', () => {
    const object = sealText('');
    expect(object).toHaveLength(240);
    expect(refusalOf(object, { keyring: 'one' }).details).toStrictEqual({ reason: 'unknown_key' });
    expect(refusalOf(object.slice(0, 239), { keyring: 'one' }).details).toStrictEqual({});
    expect(refusalOf(object.slice(0, 224), { keyring: 'one' }).details).toStrictEqual({});
  });

  it('refuses every splice of two objects of one name and key, at every boundary', () => {
    const [left, right] = [sealText('the first text'), sealText('another  texts')];
    const boundaries = [8, 12, 28, 60, 76, 100, 132, 136, 144, 152, 160, 176, 192, 208, 224, 238];
    const pieces = [0, ...boundaries, left.length];
    for (let from = 0; from < pieces.length - 1; from++) {
      for (let to = from + 1; to < pieces.length; to++) {
        const [begin = 0, end = 0] = [pieces[from], pieces[to]];
        const spliced = concat(left.slice(0, begin), right.slice(begin, end), left.slice(end));
        const whole = [left, right].some((object) => Buffer.compare(object, spliced) === 0);
        if (whole) open({ keys: keys(), name, object: spliced });
        else refusalOf(spliced);
      }
    }
  });

  it('refuses every exchange of chunks between two large objects', () => {
    const step = 65_552;
    const large = () =>
      seal({
        keys: keys(),
        name,
        content: random(150_000),
        version: newVersion({ mtime: 1, random }),
        random,
      });
    const [left, right] = [large(), large()];
    for (const start of [224, 224 + step, 224 + 2 * step]) {
      const end = Math.min(start + step, left.length);
      refusalOf(concat(left.slice(0, start), right.slice(start, end), left.slice(end)));
    }
  });

  it('says nothing of key, name or content in its error', () => {
    const error = refusalOf(vectorBytes('hello'), { as: '/memories/secret-name' });
    const told = `${error.message}${JSON.stringify(error.details)}${error.stack}`;
    expect(told).not.toContain('secret-name');
    expect(told).not.toContain('hello');
    expect(told).not.toContain('acme');
  });
});

describe('rebind', () => {
  it.each(format1.rebinds)('writes $id to the byte', (expected) => {
    const object = vectorBytes(expected.id);
    expectBytes(object, expected);
    const opened = open({ keys: sealingKeys(expected.keyring), name: expected.to as LogicalName, object });
    const base = objectFields(expected.base);
    expect(Buffer.compare(opened.content, contentOf(base))).toBe(0);
    expect(opened).toMatchObject({
      mtime: Number(base.mtime),
      bound: BigInt(expected.bound),
      previous: input(base.previous),
      writer: input(base.writer),
      origin: input(expected.origin ?? base.origin),
    });
  });

  it('leaves the object it was given as it was, a Buffer too', () => {
    const object = Buffer.from(vectorBytes('hello'));
    const rebound = rebind({ keys: keys(), object, from: name, to: other, clock: 1, random });
    expect(toHex(object)).toBe(toHex(vectorBytes('hello')));
    expect(toHex(rebound)).not.toBe(toHex(object));
  });

  it('moves the object: the old name no longer opens it, the new one does', () => {
    const rebound = rebind({
      keys: keys(),
      object: sealText('moved'),
      from: name,
      to: other,
      clock: 1,
      random,
    });
    refusalOf(rebound);
    expect(open({ keys: keys(), name: other, object: rebound }).content).toEqual(encodeText('moved'));
  });

  it('comes behind the bound of the object and of what it replaces, whichever is later', () => {
    const object = seal({
      keys: keys(),
      name,
      content: encodeText('x'),
      version: newVersion({ mtime: 1, random }),
      clock: 9,
      random,
    });
    const { bound } = open({ keys: keys(), name, object });
    for (const after of [bound - 5n, bound, bound + 5n]) {
      const rebound = rebind({ keys: keys(), object, from: name, to: name, clock: 1, after, random });
      const later = open({ keys: keys(), name, object: rebound });
      expect(later.bound).toBe((after > bound ? after : bound) + 1n);
    }
  });

  it('keeps everything but key id, nonce and wrap', () => {
    const object = sealText('kept');
    const rebound = rebind({ keys: keys(), object, from: name, to: other, clock: 1, random });
    expect(toHex(rebound.slice(0, 60))).toBe(toHex(object.slice(0, 60)));
    expect(toHex(rebound.slice(224))).toBe(toHex(object.slice(224)));
    expect(toHex(rebound.slice(76, 100))).not.toBe(toHex(object.slice(76, 100)));
  });

  it('verifies the wrap and every chunk first', () => {
    const object = seal({
      keys: keys(),
      name,
      content: random(70_000),
      version: newVersion({ mtime: 1, random }),
      random,
    });
    const integrity = expect.objectContaining({ code: 'integrity' });
    for (const index of [0, 14, 30, 70, 80, 110, 225, object.length - 1]) {
      const broken = object.with(index, (object[index] ?? 0) ^ 1);
      expect(() => rebind({ keys: keys(), object: broken, from: name, to: other, clock: 1, random })).toThrow(
        integrity,
      );
    }
    expect(() => rebind({ keys: keys(), object, from: other, to: name, clock: 1, random })).toThrow(
      integrity,
    );
  });

  it('never uses a nonce twice', () => {
    const object = sealText('again');
    const nonces = Array.from({ length: 20 }, () =>
      toHex(rebind({ keys: keys(), object, from: name, to: name, clock: 1, random }).slice(76, 100)),
    );
    expect(new Set(nonces).size).toBe(20);
  });
});

describe.each(added.tampered.bases)('the vector %s', (id) => {
  it('is refused with any byte changed', () => {
    const object = vectorBytes(id);
    const rebound = format1.rebinds.find((one) => one.id === id);
    const [ring, as] = rebound
      ? [rebound.keyring, rebound.to]
      : [objectFields(id).keyring, objectFields(id).name];
    const request = { keys: sealingKeys(ring), name: as as LogicalName };
    expect(() => open({ ...request, object })).not.toThrow();
    for (const mask of added.tampered.masks.map((text) => Number.parseInt(text, 16))) {
      for (const [index, byte] of object.entries()) {
        expect(() => open({ ...request, object: object.with(index, byte ^ mask) })).toThrow(
          expect.objectContaining({ code: 'integrity' }),
        );
      }
    }
  });
});

describe('readHeader', () => {
  it('gives the public fields of an object', () => {
    expect(readHeader(vectorBytes('hello'))).toEqual({
      id: input('versionId'),
      keyId: fromHex(format1.keys['keyId1'] ?? ''),
      wrapNonce: input('N11'),
    });
  });

  it('gives nothing for what does not start like an object', () => {
    const object = vectorBytes('hello');
    expect(readHeader(object.slice(0, 224))).toBeDefined();
    expect(readHeader(object.slice(0, 223))).toBeUndefined();
    for (let index = 0; index < 12; index++) {
      expect(readHeader(object.with(index, (object[index] ?? 0) ^ 1))).toBeUndefined();
    }
  });
});

describe('classLogicalName', () => {
  it('names an object beside the tree', () => {
    expect(classLogicalName('receipts', 'turn_01-A')).toBe('/receipts/turn_01-A');
    expect(() => classLogicalName('receipts', '../x')).toThrow(
      expect.objectContaining({ code: 'misconfigured' }),
    );
  });
});

function operate(base: string, ops: readonly Op[]): Uint8Array {
  return applyOps(vectorBytes(base), ops, vectorBytes);
}
