import fs, {
  lstatSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { MemoryError } from '../../../src/errors.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import {
  createRootKeyFile,
  openRootKeys,
  parseRootKeys,
  type RootKeyInput,
  readRootKeyFile,
} from '../../../src/keys/root-keys.ts';
import { CONTEXT } from '../../contracts/root-key.ts';
import { type FakeKms, startFakeKms } from '../../stage/fake-kms.ts';

/** Its base64 holds both `+` and `/`. */
const bytes = Uint8Array.from({ length: 32 }, (_, index) => (index % 2 === 0 ? 0xfb : 0xff));
const base64 = Buffer.from(bytes).toString('base64');
const HOW =
  'A root key is base64 of 32 bytes, which "openssl rand -base64 32" makes ("sealed-memory init" writes a file with it), or "aws-kms:" and a key ARN, or "vault:" and the URL of a Transit key.';
const keyArn = 'arn:aws:kms:eu-central-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';

beforeAll(loadSodium);

function refusalOf(action: () => unknown): MemoryError {
  try {
    action();
  } catch (error) {
    expect(error).toMatchObject({ name: 'MemoryError', code: 'misconfigured' });
    return error as MemoryError;
  }
  throw new Error('it was accepted');
}

const none = 'is no text, no Uint8Array, and no object with generate and unwrap';
const forUrls =
  'looks like base64 for URLs, or without its end: write "+" for "-", "/" for "_", and "=" at the end';
const hexadecimal = 'looks hexadecimal, and has not the length of a root key';
const noKey = 'is not base64 of 32 bytes';
const unpadded = base64.slice(0, -1);

/** The words behind the name of a thing that is no root key. */
const FAULTS: readonly (readonly [said: string, key: unknown])[] = [
  ['is empty', ''],
  ['is white space alone', ' '],
  ['has white space around it', ` ${base64}`],
  ['has white space around it', `${base64}\n`],
  ['looks hexadecimal: "xxd -r -p | base64" makes base64 of it', '0123456789abcdef'.repeat(4)],
  ['looks hexadecimal: "xxd -r -p | base64" makes base64 of it', '0123456789ABCDEF'.repeat(4)],
  [hexadecimal, 'f'.repeat(63)],
  [hexadecimal, 'f'.repeat(65)],
  [hexadecimal, 'f'.repeat(16)],
  [noKey, 'f'.repeat(15)],
  [noKey, `${'f'.repeat(17)}:`],
  [noKey, `:${'f'.repeat(17)}`],
  ['looks like an ARN without "aws-kms:" before it', keyArn],
  ['looks like an ARN without "aws-kms:" before it', 'ARN:'],
  [noKey, 'an arn:aws'],
  ['is base64 of 31 bytes, not of 32', Buffer.alloc(31, 'é').toString('base64')],
  ['is base64 of 33 bytes, not of 32', Buffer.alloc(33, 'é').toString('base64')],
  [forUrls, unpadded],
  [forUrls, `${base64}=`],
  [forUrls, Buffer.from(bytes).toString('base64url')],
  [forUrls, `${unpadded.replaceAll('+', '-')}==`],
  [forUrls, base64.replaceAll('/', '_')],
  [noKey, `=${unpadded}`],
  [noKey, unpadded.slice(1)],
  [noKey, 'correct horse battery staple'],
  ['has 0 bytes, not 32', new Uint8Array(0)],
  ['has 31 bytes, not 32', new Uint8Array(31)],
  ['has 33 bytes, not 32', new Uint8Array(33)],
  ['has 43 bytes, not 32', new Uint8Array(43)],
  ['has 44 bytes, not 32: Buffer.from(text, "base64") makes them of a text', Buffer.from(base64)],
  [none, undefined],
  [none, null],
  [none, 7],
  [none, { id: 'own', generate: () => {} }],
  [none, { id: 'own', unwrap: () => {} }],
];

