import { beforeAll, describe, expect, it } from 'vitest';
import { concat, u32 } from '../../../src/format/encoding.ts';
import {
  decodeKeyring,
  encodeKeyring,
  type Keyring,
  keyringKey,
  MAX_EPOCH,
  MAX_KEYRING_BYTES,
  parseKeyringHead,
  SHRED_MARKER,
} from '../../../src/format/keyring-bytes.ts';
import { loadSodium } from '../../../src/format/sodium.ts';

beforeAll(loadSodium);

/** The offsets of docs/format.md, "Keyring". */
const EPOCH = 12;
const ROOT_ID_LENGTH = 32;
const ROOT_ID = 36;

const NONCE_AND_TAG = 24 + 16;
const SMALLEST_SECRET = 4 + 32 + 44;

const key = new Uint8Array(32).fill(7);
const random = (length: number): Uint8Array => new Uint8Array(length).fill(9);

function keyringOf(fields: Partial<Keyring> = {}): Keyring {
  return {
    epoch: 1,
    keyringId: new Uint8Array(16).fill(3),
    nameMode: 'encrypted',
    keepsHistory: false,
    keptSince: undefined,
    nameKey: new Uint8Array(32).fill(4),
    tenantKeys: [keyringKey(1, 1_700_000_000_000, new Uint8Array(32).fill(5))],
    ...fields,
  };
}

function encoded({
  rootId = 'env:root',
  wrapped = new Uint8Array(40).fill(8),
  ...fields
}: Partial<Keyring> & { readonly rootId?: string; readonly wrapped?: Uint8Array } = {}): Uint8Array {
  return encodeKeyring(keyringOf(fields), { tenant: 'acme', key, random, rootId, wrapped });
}

const refused = expect.objectContaining({ code: 'integrity' });

describe('a keyring', () => {
  it.each([
    ['the smallest head', { epoch: 1, rootId: '!', wrapped: Uint8Array.of(1) }],
    [
      'the largest head',
      { epoch: MAX_EPOCH, rootId: '~'.repeat(512), wrapped: new Uint8Array(8_192).fill(2) },
    ],
  ])('is read as it was written, with %s', (_, { epoch, rootId, wrapped }) => {
    const bytes = encoded({ epoch, rootId, wrapped });
    const head = parseKeyringHead(bytes);
    const length = ROOT_ID + rootId.length + 4 + wrapped.length;
    expect(head).toEqual({ epoch, rootId, wrapped, length, keyringId: keyringOf().keyringId });
    expect(decodeKeyring(bytes, { head, tenant: 'acme', key })).toEqual(keyringOf({ epoch }));
  });

  it.each([
    ['keeps no history', { keepsHistory: false, keptSince: undefined }],
    ['keeps history, and tells no time', { keepsHistory: true, keptSince: undefined }],
    ['keeps history since a time', { keepsHistory: true, keptSince: 1_700_000_000_001 }],
  ])('that %s says so', (_, history) => {
    const bytes = encoded(history);
    const head = parseKeyringHead(bytes);
    expect(decodeKeyring(bytes, { head, tenant: 'acme', key })).toEqual(keyringOf(history));
  });

  it('opens with its key, for its tenant and under its own head alone', () => {
    const bytes = encoded();
    const head = parseKeyringHead(bytes);
    const other = new Uint8Array(32).fill(6);
    expect(decodeKeyring(bytes, { head, tenant: 'acmf', key })).toBeUndefined();
    expect(decodeKeyring(bytes, { head, tenant: 'acme', key: other })).toBeUndefined();
    for (let at = EPOCH; at < bytes.length; at++) {
      const changed = bytes.with(at, (bytes[at] ?? 0) ^ 1);
      expect(decodeKeyring(changed, { head, tenant: 'acme', key }), `byte ${at}`).toBeUndefined();
    }
  });

  it.each([
    ['epoch 0', { epoch: 0 }],
    ['an epoch beyond 32 bits', { epoch: MAX_EPOCH + 1 }],
    ['an empty wrapped key', { wrapped: new Uint8Array(0) }],
    ['a wrapped key of 8,193 bytes', { wrapped: new Uint8Array(8_193) }],
    ['no root id', { rootId: '' }],
    ['a root id of 513 characters', { rootId: 'r'.repeat(513) }],
    ['a root id with a space', { rootId: 'env root' }],
    ['a root id that ends a line', { rootId: 'root\n' }],
    ['a root id beyond ASCII', { rootId: 'röot' }],
    ['a root id with the character DEL', { rootId: 'root\x7f' }],
  ])('is not written with %s', (_, fields) => {
    expect(() => encoded(fields)).toThrow(refused);
  });
});

