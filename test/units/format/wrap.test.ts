import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { LogicalName } from '../../../src/format/object-keys.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import {
  deriveTenantKey,
  MAX_BOUND,
  nextBound,
  openWrap,
  type WrapBinding,
} from '../../../src/format/wrap.ts';
import { forgeObject } from '../../format/forge.ts';
import { added, input } from '../../format/format-vectors.ts';
import { keyringFields, objectFields } from '../../format/vector-parts.ts';

beforeAll(loadSodium);

const binding = (): WrapBinding => ({
  wrapKey: deriveTenantKey(input('TK1')).wrapKey,
  keyringId: input('keyringId'),
  tenant: 'acme',
  name: '/memories/notes/a.txt' as LogicalName,
});

const forged = (fields: {
  readonly drawnUnder?: number;
  readonly length?: string;
  readonly mtime?: string;
  readonly bound?: string;
  readonly previous?: string;
  readonly writer?: string;
  readonly origin?: string;
}): Uint8Array => forgeObject({ ...objectFields('hello'), ...fields }, keyringFields('one'));

describe('openWrap', () => {
  it('gives what a key holder wrote, up to the greatest length and times', () => {
    const object = forged({
      drawnUnder: 2 ** 32 - 1,
      length: '1073741823',
      mtime: '9007199254740991',
      bound: '9223372036854775807',
      previous: 'versionId2',
      writer: 'keyringId',
      origin: 'origin',
    });
    expect(openWrap(object, binding())).toEqual({
      dataKey: input('DEK'),
      drawnUnder: 2 ** 32 - 1,
      length: 2 ** 30 - 1,
      mtime: Number.MAX_SAFE_INTEGER,
      bound: 2n ** 63n - 1n,
      previous: input('versionId2'),
      writer: input('keyringId'),
      origin: input('origin'),
    });
  });

  it.each([
    { drawnUnder: 0 },
    { length: '1073741824' },
    { length: '18446744073709551615' },
    { mtime: '9007199254740992' },
    { mtime: '18446744073709551615' },
    { bound: '9223372036854775808' },
    { bound: '18446744073709551615' },
  ])('refuses %o although the key holder wrote it', (fields) => {
    expect(openWrap(forged(fields), binding())).toBeUndefined();
  });

  it.each([
    { tenant: 'acme2' },
    { tenant: 'acm' },
    { name: '/memories/notes/a.tx' as LogicalName },
    { keyringId: new Uint8Array(16) },
    { wrapKey: new Uint8Array(32) },
  ])('refuses the binding with %o', (change) => {
    expect(openWrap(forged({}), binding())?.length).toBe(5);
    expect(openWrap(forged({}), { ...binding(), ...change })).toBeUndefined();
  });

  it('keeps tenant and name apart where their texts run into one another', () => {
    const object = forgeObject(
      { ...objectFields('hello'), tenant: 'acme', name: 'x/memories/a' },
      keyringFields('one'),
    );
    const bound = { ...binding(), tenant: 'acme', name: 'x/memories/a' as LogicalName };
    expect(openWrap(object, bound)).toBeDefined();
    expect(
      openWrap(object, { ...bound, tenant: 'acmex', name: '/memories/a' as LogicalName }),
    ).toBeUndefined();
  });
});

describe('nextBound', () => {
  it.each(added.bounds)('at $clock ms above $replaced is $bound', ({ clock, replaced, bound }) => {
    expect(nextBound(clock, replaced === undefined ? undefined : BigInt(replaced))).toBe(BigInt(bound));
  });

  it('is the clock above 16 bits', () => {
    expect(nextBound(1_700_000_000_000)).toBe(1_700_000_000_000n << 16n);
    expect(nextBound(1.9)).toBe(1n << 16n);
    expect(nextBound(0)).toBe(0n);
  });

  it('counts on where the version before is as late as the clock, or later', () => {
    expect(nextBound(5, 5n << 16n)).toBe((5n << 16n) + 1n);
    expect(nextBound(5, 9n << 16n)).toBe((9n << 16n) + 1n);
    expect(nextBound(5, (5n << 16n) - 1n)).toBe(5n << 16n);
  });

  it('is always later than the version before, within what the format holds', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.bigInt({ min: 0n, max: MAX_BOUND }), (clock, replaced) => {
        const bound = nextBound(clock, replaced);
        expect(bound <= MAX_BOUND).toBe(true);
        expect(bound > replaced || bound === MAX_BOUND).toBe(true);
      }),
    );
  });

  it('is never below zero', () => {
    expect(nextBound(-1)).toBe(0n);
  });
});