describe('a thing that is no root key', () => {
  it.each(FAULTS)('%s: %o', (said, key) => {
    const open = (...keys: readonly unknown[]) =>
      refusalOf(() => openRootKeys(keys as readonly RootKeyInput[])).message;
    expect(open(key)).toBe(`rootKey ${said}. ${HOW}`);
    expect(open(bytes, key)).toBe(`Key 2 of rootKey ${said}. ${HOW}`);
  });

  it('is named by the label that it was given, at the beginning of a sentence', () => {
    const said = (label: string, ...keys: readonly string[]) =>
      refusalOf(() => openRootKeys(keys, undefined, label)).message.replace(` is empty. ${HOW}`, '');
    expect(said('the key', '')).toBe('The key');
    expect(said('KEY of the file', '')).toBe('KEY of the file');
    expect(said('the key', base64, '')).toBe('Key 2 of the key');
  });

  it('is a list without one', () => {
    expect(refusalOf(() => openRootKeys([])).message).toMatch(/^rootKey is empty/);
    expect(refusalOf(() => openRootKeys([], undefined, 'the option')).message).toMatch(
      /^the option is empty/,
    );
  });

  it.each(['aws-kms:', 'aws-kms:nonsense', `aws-kms: ${keyArn}`, 'aws-kms:alias/memory'])(
    'is %s, whose place among the keys is told',
    (key) => {
      expect(refusalOf(() => openRootKeys([key])).message).toMatch(/^rootKey .*arn:aws:kms:REGION/);
      expect(refusalOf(() => openRootKeys([base64, key])).message).toMatch(/^Key 2 of rootKey /);
      expect(refusalOf(() => parseRootKeys([key], 'KEY')).message).toMatch(/^KEY /);
    },
  );
});

describe('the texts of root keys', () => {
  it('are read without the white space around them, into a list that stays as it is', () => {
    const keys = parseRootKeys([` ${base64}\n`, `\taws-kms:${keyArn} `], 'KEY');
    expect(keys).toEqual([base64, `aws-kms:${keyArn}`]);
    expect(keys).toSatisfy(Object.isFrozen);
  });

  it.each([
    ['', 'is empty'],
    [' \n', 'is white space alone'],
    [' key ', noKey],
  ])('are refused for %j, which %s', (text, said) => {
    expect(refusalOf(() => parseRootKeys([text], 'KEY')).message).toBe(`KEY ${said}. ${HOW}`);
    expect(refusalOf(() => parseRootKeys([base64, text], 'KEY')).message).toBe(
      `Key 2 of KEY ${said}. ${HOW}`,
    );
  });
});

describe('root keys outside KMS', () => {
  const own = {
    id: 'own',
    generate: vi.fn<RootKey['generate']>(),
    unwrap: vi.fn<RootKey['unwrap']>(),
  } satisfies RootKey;

  it('are the same for all credentials, in the order of their list', () => {
    const credentials = { accessKeyId: 'AKID', secretAccessKey: 'secret' };
    const opened = openRootKeys([base64, new Uint8Array(32).fill(1), own]);
    const ids = [envRootKey(bytes).id, envRootKey(new Uint8Array(32).fill(1)).id, 'own'];
    expect(opened.keys.map((key) => key.id)).toEqual(ids);
    expect(opened.withCredentials(credentials)).toEqual(opened.keys);
    for (const [index, key] of opened.withCredentials(credentials).entries()) {
      expect(key).toBe(opened.keys[index]);
    }
  });

  it('of the caller’s are asked with all that they were asked with, and are held to the port', async () => {
    const [key] = openRootKeys([own]).keys;
    const answer = { key: new Uint8Array(32).fill(3), wrapped: new Uint8Array(4).fill(4) };
    own.generate.mockResolvedValueOnce(answer).mockRejectedValueOnce(new Error('secret'));
    own.unwrap.mockResolvedValueOnce(answer.key).mockResolvedValueOnce(new Uint8Array(31));
    const { signal } = new AbortController();
    expect(await key?.generate(CONTEXT, { signal })).toEqual(answer);
    expect(await key?.unwrap(answer.wrapped, CONTEXT, { signal })).toBe(answer.key);
    expect(own.generate.mock.calls).toEqual([[CONTEXT, { signal }]]);
    expect(own.unwrap.mock.calls).toEqual([[answer.wrapped, CONTEXT, { signal }]]);
    await expect(key?.generate(CONTEXT)).rejects.toMatchObject({ code: 'unavailable' });
    await expect(key?.unwrap(answer.wrapped, CONTEXT)).rejects.toMatchObject({ code: 'integrity' });
  });
});

