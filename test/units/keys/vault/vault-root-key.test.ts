import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { rootBinding } from '../../../../src/format/root-wrap.ts';
import { vaultRootKey } from '../../../../src/keys/index.ts';
import type { KeyringContext } from '../../../../src/keys/root-key.ts';
import { openRootKeys } from '../../../../src/keys/root-keys.ts';
import { type LongWait, onLongWait } from '../../../../src/waits.ts';
import { CONTEXT } from '../../../contracts/root-key.ts';
import type { RawAnswer } from '../../../stage/fake-transit.ts';
import { openTransitSite, policyOf, type TransitSite } from '../../../stage/transit-site.ts';
import { describeTransit, failureOf, opened } from './transit-claims.ts';

/** For what no test makes a real server do. */
let double: TransitSite;
let folder: string;

beforeAll(async () => {
  double = await openTransitSite();
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-vault-'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await double[Symbol.asyncDispose]();
});
beforeEach(() => {
  for (const name of ['TOKEN', 'TOKEN_FILE', 'ADDR', 'NAMESPACE']) vi.stubEnv(`VAULT_${name}`, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

const fake = () => double.fake ?? expect.fail('no double');

/** Waits for requests, while the clocks of the test stand still. */
async function untilAsked(times: number): Promise<void> {
  while (fake().requests.length < times) await new Promise((resolve) => setImmediate(resolve));
}

describeTransit('The double of Transit');

describe('a request to Transit', () => {
  it('has the key, the binding to the context and nothing else', async () => {
    const { root, token } = await opened(double);
    const before = fake().requests.length;
    const { key, wrapped } = await root.generate({ ...CONTEXT, secret: 'x' } as KeyringContext);
    await root.unwrap(wrapped, CONTEXT);
    const associated_data = Buffer.from(rootBinding(CONTEXT)).toString('base64');
    const sent = fake().requests.slice(before);
    expect(sent.map(({ verb, fields }) => [verb, fields])).toEqual([
      ['encrypt', { plaintext: Buffer.from(key).toString('base64'), associated_data }],
      ['decrypt', { ciphertext: Buffer.from(wrapped).toString(), associated_data }],
    ]);
    expect(new Set(sent.map((request) => request.token))).toEqual(new Set([token]));
    expect(new Set(sent.map(({ namespace }) => namespace))).toEqual(new Set([undefined]));
  });

  it('is not sent by a caller that has left, or for bytes that Transit never wrapped', async () => {
    const { root } = await opened(double);
    const before = fake().requests.length;
    const signal = AbortSignal.abort();
    expect((await failureOf(root.generate(CONTEXT, { signal }))).code).toBe('aborted');
    const boxes = ['vault:v1:', 'vault:v0:AAAA', 'vault:v01:AAAA', 'vault:v1:AA', 'vault:v1:AB==', 'v1:AAAA'];
    for (const text of [...boxes, 'vault:v1:AAAA\n', `vault:v1:${'A'.repeat(8_192)}`]) {
      expect((await failureOf(root.unwrap(Buffer.from(text), CONTEXT))).code).toBe('integrity');
    }
    expect(fake().requests).toHaveLength(before);
  });

  it('is sent once more where the connection broke, and no third time', async () => {
    const { root } = await opened(double);
    fake().answerNext(1, 'break');
    expect((await root.generate(CONTEXT)).key).toHaveLength(32);
    const before = fake().requests.length;
    fake().answerNext(2, 'break');
    expect(await failureOf(root.generate(CONTEXT))).toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/broke/),
    });
    expect(fake().requests.length - before).toBe(2);
  });

  it('is given up with its caller, who is told so', async () => {
    const { root } = await opened(double);
    fake().answerNext(1, 'silence');
    const before = fake().requests.length;
    const caller = new AbortController();
    const asking = failureOf(root.generate(CONTEXT, { signal: caller.signal }));
    await untilAsked(before + 1);
    caller.abort(new Error('of the caller'));
    expect((await asking).code).toBe('aborted');
    expect((await root.generate(CONTEXT)).key).toHaveLength(32);
  });
});

