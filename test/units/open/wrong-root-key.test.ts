import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { optionsFromEnvironment } from '../../../src/open/options/environment.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import { readSettings } from '../../../src/open/options/settings.ts';

const bytes = randomBytes(32);
const base64 = bytes.toString('base64');
const REMEDY =
  'A root key is base64 of 32 bytes, which "openssl rand -base64 32" makes ("sealed-memory init" writes a file with it), or "aws-kms:" and a key ARN, or "vault:" and the URL of a Transit key.';

const refusal = (read: () => Partial<MemoryOptions>): string => {
  try {
    readSettings(read());
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
};

/** The values that are no key, and the words after the option's name that say so. */
const WRONG: readonly (readonly [what: string, key: unknown, said: string])[] = [
  ['empty', '', 'is empty'],
  ['white space', ' \n\t', 'is white space alone'],
  ['followed by a line break', `${base64}\n`, 'has white space around it'],
  [
    '32 bytes in hexadecimal digits',
    bytes.toString('hex'),
    'looks hexadecimal: "xxd -r -p | base64" makes base64 of it',
  ],
  [
    '16 bytes in hexadecimal digits',
    bytes.toString('hex').slice(0, 32).toUpperCase(),
    'looks hexadecimal, and has not the length of a root key',
  ],
  ['short', randomBytes(15).toString('base64'), 'is base64 of 15 bytes, not of 32'],
  ['long', randomBytes(48).toString('base64'), 'is base64 of 48 bytes, not of 32'],
  [
    'base64 for URLs',
    Buffer.alloc(32, 251).toString('base64url'),
    'looks like base64 for URLs, or without its end: write "+" for "-", "/" for "_", and "=" at the end',
  ],
  [
    'an ARN alone',
    'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab',
    'looks like an ARN without "aws-kms:" before it',
  ],
  ['a pass phrase', 'correct horse battery staple', 'is not base64 of 32 bytes'],
  ['16 bytes', bytes.subarray(0, 16), 'has 16 bytes, not 32'],
  [
    'the letters of base64 as bytes',
    Buffer.from(base64),
    'has 44 bytes, not 32: Buffer.from(text, "base64") makes them of a text',
  ],
  ['a number', 5, 'is no text, no Uint8Array, and no object with generate and unwrap'],
  ['null', null, 'is no text, no Uint8Array, and no object with generate and unwrap'],
  ['an object', { id: 'x' }, 'is no text, no Uint8Array, and no object with generate and unwrap'],
];

describe('a root key that is none', () => {
  it.each(WRONG)('is told what it looks like and how to make one, and never shown: %s', (_, key, said) => {
    const given = { store: 'memory:', tenant: 'acme' };
    const told = refusal(() => ({ ...given, rootKey: key as string }));
    expect(told).toBe(`rootKey ${said}. ${REMEDY}`);
    const second = refusal(() => ({ ...given, rootKey: [bytes, key as string] }));
    expect(second).toBe(`Key 2 of rootKey ${said}. ${REMEDY}`);
    if (typeof key !== 'string' || key.trim() !== key || key === '') return;
    for (let at = 0; at + 6 <= key.length; at++) expect(told).not.toContain(key.slice(at, at + 6));
    const env = {
      SEALED_MEMORY_STORE: 'memory:',
      SEALED_MEMORY_TENANT: 'acme',
      SEALED_MEMORY_ROOT_KEY: key,
    };
    expect(refusal(() => optionsFromEnvironment(env))).toBe(`SEALED_MEMORY_ROOT_KEY ${said}. ${REMEDY}`);
  });

  it('is told how to make one where it is missing or white space in its variable', () => {
    const env = { SEALED_MEMORY_STORE: 'memory:', SEALED_MEMORY_TENANT: 'acme' };
    expect(refusal(() => optionsFromEnvironment(env))).toContain(REMEDY);
    expect(refusal(() => optionsFromEnvironment({ ...env, SEALED_MEMORY_ROOT_KEY: '  ' }))).toBe(
      `SEALED_MEMORY_ROOT_KEY is white space alone. ${REMEDY}`,
    );
  });
});
