import { beforeAll, describe, expect, it } from 'vitest';
import {
  deriveKey,
  equalBytes,
  hash,
  hashToKey,
  hchacha20,
  loadSodium,
  openBox,
  sealBox,
  wipe,
} from '../../../src/format/sodium.ts';
import { format1, fromHex, input, toHex } from '../../format/format-vectors.ts';

beforeAll(loadSodium);

const ascending = (from: number, length: number): Uint8Array =>
  Uint8Array.from({ length }, (_, index) => from + index);

/** draft-irtf-cfrg-xchacha-03, appendix A.3.1. */
const DRAFT = {
  key: ascending(0x80, 32),
  nonce: ascending(0x40, 24),
  additional: fromHex('50515253c0c1c2c3c4c5c6c7'),
  message: new TextEncoder().encode(
    "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.",
  ),
  box:
    'bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39' +
    'ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9' +
    '21f9664c97637da9768812f615c68b13b52e' +
    'c0875924c1c7987947deafd8780acf49',
};

describe('sodium', () => {
  it('loads once, however often it is asked for', async () => {
    expect(loadSodium()).toBe(loadSodium());
    await loadSodium();
  });

  it('seals the example of the XChaCha20-Poly1305 draft', () => {
    expect(toHex(sealBox(DRAFT.message, DRAFT))).toBe(DRAFT.box);
    expect(openBox(fromHex(DRAFT.box), DRAFT)).toEqual(DRAFT.message);
  });

  it('opens nothing when box, nonce, additional data or key differ by a bit', () => {
    const box = fromHex(DRAFT.box);
    for (let index = 0; index < box.length; index++) {
      const forged = box.with(index, (box[index] ?? 0) ^ 1);
      expect(openBox(forged, DRAFT)).toBeUndefined();
    }
    expect(openBox(box, { ...DRAFT, key: DRAFT.key.with(0, 0) })).toBeUndefined();
    expect(openBox(box, { ...DRAFT, nonce: DRAFT.nonce.with(23, 0) })).toBeUndefined();
    expect(openBox(box, { ...DRAFT, additional: DRAFT.additional.slice(1) })).toBeUndefined();
    expect(openBox(box.slice(0, 15), DRAFT)).toBeUndefined();
    expect(openBox(new Uint8Array(0), DRAFT)).toBeUndefined();
  });

  it('derives the keys of format 1', () => {
    const { keys } = format1;
    expect(toHex(deriveKey(input('TK1'), 1, 'smem-tk1'))).toBe(keys['K_wrap1']);
    expect(toHex(deriveKey(input('NK'), 1, 'smem-nk1'))).toBe(keys['K_nmac']);
    expect(toHex(deriveKey(input('NK'), 2, 'smem-nk1'))).toBe(keys['K_nenc']);
    expect(toHex(deriveKey(input('root'), 1, 'smem-rk1'))).toBe(keys['K_root']);
  });

  it('compares bytes of any lengths', () => {
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBe(true);
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3))).toBe(false);
    expect(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1))).toBe(false);
    expect(equalBytes(new Uint8Array(0), new Uint8Array(0))).toBe(true);
  });

  it('wipes what it is given', () => {
    const [left, right] = [Uint8Array.of(1, 2), Uint8Array.of(3)];
    wipe(left, right);
    expect([...left, ...right]).toEqual([0, 0, 0]);
  });

  it.each([
    ['The derivation of a key', 'a key of 31 bytes', () => deriveKey(new Uint8Array(31), 1, 'smem-tk1')],
    ['The derivation of a key', 'a key of 33 bytes', () => deriveKey(new Uint8Array(33), 1, 'smem-tk1')],
    ['The derivation of a key', 'a context of 7 bytes', () => deriveKey(new Uint8Array(32), 1, 'smem-tk')],
    ['The derivation of a key', 'a context of 9 bytes', () => deriveKey(new Uint8Array(32), 1, 'smem-tk12')],
    ['BLAKE2b', 'a key of 65 bytes', () => hash(32, new Uint8Array(65), new Uint8Array(0))],
    ['BLAKE2b', 'a digest of 65 bytes', () => hash(65, new Uint8Array(32), new Uint8Array(0))],
    ['BLAKE2b', 'a digest of no bytes', () => hash(0, new Uint8Array(32), new Uint8Array(0))],
    [
      'XChaCha20-Poly1305',
      'a key of 31 bytes',
      () => sealBox(DRAFT.message, { ...DRAFT, key: new Uint8Array(31) }),
    ],
    [
      'XChaCha20-Poly1305',
      'a nonce of 25 bytes',
      () => sealBox(DRAFT.message, { ...DRAFT, nonce: new Uint8Array(25) }),
    ],
    ['HChaCha20', 'a key of 33 bytes', () => hchacha20(new Uint8Array(33), new Uint8Array(16))],
    ['HChaCha20', 'input of 15 bytes', () => hchacha20(new Uint8Array(32), new Uint8Array(15))],
    ['HChaCha20', 'input of 17 bytes', () => hchacha20(new Uint8Array(32), new Uint8Array(17))],
  ])('%s does not take %s', (name, _, work) => {
    expect(work).toThrow(`${name} does not take input of that size.`);
  });

  it('opens nothing with a key or nonce of another size', () => {
    const box = fromHex(DRAFT.box);
    for (const length of [0, 31, 33]) {
      expect(openBox(box, { ...DRAFT, key: new Uint8Array(length) })).toBeUndefined();
    }
    for (const length of [0, 23, 25]) {
      expect(openBox(box, { ...DRAFT, nonce: new Uint8Array(length) })).toBeUndefined();
    }
  });

  it('seals and opens an empty message', () => {
    const empty = new Uint8Array(0);
    const box = sealBox(empty, DRAFT);
    expect(box).toHaveLength(16);
    expect(openBox(box, DRAFT)).toEqual(empty);
  });

  it('gives keys in buffers of their own, which erase them wholly when they are overwritten', () => {
    const key = ascending(0, 32);
    const keys = [
      hashToKey(64, key, key),
      deriveKey(key, 1, 'smem-tk1'),
      hchacha20(key, ascending(0, 16)),
      openBox(fromHex(DRAFT.box), DRAFT) ?? new Uint8Array(0),
    ];
    expect(keys.map(({ buffer }) => buffer.byteLength)).toEqual([64, 32, 32, DRAFT.message.length]);
    expect(toHex(hashToKey(64, key, key))).toBe(toHex(hash(64, key, key)));
  });
});