describe('the namespace of a key', () => {
  it('goes into the header where an option gives it, and nowhere else where the URL does', async () => {
    const namespace = (await double.createNamespace()) ?? expect.fail('no namespace');
    await double.api('POST', `${namespace}/transit/keys/root`);
    const inUrl = `${double.endpoint}/${namespace}/transit/keys/root`;
    const token = await double.createToken(policyOf(inUrl));
    await vaultRootKey({ keyUrl: inUrl, token }).generate(CONTEXT);
    expect(fake().requests.at(-1)?.namespace).toBeUndefined();
    const keyUrl = `${double.endpoint}/transit/keys/root`;
    await vaultRootKey({ keyUrl, token, namespace: `${namespace}/` }).generate(CONTEXT);
    expect(fake().requests.at(-1)?.namespace).toBe(namespace);
  });

  it.each(['a b', '../acme', 'acme//team', 'acme\n'])('that reads %j is refused', (namespace) => {
    const keyUrl = 'https://vault.example/transit/keys/root';
    expect(() => vaultRootKey({ keyUrl, namespace })).toThrow(/the namespace is none/);
  });
});

describe('the token', () => {
  const tokenFile = (name: string, token: string): string => {
    const path = join(folder, name);
    writeFileSync(path, `${token}\n`, { mode: 0o600 });
    return path;
  };

  it('in a file is read again once, when it is refused, and the new one is kept', async () => {
    const { keyUrl, token } = await opened(double);
    const file = tokenFile('renewed', token);
    const root = vaultRootKey({ keyUrl, tokenFile: file });
    const { key, wrapped } = await root.generate(CONTEXT);
    await double.revokeToken(token);
    tokenFile('renewed', await double.createToken(policyOf(keyUrl)));
    const before = fake().requests.length;
    expect(await root.unwrap(wrapped, CONTEXT)).toEqual(key);
    expect(fake().requests.length - before).toBe(2);
    expect(await root.unwrap(wrapped, CONTEXT)).toEqual(key);
    expect(fake().requests.length - before).toBe(3);
  });

  it('that stays the refused one is not sent twice, and a new one that is refused too is the last', async () => {
    const { keyUrl, token, root: owner } = await opened(double);
    const { wrapped } = await owner.generate(CONTEXT);
    const file = tokenFile('refused', 'hvs.wrong');
    const root = vaultRootKey({ keyUrl, tokenFile: file });
    const asked = async () => {
      const before = fake().requests.length;
      expect((await failureOf(root.unwrap(wrapped, CONTEXT))).code).toBe('access_denied');
      return fake().requests.length - before;
    };
    expect(await asked()).toBe(1);
    tokenFile('refused', 'hvs.as-wrong');
    expect(await asked()).toBe(2);
    tokenFile('refused', token);
    expect((await root.generate(CONTEXT)).key).toHaveLength(32);
  });

  it('comes from the environment where no option gives one: itself, its file, or the file of its server', async () => {
    const { keyUrl, token } = await opened(double);
    const [root, inFile, inFolder] = [
      vaultRootKey({ keyUrl }),
      vaultRootKey({ keyUrl }),
      vaultRootKey({ keyUrl }),
    ];
    expect(await failureOf(root.generate(CONTEXT))).toMatchObject({
      code: 'access_denied',
      message: expect.stringMatching(/VAULT_TOKEN/),
    });
    vi.stubEnv('VAULT_ADDR', double.endpoint);
    vi.stubEnv('VAULT_TOKEN', token);
    expect((await root.generate(CONTEXT)).key).toHaveLength(32);
    vi.stubEnv('VAULT_TOKEN', '');
    vi.stubEnv('VAULT_TOKEN_FILE', tokenFile('in-file', token));
    expect((await inFile.generate(CONTEXT)).key).toHaveLength(32);
    tokenFile(new URL(keyUrl).host.replace(':', '_'), token);
    vi.stubEnv('VAULT_TOKEN_FILE', `${folder}/`);
    vi.stubEnv('VAULT_ADDR', 'https://another.example');
    expect((await inFolder.generate(CONTEXT)).key).toHaveLength(32);
  });

  it('that is missing in a folder is refused by the name of its file, and a folder without its slash as one', async () => {
    const keyUrl = 'https://vault.example:8200/transit/keys/root';
    const refusal = async (file: string): Promise<string> => {
      vi.stubEnv('VAULT_TOKEN_FILE', file);
      return (await failureOf(vaultRootKey({ keyUrl }).generate(CONTEXT))).message;
    };
    expect(await refusal(`${folder}/`)).toContain('vault.example_8200 in that folder, does not exist');
    expect(await refusal(folder)).toContain('a regular file, or a folder with "/" at its end');
  });

  it('of the environment goes to no other server than that of VAULT_ADDR', async () => {
    const { keyUrl, token } = await opened(double);
    const before = fake().requests.length;
    vi.stubEnv('VAULT_TOKEN', token);
    for (const address of ['https://vault.example', 'nonsense', double.endpoint.replace('http:', 'https:')]) {
      vi.stubEnv('VAULT_ADDR', address);
      expect(await failureOf(vaultRootKey({ keyUrl }).generate(CONTEXT))).toMatchObject({
        code: 'misconfigured',
        message: expect.stringMatching(/VAULT_ADDR/),
      });
    }
    expect(fake().requests).toHaveLength(before);
  });

  it('is given once', async () => {
    vi.stubEnv('VAULT_TOKEN', 'hvs.one');
    vi.stubEnv('VAULT_TOKEN_FILE', '/nowhere');
    const keyUrl = 'https://vault.example/transit/keys/root';
    expect((await failureOf(vaultRootKey({ keyUrl }).generate(CONTEXT))).message).toMatch(/both set/);
  });

  it.each(['', ' hvs.x', 'hvs.x\r\nx-evil: 1', 'hvs.ü', 'x'.repeat(8_193)])(
    'that reads %j is refused before a request is made of it, and is not repeated',
    async (token) => {
      const keyUrl = 'https://vault.example/transit/keys/root';
      const error = await failureOf(vaultRootKey({ keyUrl, token }).generate(CONTEXT));
      expect(error.code).toBe('misconfigured');
      if (token !== '') expect(inspect(error)).not.toContain(token.slice(0, 40));
    },
  );

  it.skipIf(process.platform === 'win32')('in a file that others may read is refused', async () => {
    const { keyUrl, token } = await opened(double);
    const file = tokenFile('open', token);
    chmodSync(file, 0o640);
    const error = await failureOf(vaultRootKey({ keyUrl, tokenFile: file }).generate(CONTEXT));
    expect(error).toMatchObject({ code: 'misconfigured', message: expect.stringMatching(/chmod 600/) });
    expect(inspect(error)).not.toContain(file);
  });
});

