import { beforeAll, describe, expect, it } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { concat, domain } from '../../../src/format/encoding.ts';
import { loadSodium, sealBox } from '../../../src/format/sodium.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import type { KeyringContext } from '../../../src/keys/root-key.ts';
import { describeRootKey } from '../../contracts/root-key.ts';
import { canon } from '../../format/forge.ts';
import { added, format1, fromHex, input, scripted, toHex } from '../../format/format-vectors.ts';

beforeAll(loadSodium);

describeRootKey('A key from the environment', async () => ({
  root: envRootKey(input('root')),
  another: envRootKey(input('root2')),
}));

describe('envRootKey', () => {
  const { rootWrap, keys } = format1;
  const context = rootWrap.context as unknown as KeyringContext;

  it('has the id of format 1, from text and from bytes', () => {
    expect(envRootKey(keys['rootText'] ?? '').id).toBe(keys['rootId']);
    expect(envRootKey(input('root')).id).toBe(keys['rootId']);
  });

  it('wraps to the byte', async () => {
    expect(toHex(canon({ keyringId: input('keyringId'), tenant: 'acme' }))).toBe(rootWrap.canon);
    const root = envRootKey(input('root'), { random: scripted(input(rootWrap.nonce), input('KK')) });
    const { key, wrapped } = await root.generate(context);
    expect(toHex(key)).toBe(toHex(input('KK')));
    expect(toHex(wrapped)).toBe(rootWrap.wrapped);
    expect(toHex(await root.unwrap(wrapped, context))).toBe(toHex(input('KK')));
  });

  it.each([31, 33, 0])('refuses an authentic wrap of %i bytes', async (length) => {
    const nonce = input('N33');
    const box = sealBox(new Uint8Array(length), {
      key: fromHex(keys['K_root'] ?? ''),
      nonce,
      additional: concat(domain('root'), fromHex(rootWrap.canon)),
    });
    await expect(envRootKey(input('root')).unwrap(concat(nonce, box), context)).rejects.toMatchObject({
      code: 'integrity',
    });
  });

  it('does not depend on the array it was given', async () => {
    const bytes = input('root');
    const root = envRootKey(bytes);
    bytes.fill(0);
    expect(root.id).toBe(keys['rootId']);
  });

  it.each(added.rootTexts.refuse)('refuses the text %j without repeating it', (text) => {
    const error = refusalOf(() => envRootKey(text));
    expect(error.code).toBe('misconfigured');
    expect(error.message).toBe('A root key must be 32 bytes, or their padded canonical base64.');
    expect(error.details).toEqual({});
  });

  it.each([0, 16, 31, 33, 64])('refuses %i bytes', (length) => {
    expect(refusalOf(() => envRootKey(new Uint8Array(length))).code).toBe('misconfigured');
  });
});

function refusalOf(action: () => unknown): MemoryError {
  try {
    action();
  } catch (error) {
    if (error instanceof MemoryError) return error;
    throw error;
  }
  throw new Error('the key was accepted');
}