describe('root keys in KMS', () => {
  let kms: FakeKms;
  beforeEach(async () => {
    kms = await startFakeKms();
    vi.stubEnv('AWS_ENDPOINT_URL', undefined);
    vi.stubEnv('AWS_ENDPOINT_URL_KMS', kms.endpoint);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await kms[Symbol.asyncDispose]();
  });

  it('are reached with the first credentials, and with others for who brings them', async () => {
    const of = (accessKeyId: string) => ({ accessKeyId, secretAccessKey: 'secret' });
    const input = `aws-kms:${kms.createKey()}`;
    const opened = openRootKeys([input, base64], of('AKIDFIRST'));
    const [[first], [other, outside]] = [opened.keys, opened.withCredentials(of('AKIDOTHER'))];
    expect([first?.id, other?.id, outside?.id]).toEqual([input, input, envRootKey(bytes).id]);
    const made = await first?.generate(CONTEXT);
    expect(await other?.unwrap(made?.wrapped ?? bytes, CONTEXT)).toEqual(made?.key);
    expect(kms.requests.map(({ operation, accessKeyId }) => [operation, accessKeyId])).toEqual([
      ['GenerateDataKey', 'AKIDFIRST'],
      ['Decrypt', 'AKIDOTHER'],
    ]);
  });
});

describe('the file of a root key', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-root-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  afterEach(() => {
    vi.restoreAllMocks();
  });
  const modeOf = (path: string) => statSync(path).mode & 0o777;

  it('is made for its owner alone, in a folder that is too, and is on the disk', () => {
    const flushed = vi.spyOn(fs, 'fsyncSync');
    const path = join(folder, 'a', 'b', 'key');
    createRootKeyFile(path, `${base64}\n`);
    expect(readRootKeyFile(path, 'KEY')).toBe(base64);
    expect(modeOf(path)).toBe(0o600);
    expect([join(folder, 'a'), join(folder, 'a', 'b')].map(modeOf)).toEqual([0o700, 0o700]);
    expect(flushed).toHaveBeenCalledTimes(1);
    createRootKeyFile(join(folder, 'a', 'b', 'second'), base64);
  });

  it('is never made in the place of another thing', () => {
    const [taken, link] = [join(folder, 'taken'), join(folder, 'link')];
    writeFileSync(taken, 'text');
    symlinkSync(join(folder, 'nowhere'), link);
    for (const path of [taken, link, folder]) {
      const error = refusalOf(() => createRootKeyFile(path, base64));
      expect(error.message).toMatch(/exists already and is never overwritten/);
      expect(error.cause).toBeUndefined();
    }
    expect(readFileSync(taken, 'utf8')).toBe('text');
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
  });

  it('is not made where the disk refuses, which is told without the path', () => {
    writeFileSync(join(folder, 'plain'), '');
    const error = refusalOf(() => createRootKeyFile(join(folder, 'plain', 'inside', 'key'), base64));
    expect(error.message).toMatch(/cannot be created \(ENOTDIR\)/);
    expect(error.cause).toMatchObject({ code: 'ENOTDIR' });
    expect(String(error.cause)).not.toContain(folder);
  });

  it('that is missing is told with what to do, and one too large with what it should be', () => {
    const missing = refusalOf(() => readRootKeyFile(join(folder, 'missing'), 'KEY'));
    expect(missing.message).toMatch(/KEY does not exist: .*"sealed-memory init" makes one/);
    const large = join(folder, 'large');
    writeFileSync(large, 'k'.repeat(16_385), { mode: 0o600 });
    expect(refusalOf(() => readRootKeyFile(large, 'KEY')).message).toMatch(
      /KEY is too large to be a root key/,
    );
  });
});