describe('an answer of Vault', () => {
  const refusing = (status: number, ...errors: readonly string[]): RawAnswer => ({
    status,
    body: JSON.stringify({ errors }),
  });

  it.each<readonly [string, string, RawAnswer]>([
    ['unavailable', 'that asks for fewer requests', refusing(429, 'request path: rate limit quota exceeded')],
    ['unavailable', 'that it failed', refusing(500, 'internal error')],
    ['unavailable', 'that it is not there', { status: 502, body: '<html>' }],
    ['unavailable', 'that it is no active server', refusing(503, 'Vault is sealed')],
    ['unavailable', 'that it wants a state', refusing(412, 'required index state not present')],
    ['unavailable', 'of a secondary', refusing(472)],
    ['access_denied', 'that it denies', refusing(403, '1 error occurred:\n\t* permission denied\n\n')],
    ['access_denied', 'that no token came', refusing(400, 'missing client token')],
    ['unavailable', 'of a proxy that denies', { status: 403, body: 'Forbidden' }],
    ['key_unavailable', 'that the key is not there', refusing(400, 'encryption key not found')],
    ['key_unavailable', 'that there is no such route', refusing(404)],
    ['unavailable', 'of a server that is none', { status: 404, body: '<html>not found</html>' }],
    ['integrity', 'that it does not open', refusing(400, 'cipher: message authentication failed')],
    [
      'integrity',
      'that it does not open, as older ones say',
      refusing(500, '1 error occurred:\n\t* cipher: message authentication failed\n\n'),
    ],
    ['integrity', 'that it is no ciphertext', refusing(400, 'invalid ciphertext: unable to decrypt')],
    ['misconfigured', 'that it lacks something', refusing(400, "missing 'context' for key derivation")],
    ['misconfigured', 'that it does no such thing', refusing(405, 'unsupported operation')],
    ['unavailable', 'that is not its', { status: 200, body: 'OK' }],
    ['unavailable', 'that is a list', { status: 200, body: '[]' }],
    ['unavailable', 'that is empty', { status: 200, body: '' }],
    ['unavailable', 'without a body', { status: 204, body: '' }],
    ['unavailable', 'without data', { status: 200, body: '{"data":null}' }],
    [
      'unavailable',
      'of a mebibyte',
      { status: 200, body: `{"data":{"plaintext":"${'A'.repeat(1 << 20)}"}}` },
    ],
    ['integrity', 'without a key', { status: 200, body: '{"data":{}}' }],
    ['integrity', 'with a number', { status: 200, body: '{"data":{"plaintext":7,"ciphertext":7}}' }],
    ['integrity', 'with no base64', { status: 200, body: `{"data":{"plaintext":"${'-'.repeat(44)}"}}` }],
    [
      'integrity',
      'with 31 bytes',
      { status: 200, body: JSON.stringify({ data: { plaintext: Buffer.alloc(31).toString('base64') } }) },
    ],
    ['unavailable', 'whose errors are no texts', { status: 400, body: '{"errors":[7]}' }],
  ])('is %s: one %s', async (code, _, answer) => {
    const { root } = await opened(double);
    const { wrapped } = await root.generate(CONTEXT);
    const before = fake().requests.length;
    fake().answerNext(1, answer);
    const error = await failureOf(root.unwrap(wrapped, CONTEXT));
    expect(error.code).toBe(code);
    expect(fake().requests.length - before).toBe(1);
  });

  it('that sends the request on is not followed, whose token is for the server that was named', async () => {
    const { root, keyUrl } = await opened(double);
    const { wrapped } = await root.generate(CONTEXT);
    const before = fake().requests.length;
    const location = keyUrl
      .replace('/keys/', '/decrypt/')
      .replace(`${double.endpoint}/`, `${double.endpoint}/v1/`);
    fake().answerNext(1, { status: 307, body: '', headers: { location } });
    expect((await failureOf(root.unwrap(wrapped, CONTEXT))).code).toBe('unavailable');
    expect(fake().requests.length - before).toBe(1);
  });

  it('that took no notice of the binding is told as a Vault that is too old', async () => {
    const { root } = await opened(double);
    fake().answerNext(1, (right) => ({
      ...right,
      body: right.body.replace(
        '"warnings":null',
        '"warnings":["Endpoint ignored these unrecognized parameters: [associated_data]"]',
      ),
    }));
    expect(await failureOf(root.generate(CONTEXT))).toMatchObject({
      code: 'misconfigured',
      message: expect.stringMatching(/1\.13/),
    });
  });

  it('never comes into an error, nor does the address or the token', async () => {
    const { root, token } = await opened(double);
    const { wrapped, key } = await root.generate(CONTEXT);
    const secret = Buffer.from(key).toString('base64');
    const hostile = [200, 400, 403, 500].flatMap((status) => [
      { status, body: `{"data":{"plaintext":"${secret}x"}` },
      { status, body: JSON.stringify({ errors: [secret, token], data: { plaintext: `${secret}A===` } }) },
    ]);
    for (const answer of hostile) {
      fake().answerNext(1, answer);
      // Trouble of the server before is over.
      const fresh = vaultRootKey({ keyUrl: root.id.replace('vault:', ''), token });
      const told = inspect(await failureOf(fresh.unwrap(wrapped, CONTEXT)), { depth: 9 });
      for (const word of [secret, token, '127.0.0.1', double.mount]) expect(told).not.toContain(word);
    }
    const closed = await openTransitSite();
    const nowhere = vaultRootKey({ keyUrl: await closed.createKey(), token });
    await closed[Symbol.asyncDispose]();
    const error = await failureOf(nowhere.unwrap(wrapped, CONTEXT));
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringMatching(/cannot be reached/) });
    expect(inspect(error, { depth: 9 })).not.toMatch(/127\.0\.0\.1|hvs\./);
  });
});

