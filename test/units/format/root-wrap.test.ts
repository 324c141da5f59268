import { beforeAll, describe, expect, it } from 'vitest';
import { concat, domain, lengthPrefixed, u32 } from '../../../src/format/encoding.ts';
import { createRootWrap } from '../../../src/format/root-wrap.ts';
import { deriveKey, loadSodium, sealBox } from '../../../src/format/sodium.ts';
import { encodeText } from '../../../src/language/text.ts';

beforeAll(loadSodium);

const secret = new Uint8Array(32).fill(3);
const context = { app: 'sealed-memory', keyring: 'k', kind: 'keyring', tenant: 'acme', version: '1' };
const nonce = new Uint8Array(24).fill(9);
const random = (length: number): Uint8Array => new Uint8Array(length).fill(length);

/** A wrap by the holder of the root key, of any length. */
function forge(key: Uint8Array): Uint8Array {
  const texts = Object.entries(context).flatMap((pair) =>
    pair.map((text) => lengthPrefixed(encodeText(text))),
  );
  const additional = concat(domain('root'), u32(5), ...texts);
  return concat(nonce, sealBox(key, { key: deriveKey(secret, 1, 'smem-rk1'), nonce, additional }));
}

describe('a root wrap', () => {
  it('draws a nonce and a key, and gives the key back', () => {
    const { key, wrapped } = createRootWrap(secret).generate(context, random);
    expect(key).toEqual(random(32));
    expect(wrapped).toHaveLength(72);
    expect(wrapped.subarray(0, 24)).toEqual(random(24));
    expect(createRootWrap(secret).unwrap(wrapped, context)).toEqual(key);
  });

  it('is bound to its context in the order of the format, whatever the order of its fields', () => {
    const reversed = Object.fromEntries(Object.entries(context).toReversed()) as typeof context;
    expect(createRootWrap(secret).unwrap(forge(random(32)), reversed)).toEqual(random(32));
  });

  it.each(['app', 'keyring', 'kind', 'tenant', 'version'])('is bound to its %s', (field) => {
    const wrap = createRootWrap(secret);
    expect(wrap.unwrap(forge(random(32)), { ...context, [field]: 'other' })).toBeUndefined();
  });

  it.each([0, 16, 31, 33, 64])('holds no key of %i bytes', (length) => {
    expect(createRootWrap(secret).unwrap(forge(random(length)), context)).toBeUndefined();
  });

  it('opens under its own root key alone, whose id it tells', () => {
    const other = createRootWrap(new Uint8Array(32).fill(4));
    expect(other.unwrap(forge(random(32)), context)).toBeUndefined();
    expect(createRootWrap(secret).id).toMatch(/^env:[\w-]{22}$/);
    expect(other.id).not.toBe(createRootWrap(secret).id);
  });
});
