import { randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { concat } from '../../../src/format/encoding.ts';
import {
  decodeKeyring,
  encodeKeyring,
  type Keyring,
  keyringKey,
  parseKeyringHead,
} from '../../../src/format/keyring-bytes.ts';
import { createNames } from '../../../src/format/names.ts';
import { open, rebind, seal } from '../../../src/format/object.ts';
import type { LogicalName } from '../../../src/format/object-keys.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { newVersion } from '../../../src/format/version.ts';
import { encodeText } from '../../../src/language/text.ts';
import { forgeObject } from '../../format/forge.ts';
import { keyringFields, objectFields, sealingKeys } from '../../format/vector-parts.ts';

/** The arrays with secrets that libsodium was given, or gave, as they are now. */
const met = vi.hoisted(() => ({
  sealed: [] as Uint8Array[],
  opened: [] as Uint8Array[],
  bodies: [] as Uint8Array[],
  derived: [] as Uint8Array[],
}));
vi.mock('../../../src/format/sodium.ts', async (load) => {
  const real = await load<typeof import('../../../src/format/sodium.ts')>();
  return {
    ...real,
    sealBox(...input: Parameters<typeof real.sealBox>) {
      met.sealed.push(input[0]);
      return real.sealBox(...input);
    },
    openBox(...input: Parameters<typeof real.openBox>) {
      const opened = real.openBox(...input);
      if (opened !== undefined) met.opened.push(opened);
      return opened;
    },
    hashToKey(...input: Parameters<typeof real.hashToKey>) {
      const both = real.hashToKey(...input);
      met.bodies.push(both.subarray(0, 32));
      return both;
    },
    deriveKey(...input: Parameters<typeof real.deriveKey>) {
      const key = real.deriveKey(...input);
      met.derived.push(key);
      return key;
    },
  };
});

const WRAP_BYTES = 108;
const name = objectFields('hello').name as LogicalName;
const keys = () => sealingKeys('one');
const drawn: Uint8Array[] = [];
const random = (length: number): Uint8Array => {
  const bytes = new Uint8Array(randomBytes(length));
  drawn.push(bytes);
  return bytes;
};
const sealText = (text: string): Uint8Array =>
  seal({ keys: keys(), name, content: encodeText(text), version: newVersion({ mtime: 1, random }), random });

const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);
const ofLength = (length: number, arrays: readonly Uint8Array[]): readonly Uint8Array[] =>
  arrays.filter((bytes) => bytes.length === length);
/** Tells whether each of them is zeros; none at all is a mistake of the test. */
const areZeros = (arrays: readonly Uint8Array[], count: number): void => {
  expect(arrays.map(isZero)).toEqual(Array.from({ length: count }, () => true));
};

function forget(): void {
  for (const arrays of [drawn, ...Object.values(met)]) arrays.length = 0;
}

beforeAll(loadSodium);
beforeEach(forget);

describe('no key is left in memory', () => {
  it('of an object that was sealed', () => {
    sealText('a');
    areZeros(ofLength(32, drawn), 1);
    areZeros(ofLength(WRAP_BYTES, met.sealed), 1);
    areZeros(met.bodies, 1);
  });

  it('of an object that was opened', () => {
    const object = sealText('a');
    forget();
    expect(open({ keys: keys(), name, object }).content).toEqual(encodeText('a'));
    areZeros(dataKeys(), 1);
    areZeros(met.bodies, 1);
  });

  it('of an object that was bound anew', () => {
    const object = sealText('a');
    forget();
    rebind({ keys: keys(), object, from: name, to: name, clock: 1, random });
    areZeros(dataKeys(), 1);
    areZeros(met.bodies, 1);
    areZeros(ofLength(WRAP_BYTES, met.sealed), 1);
  });

  it.each<readonly [string, (object: Uint8Array) => Uint8Array]>([
    ['of which a chunk was changed', (object) => object.with(230, (object[230] ?? 0) ^ 1)],
    ['that was lengthened', (object) => concat(object, new Uint8Array(1))],
    ['that was cut', (object) => object.subarray(0, -1)],
  ])('of an object that was refused, %s', (_, change) => {
    const object = change(sealText('some text'));
    forget();
    expect(() => open({ keys: keys(), name, object })).toThrow(
      expect.objectContaining({ code: 'integrity' }),
    );
    areZeros(dataKeys(), 1);
    expect(met.bodies.every(isZero)).toBe(true);
  });

  it('of an object whose commitment is that of another data key', () => {
    const fields = { ...objectFields('hello'), commitment: '00'.repeat(32) };
    const object = forgeObject(fields, keyringFields('one'));
    forget();
    expect(() => open({ keys: keys(), name, object })).toThrow(
      expect.objectContaining({ code: 'integrity' }),
    );
    areZeros(dataKeys(), 1);
    areZeros(met.bodies, 1);
  });

  it('of an object whose numbers are beyond the format', () => {
    const object = forgeObject({ ...objectFields('hello'), drawnUnder: 0 }, keyringFields('one'));
    forget();
    expect(() => open({ keys: keys(), name, object })).toThrow(
      expect.objectContaining({ code: 'integrity' }),
    );
    areZeros(ofLength(WRAP_BYTES, met.opened), 1);
  });

  it('of a keyring that was written and read, but in the keyring itself', () => {
    const keyring: Keyring = {
      epoch: 1,
      keyringId: new Uint8Array(16),
      nameMode: 'encrypted',
      keepsHistory: false,
      nameKey: new Uint8Array(32).fill(4),
      tenantKeys: [keyringKey(1, 0, new Uint8Array(32).fill(5))],
    };
    const key = new Uint8Array(32).fill(7);
    const root = { rootId: 'env:root', wrapped: new Uint8Array(40) };
    const bytes = encodeKeyring(keyring, { tenant: 'acme', key, random, ...root });
    const read = decodeKeyring(bytes, { head: parseKeyringHead(bytes), tenant: 'acme', key });
    areZeros(met.sealed, 1);
    areZeros(met.opened, 1);
    expect(read?.nameKey).toEqual(keyring.nameKey);
    expect(read?.tenantKeys[0]?.secret).toEqual(new Uint8Array(32).fill(5));
  });

  it('of names that were wiped', () => {
    const names = createNames({ mode: 'encrypted', nameKey: new Uint8Array(32).fill(4) });
    expect(met.derived.map(isZero)).toEqual([false, false, false]);
    names.wipe();
    areZeros(met.derived, 3);
  });
});

/** The data keys at the beginning of the wraps that were opened. */
function dataKeys(): readonly Uint8Array[] {
  return ofLength(WRAP_BYTES, met.opened).map((wrap) => wrap.subarray(0, 32));
}
