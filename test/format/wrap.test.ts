import { beforeAll, describe, expect, it } from 'vitest';
import type { LogicalName } from '../../src/format/logical-name.ts';
import { deriveTenantKey } from '../../src/format/sealing-keys.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import { openWrap, type WrapBinding } from '../../src/format/wrap.ts';
import { forgeObject } from '../support/forge.ts';
import { input } from '../support/format-vectors.ts';
import { keyringFields, objectFields } from '../support/vector-parts.ts';

beforeAll(loadSodium);

const binding = (): WrapBinding => ({
  wrapKey: deriveTenantKey(input('TK1')).wrapKey,
  keyringId: input('keyringId'),
  tenant: 'acme',
  name: '/memories/notes/a.txt' as LogicalName,
});

const forged = (fields: {
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
      length: '1073741823',
      mtime: '9007199254740991',
      bound: '9223372036854775807',
      previous: 'contentId2',
      writer: 'keyringId',
      origin: 'origin',
    });
    expect(openWrap(object, binding())).toEqual({
      dataKey: input('DEK'),
      length: 2 ** 30 - 1,
      mtime: Number.MAX_SAFE_INTEGER,
      bound: 2n ** 63n - 1n,
      previous: input('contentId2'),
      writer: input('keyringId'),
      origin: input('origin'),
    });
  });

  it.each([
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
