import { beforeAll, describe, expect, it } from 'vitest';
import { concat, u16, u32, u64 } from '../../../src/format/encoding.ts';
import {
  decodeKeyring,
  decodeKeyringSecret,
  encodeKeyring,
  encodeKeyringSecret,
  isValidKeyList,
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

/** The secret part of a keyring, field by field. */
function secretOf({
  mode = 1,
  flags = 0,
  versions = [1],
  count = versions.length,
  created = u64(1_700_000_000_000),
  since = new Uint8Array(0),
  seed = (index: number) => index,
}: {
  readonly mode?: number;
  readonly flags?: number;
  readonly versions?: readonly number[];
  readonly count?: number;
  readonly created?: Uint8Array;
  readonly since?: Uint8Array;
  readonly seed?: (index: number) => number;
} = {}): Uint8Array {
  const entries = versions.map((version, index) =>
    concat(u32(version), created, new Uint8Array(32).fill(seed(index))),
  );
  const head = concat(Uint8Array.of(mode, flags), u16(count), new Uint8Array(32).fill(4));
  return concat(head, ...entries, since);
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);
const BEYOND = Uint8Array.of(0, 0x20, 0, 0, 0, 0, 0, 0);
const GREATEST = 2 ** 32 - 1;

describe('the secret part of a keyring', () => {
  it.each([
    ['one key', {}],
    ['plain names', { mode: 0 }],
    ['64 keys', { versions: upTo(64) }],
    ['the greatest version', { versions: [1, GREATEST] }],
    ['history', { flags: 1 }],
    ['history since a time', { flags: 3, since: u64(Number.MAX_SAFE_INTEGER) }],
    ['the latest time of a key', { created: u64(Number.MAX_SAFE_INTEGER) }],
  ])('is read with %s, and written as it was', (_, fields) => {
    const bytes = secretOf(fields);
    const secret = decodeKeyringSecret(bytes);
    expect(secret && encodeKeyringSecret(secret)).toEqual(bytes);
  });

  it.each([
    ['an unknown mode', { mode: 2 }],
    ['a time but no history', { flags: 2, since: u64(1) }],
    ['an unknown flag', { flags: 4 }],
    ['a known and an unknown flag', { flags: 5 }],
    ['no key', { versions: [] }],
    ['65 keys', { versions: upTo(65) }],
    ['a key more than it says', { versions: [1, 2], count: 1 }],
    ['a key less than it says', { versions: [1, 2], count: 3 }],
    ['version 0', { versions: [0] }],
    ['version 0 after another', { versions: [1, 0] }],
    ['a version twice', { versions: [1, 1] }],
    ['versions that descend', { versions: [2, 1] }],
    ['versions of which the last two descend', { versions: [1, 3, 2] }],
    ['one key under two versions', { versions: [1, 2], seed: () => 1 }],
    ['one key under versions that are apart', { versions: [1, 2, 3], seed: (index: number) => index % 2 }],
    ['the time of a key beyond what is exact', { created: BEYOND }],
    ['a beginning of history beyond what is exact', { flags: 3, since: BEYOND }],
    ['a beginning that its flags do not tell', { flags: 1, since: u64(1) }],
    ['no beginning where its flags tell one', { flags: 3 }],
  ])('is refused with %s', (_, fields) => {
    expect(decodeKeyringSecret(secretOf(fields))).toBeUndefined();
  });

  it('is refused at every length but its own', () => {
    const bytes = secretOf();
    for (let end = 0; end < bytes.length; end++) {
      expect(decodeKeyringSecret(bytes.subarray(0, end)), `${end} bytes`).toBeUndefined();
    }
    expect(decodeKeyringSecret(concat(bytes, Uint8Array.of(0)))).toBeUndefined();
  });
});

describe('isValidKeyList', () => {
  const listOf = (...versions: readonly number[]) =>
    versions.map((version) => keyringKey(version, 0, new Uint8Array(32).fill(version % 251)));

  it.each([[[1]], [[1, 2, 3]], [[2, GREATEST]], [upTo(64)]])('takes the versions %j', (versions) => {
    expect(isValidKeyList(listOf(...versions))).toBe(true);
  });

  it.each([[[]], [[0]], [[GREATEST + 1]], [[1, GREATEST + 1]], [[2, 1]], [[1, 1]], [upTo(65)]])(
    'refuses the versions %j',
    (versions) => {
      expect(isValidKeyList(listOf(...versions))).toBe(false);
    },
  );
});