describe('a Vault that is sealed', () => {
  it('is unavailable, and works again when it is unsealed', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { root } = await opened(double);
    const { key, wrapped } = await root.generate(CONTEXT);
    fake().seal(true);
    expect((await failureOf(root.unwrap(wrapped, CONTEXT))).code).toBe('unavailable');
    fake().seal(false);
    expect((await failureOf(root.unwrap(wrapped, CONTEXT))).code).toBe('unavailable');
    vi.advanceTimersByTime(1_000);
    expect(await root.unwrap(wrapped, CONTEXT)).toEqual(key);
  });
});

describe('a Vault that hangs', () => {
  it('is asked by 16 at once, is late after 15 s, told of after one, and takes nothing of another', async () => {
    const [hanging, other] = [await opened(double), await opened(double)];
    const { wrapped, key } = await other.root.generate(CONTEXT);
    const name = `${double.mount}/${hanging.keyUrl.split('/').at(-1)}`;
    const told: LongWait[] = [];
    const ceaseListening = onLongWait((wait) => told.push(wait));
    fake().hang(name, true);
    vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] });
    try {
      const before = fake().requests.length;
      const asking = Array.from({ length: 100 }, () => failureOf(hanging.root.generate(CONTEXT)));
      await untilAsked(before + 16);
      // No time goes by meanwhile.
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => other.root.unwrap(wrapped, CONTEXT)),
      );
      expect(answers).toEqual(Array(50).fill(key));
      expect(fake().requests.filter(({ key: asked }) => asked === name)).toHaveLength(16);
      await vi.advanceTimersByTimeAsync(14_999);
      expect(told[0]).toEqual({ for: 'Vault', leftMs: 44_000 });
      expect(await Promise.race([...asking, 'all wait'])).toBe('all wait');
      await vi.advanceTimersByTimeAsync(1);
      expect(new Set((await Promise.all(asking)).map(({ code }) => code))).toEqual(new Set(['timeout']));
      expect(fake().requests.filter(({ key: asked }) => asked === name)).toHaveLength(16);
    } finally {
      ceaseListening();
      vi.useRealTimers();
      fake().hang(name, false);
    }
  });
});