describe('parseKeyringHead', () => {
  it('takes at least a whole head, a nonce and the box of the smallest secret', () => {
    const bytes = encoded();
    const { length } = parseKeyringHead(bytes);
    const least = length + NONCE_AND_TAG + SMALLEST_SECRET;
    expect(bytes).toHaveLength(least);
    for (let end = 0; end < least; end++) {
      expect(() => parseKeyringHead(bytes.subarray(0, end)), `${end} bytes`).toThrow(refused);
    }
  });

  it('takes 16,384 bytes at most', () => {
    const padded = (length: number): Uint8Array =>
      concat(encoded(), new Uint8Array(length)).subarray(0, length);
    expect(parseKeyringHead(padded(MAX_KEYRING_BYTES)).rootId).toBe('env:root');
    expect(() => parseKeyringHead(padded(MAX_KEYRING_BYTES + 1))).toThrow(refused);
  });

  it('takes nothing that begins otherwise', () => {
    for (let at = 0; at < 8; at++) {
      const bytes = encoded();
      expect(() => parseKeyringHead(bytes.with(at, (bytes[at] ?? 0) ^ 1))).toThrow(refused);
    }
  });

  it('names what a later version wrote', () => {
    const unsupported = expect.objectContaining({ code: 'unsupported_format' });
    for (let at = 8; at < EPOCH; at++) {
      const bytes = encoded();
      expect(() => parseKeyringHead(bytes.with(at, (bytes[at] ?? 0) + 1))).toThrow(unsupported);
    }
    const short = encoded().subarray(0, EPOCH).with(8, 2);
    expect(() => parseKeyringHead(short)).toThrow(unsupported);
  });

  it('tells a destroyed tenant by the marker, whole and alone', () => {
    const destroyed = { code: 'key_unavailable', details: { reason: 'destroyed' } };
    expect(() => parseKeyringHead(SHRED_MARKER)).toThrow(expect.objectContaining(destroyed));
    expect(() => parseKeyringHead(concat(SHRED_MARKER, Uint8Array.of(0)))).toThrow(
      expect.objectContaining({ code: 'unsupported_format' }),
    );
  });

  it('refuses epoch 0', () => {
    const bytes = encoded();
    bytes.set(u32(0), EPOCH);
    expect(() => parseKeyringHead(bytes)).toThrow(refused);
  });

  it.each([' ', '\n', '\x7f', '\x80'])('refuses a root id with %j', (character) => {
    const bytes = encoded().with(ROOT_ID + 2, character.charCodeAt(0));
    expect(() => parseKeyringHead(bytes)).toThrow(refused);
  });

  it.each([0, 513, 1_000, 2 ** 32 - 1])('refuses a root id that would have %i bytes', (length) => {
    const bytes = concat(encoded(), new Uint8Array(2_000));
    bytes.set(u32(length), ROOT_ID_LENGTH);
    expect(() => parseKeyringHead(bytes)).toThrow(refused);
  });

  it.each([0, 8_193, 2 ** 32 - 1])('refuses a wrapped key that would have %i bytes', (length) => {
    const bytes = concat(encoded(), new Uint8Array(10_000).fill(1));
    bytes.set(u32(length), ROOT_ID + 'env:root'.length);
    expect(() => parseKeyringHead(bytes)).toThrow(refused);
  });

  it('refuses lengths that lead beyond the end', () => {
    const bytes = encoded();
    bytes.set(u32(bytes.length - ROOT_ID - 'env:root'.length - 4 + 1), ROOT_ID + 'env:root'.length);
    expect(() => parseKeyringHead(bytes)).toThrow(refused);
  });
});
