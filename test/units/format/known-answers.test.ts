import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { deriveKey, hash, hchacha20, loadSodium, openBox, sealBox } from '../../../src/format/sodium.ts';
import { fromHex, toHex } from '../../format/format-vectors.ts';
import { BOX_CASES, HASH_KAT, HASH_LENGTHS, HCHACHA20, KDF_CASES } from '../../format/known-answers.ts';
import { hchacha20 as draftKey, draftOpen, draftSeal } from './draft-xchacha.ts';

beforeAll(loadSodium);

const kinds = [...new Set(BOX_CASES.map(({ what }) => what))].map((what) => ({
  what,
  cases: BOX_CASES.filter((one) => one.what === what),
}));
const SHORT_OR_LONG = BOX_CASES.filter(({ nonce }) => nonce.length !== 24);

describe('sealBox and openBox', () => {
  it('are asked all that Wycheproof asks', () => {
    expect(BOX_CASES.map(({ id }) => id)).toEqual(Array.from({ length: 315 }, (_, index) => index + 1));
    expect(BOX_CASES.filter(({ isValid }) => isValid)).toHaveLength(246);
    expect(SHORT_OR_LONG.map(({ nonce }) => nonce.length)).toEqual([0, 8, 11, 12, 13, 14, 16, 20, 32]);
  });

  it.each(kinds)('answer as Wycheproof says: $what', ({ cases }) => {
    for (const one of cases) {
      const { id, isValid, message, box } = one;
      expect([id, openBox(box, one)]).toEqual([id, isValid ? message : undefined]);
      if (isValid) expect([id, toHex(sealBox(message, one))]).toEqual([id, toHex(box)]);
    }
  });

  it('take nonces of 24 bytes alone', () => {
    for (const one of SHORT_OR_LONG) expect(() => sealBox(one.message, one)).toThrow();
  });

  it("answer as the draft's construction over another library's ChaCha20-Poly1305", () => {
    for (const one of BOX_CASES) {
      const { id, isValid, message, box } = one;
      expect([id, draftOpen(box, one)]).toEqual([id, isValid ? message : undefined]);
      if (isValid) expect([id, toHex(draftSeal(message, one))]).toEqual([id, toHex(box)]);
    }
  });

  it('seal what that construction seals, at any length up to a chunk', () => {
    const bytes = (minLength: number, maxLength = minLength) => fc.uint8Array({ minLength, maxLength });
    const length = fc.oneof(fc.nat(300), fc.constantFrom(4_096, 65_535, 65_536));
    const parameters = fc.record({ key: bytes(32), nonce: bytes(24), additional: bytes(0, 200) });
    fc.assert(
      fc.property(length, fc.nat(255), parameters, (size, step, given) => {
        const message = Uint8Array.from({ length: size }, (_, index) => index * step);
        const box = sealBox(message, given);
        expect(Buffer.compare(box, draftSeal(message, given))).toBe(0);
        const opened = draftOpen(box, given);
        expect(opened !== undefined && Buffer.compare(opened, message) === 0).toBe(true);
        const at = step % box.length;
        const forged = box.with(at, (box[at] ?? 0) ^ 0x80);
        expect([openBox(forged, given), draftOpen(forged, given)]).toEqual([undefined, undefined]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the construction of the draft', () => {
  it('makes the subkey of section 2.2.1', () => {
    expect(toHex(draftKey(fromHex(HCHACHA20.key), fromHex(HCHACHA20.nonce)))).toBe(HCHACHA20.subkey);
  });
});

describe('hchacha20', () => {
  it('makes the subkey of section 2.2.1 of the draft', () => {
    expect(toHex(hchacha20(fromHex(HCHACHA20.key), fromHex(HCHACHA20.nonce)))).toBe(HCHACHA20.subkey);
  });

  it('makes the subkeys that the construction of the draft makes', () => {
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
    fc.assert(
      fc.property(bytes(32), bytes(16), (key, input) => {
        expect(toHex(hchacha20(key, input))).toBe(toHex(draftKey(key, input)));
      }),
    );
  });

  it('takes keys of 32 bytes and input of 16 alone', () => {
    expect(() => hchacha20(new Uint8Array(31), new Uint8Array(16))).toThrow();
    expect(() => hchacha20(new Uint8Array(32), new Uint8Array(24))).toThrow();
  });
});

describe('hash', () => {
  it("gives all 256 keyed entries of BLAKE2's own test vectors", () => {
    expect(HASH_KAT).toHaveLength(256);
    expect(HASH_KAT.map(({ length, key, message }) => toHex(hash(length, key, message)))).toEqual(
      HASH_KAT.map((one) => one.hash),
    );
  });

  it.each([16, 32, 33, 64])('gives %i bytes around the borders of a block', (length) => {
    const cases = HASH_LENGTHS.filter((one) => one.length === length);
    expect(cases.length).toBeGreaterThanOrEqual(12);
    for (const { key, message, hash: expected } of cases) {
      expect(toHex(hash(length, key, message))).toBe(expected);
    }
  });

  it('is not another length cut off', () => {
    const [one] = HASH_LENGTHS;
    if (one === undefined) throw new Error('there is no case');
    expect(toHex(hash(64, one.key, one.message)).startsWith(toHex(hash(32, one.key, one.message)))).toBe(
      false,
    );
  });
});

describe('deriveKey', () => {
  it.each([...new Set(KDF_CASES.map(({ context }) => context))])('gives the known keys of %s', (context) => {
    const cases = KDF_CASES.filter((one) => one.context === context);
    expect(cases.map(({ key, index }) => toHex(deriveKey(key, index, context)))).toEqual(
      cases.map(({ derived }) => derived),
    );
  });
});