describe('the URL of a key', () => {
  it.each([
    'https://vault.example/transit/keys/root',
    'https://vault.example:8200/secrets/transit/keys/acme-2026.1',
    'https://vault.example/acme/team_a/transit/keys/r',
    'https://10.0.0.5:8200/transit/keys/root',
    'https://[2001:db8::1]:8200/transit/keys/root',
    'http://localhost:8200/transit/keys/root',
    'http://127.0.0.1:8200/transit/keys/root',
    'http://[::1]:8200/transit/keys/root',
    'https://vault.example/keys/keys/keys',
  ])('%s is the id behind the scheme', (keyUrl) => {
    expect(vaultRootKey({ keyUrl }).id).toBe(`vault:${keyUrl}`);
    expect(openRootKeys([`vault:${keyUrl}`]).keys[0]?.id).toBe(`vault:${keyUrl}`);
  });

  it.each([
    '',
    'vault.example/transit/keys/root',
    'http://vault.example/transit/keys/root',
    'http://127.0.0.1.example/transit/keys/root',
    'http://localhost.example/transit/keys/root',
    'https://Vault.example/transit/keys/root',
    'https://vault.example:443/transit/keys/root',
    'https://vault.example:/transit/keys/root',
    'https://user:hvs.x@vault.example/transit/keys/root',
    'https://vault.example/v1/transit/keys/root',
    'https://vault.example/keys/root',
    'https://vault.example/transit/keys/root/',
    'https://vault.example/transit/keys/root?token=x',
    'https://vault.example/transit/keys/root#x',
    'https://vault.example/transit//keys/root',
    'https://vault.example/../transit/keys/root',
    'https://vault.example/transit/keys/..',
    'https://vault.example/transit/keys/r%2Foot',
    'https://vault.example/transit/encrypt/root',
    'https://vault.example/transit/keys/root\n',
    'https://010.0.0.5/transit/keys/root',
    'https://[::1/transit/keys/root',
    'https://vault.example:99999/transit/keys/root',
    `https://vault.example/transit/keys/${'r'.repeat(500)}`,
    'vault:https://vault.example/transit/keys/root',
  ])('%j is refused without being repeated', (keyUrl) => {
    const refusal = expect(() => vaultRootKey({ keyUrl }));
    refusal.toThrow(expect.objectContaining({ code: 'misconfigured' }));
    expect(() => vaultRootKey({ keyUrl })).toThrow(/^keyUrl is not the URL of a Transit key/);
    expect(() => openRootKeys(['vault:x', `vault:${keyUrl}`])).toThrow(
      /^Key 1 of rootKey is not "vault:https/,
    );
    expect(() => vaultRootKey({ keyUrl })).not.toThrow(/example/);
  });
});
