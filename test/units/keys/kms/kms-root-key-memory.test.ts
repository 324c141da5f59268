import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runDoctor } from '../../../../src/cli/keys/doctor.ts';
import { openMemory } from '../../../../src/open/open-memory.ts';
import { optionsFromEnvironment } from '../../../../src/open/options/environment.ts';
import type { MemoryOptions } from '../../../../src/open/options/options.ts';
import { createMemoryPool } from '../../../../src/open/pool.ts';
import type { ObjectStore } from '../../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../../src/tool/memory-tool.ts';
import { type FakeKms, startFakeKms } from '../../../stage/fake-kms.ts';
import { invocationOf } from '../../../stage/invocation.ts';
import { silentLogger } from '../../../stage/silent-logger.ts';

const ENV_KEY = Buffer.alloc(32, 7).toString('base64');
const path = '/memories/f';
const shown = `Here's the content of ${path} with line numbers:\n     1\ttext`;

let kms: FakeKms;
let keyArn: string;
let store: ObjectStore;
let folder: string;

beforeEach(async () => {
  kms = await startFakeKms();
  keyArn = kms.createKey();
  store = openSqliteObjectStore({ path: ':memory:' });
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-test-'));
  vi.stubEnv('AWS_ENDPOINT_URL', undefined);
  vi.stubEnv('AWS_ENDPOINT_URL_KMS', kms.endpoint);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDFROMTHEENVIRONMENT');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_REGION', 'us-west-2');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await kms[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const operations = (): readonly string[] => kms.requests.map(({ operation }) => operation);
const kmsKey = (): string => `aws-kms:${keyArn}`;

/** The options that a test gives: the root key, and others that differ. */
type Keyed = Partial<MemoryOptions> & Pick<MemoryOptions, 'rootKey'>;

async function within<T>(options: Keyed, work: (memory: Memory) => Promise<T>): Promise<T> {
  await using memory = await openMemory({ store, tenant: 'acme', ...options });
  return await work(memory);
}

const create = (memory: Memory) => memory.execute({ command: 'create', path, file_text: 'text' });

async function outcome(options: Keyed): Promise<string> {
  return within({ ...options, lazy: true }, async (memory) => {
    const result = await memory.execute({ command: 'view', path });
    return result.isError ? result.error.code : String(result.content);
  });
}

describe('A memory under a KMS key', () => {
  it('is made with one GenerateDataKey and the Decrypt that proves it, and read by the next process with one Decrypt', async () => {
    await within({ rootKey: kmsKey() }, create);
    expect(operations()).toEqual(['GenerateDataKey', 'Decrypt']);
    await within({ rootKey: kmsKey() }, async (memory) => {
      for (let i = 0; i < 3; i++) {
        expect(await memory.execute({ command: 'view', path })).toMatchObject({ content: shown });
      }
    });
    expect(operations()).toEqual(['GenerateDataKey', 'Decrypt', 'Decrypt']);
    expect(kms.requests.map(({ region }) => region)).toEqual(operations().map(() => 'eu-central-1'));
    const contexts = kms.requests.map(({ body }) => body['EncryptionContext']);
    expect(contexts[0]).toMatchObject({
      app: 'sealed-memory',
      kind: 'keyring',
      tenant: 'acme',
      version: '1',
    });
    expect(contexts).toEqual(operations().map(() => contexts[0]));
  });

  it('is configured by the environment alone', async () => {
    vi.stubEnv('SEALED_MEMORY_STORE', `sqlite:${join(folder, 'store.sqlite')}`);
    vi.stubEnv('SEALED_MEMORY_TENANT', 'acme');
    vi.stubEnv('SEALED_MEMORY_ROOT_KEY', kmsKey());
    {
      await using memory = await openMemory(optionsFromEnvironment());
      expect(await create(memory)).toMatchObject({ isError: false });
    }
    await using again = await openMemory(optionsFromEnvironment());
    expect(await again.execute({ command: 'view', path })).toMatchObject({ content: shown });
    const said = invocationOf({});
    expect(await runDoctor(said.invocation)).toBe(0);
    expect(said.shown).toContain('ok    keyring: opens with the root key\n');
    expect(kms.requests.every(({ accessKeyId }) => accessKeyId === 'AKIDFROMTHEENVIRONMENT')).toBe(true);
  });

  it('takes the general endpoint where KMS has none of its own', async () => {
    vi.stubEnv('AWS_ENDPOINT_URL_KMS', undefined);
    vi.stubEnv('AWS_ENDPOINT_URL', kms.endpoint);
    await within({ rootKey: kmsKey() }, create);
    expect(operations()).toEqual(['GenerateDataKey', 'Decrypt']);
  });

  it('is not read for another tenant, whose keyring it is put in place of', async () => {
    await within({ rootKey: kmsKey() }, create);
    const keyring = await store.get('keyrings/acme' as never);
    if (typeof keyring !== 'object') throw new Error('no keyring');
    await store.put('keyrings/globex' as never, keyring.body, { mode: 'create' });
    expect(await outcome({ rootKey: kmsKey(), tenant: 'globex' })).toBe('integrity');
  });

  it.each([
    ['Disabled', 'key_unavailable'],
    ['PendingDeletion', 'key_unavailable'],
  ] as const)('is not read while the key is %s', async (state, code) => {
    await within({ rootKey: kmsKey() }, create);
    kms.setState(keyArn, state);
    expect(await outcome({ rootKey: kmsKey() })).toBe(code);
    kms.setState(keyArn, 'Enabled');
    expect(await outcome({ rootKey: kmsKey() })).toBe(shown);
  });

  it('is not read with another KMS key, which is not even asked', async () => {
    await within({ rootKey: kmsKey() }, create);
    const before = kms.requests.length;
    expect(await outcome({ rootKey: `aws-kms:${kms.createKey()}` })).toBe('key_unavailable');
    expect(kms.requests).toHaveLength(before);
  });

  it.each(['alias/memory', 'arn:aws:kms:eu-central-1:111122223333:alias/memory', 'nonsense'])(
    'is refused at the start for the key %s',
    async (text) => {
      await expect(openMemory({ store, tenant: 'acme', rootKey: `aws-kms:${text}` })).rejects.toMatchObject({
        code: 'misconfigured',
        message: expect.not.stringContaining('1111'),
      });
      expect(() => createMemoryPool({ store, rootKey: `aws-kms:${text}` })).toThrow(/KMS key/);
    },
  );
});

describe('Moving from a key in the environment to KMS', () => {
  it.each([
    ['before', () => [kmsKey(), ENV_KEY]],
    ['behind', () => [ENV_KEY, kmsKey()]],
  ])('leaves an old memory readable with the KMS key %s the old one', async (_, rootKey) => {
    await within({ rootKey: ENV_KEY }, create);
    expect(await outcome({ rootKey: rootKey() })).toBe(shown);
    expect(operations()).toEqual([]);
    expect(await outcome({ rootKey: kmsKey() })).toBe('key_unavailable');
  });

  it('wraps a new memory with the first key and opens it with either order', async () => {
    await within({ rootKey: [kmsKey(), ENV_KEY] }, create);
    expect(await outcome({ rootKey: [ENV_KEY, kmsKey()] })).toBe(shown);
    expect(operations()).toEqual(['GenerateDataKey', 'Decrypt', 'Decrypt']);
    expect(await outcome({ rootKey: ENV_KEY })).toBe('key_unavailable');
  });
});

describe('A pool under a KMS key', () => {
  it('asks for each tenant with the credentials it was opened with', async () => {
    const of = (tenant: string) => ({
      accessKeyId: `AKID${tenant.toUpperCase()}`,
      secretAccessKey: 'secret',
    });
    for (const tenant of ['acme', 'globex']) kms.allowOnly(of(tenant).accessKeyId, tenant);
    await using pool = createMemoryPool({ store, rootKey: kmsKey() });
    for (const tenant of ['acme', 'globex']) {
      const memory = await pool.open(tenant, { credentials: of(tenant) });
      expect(await create(memory)).toMatchObject({ isError: false });
    }
    expect(kms.requests.map(({ accessKeyId }) => accessKeyId)).toEqual(
      ['AKIDACME', 'AKIDGLOBEX'].flatMap((each) => [each, each]),
    );
    const intruder = await pool.open('third', { credentials: of('globex') });
    expect(await create(intruder)).toMatchObject({ isError: true, error: { code: 'access_denied' } });
  });

  it('uses the credentials of its options for every other tenant', async () => {
    const credentials = { accessKeyId: 'AKIDOFTHEPOOL', secretAccessKey: 'secret' };
    await using pool = createMemoryPool({ store, rootKey: kmsKey(), credentials });
    await create(await pool.open('acme'));
    await create(await pool.open('globex'));
    expect(kms.requests.map(({ accessKeyId }) => accessKeyId)).toEqual(Array(4).fill('AKIDOFTHEPOOL'));
  });
});

describe('A pool whose KMS is in trouble', () => {
  const view = { command: 'view', path };
  const tenants = Array.from({ length: 20 }, (_, index) => `tenant-${index}`);

  it.each([
    ['throttles', { type: 'ThrottlingException' }],
    ['fails', { type: 'KMSInternalException', status: 500 }],
  ])(
    'asks one that %s once a second for all tenants, and works at once when that passes',
    async (_, trouble) => {
      await using pool = createMemoryPool({
        store,
        rootKey: kmsKey(),
        keyring: { ttlMs: 0 },
        logger: silentLogger,
      });
      const memories = await Promise.all(tenants.map((tenant) => pool.open(tenant)));
      await Promise.all(memories.map(create));
      kms.meet('Decrypt', trouble);
      const [first] = memories;
      await first?.execute(view);
      const [before, began] = [kms.requests.length, performance.now()];
      for (let round = 0; round < 3; round++) {
        for (const memory of memories) {
          expect(await memory.execute(view)).toMatchObject({ error: { code: 'unavailable' } });
        }
      }
      const seconds = Math.ceil((performance.now() - began) / 1_000);
      expect(kms.requests.length - before).toBeLessThanOrEqual(seconds);
      kms.meet('Decrypt', undefined);
      await vi.waitFor(
        async () => expect(await first?.execute(view)).toMatchObject({ content: shown }),
        10_000,
      );
    },
  );

  it('goes on with every tenant whose credentials are not refused', async () => {
    const of = (tenant: string) => ({ accessKeyId: `AKID${tenant}`, secretAccessKey: 'secret' });
    await using pool = createMemoryPool({ store, rootKey: kmsKey(), logger: silentLogger });
    kms.allowOnly('AKIDrefused', '');
    const refused = await pool.open('refused', { credentials: of('refused') });
    expect(await create(refused)).toMatchObject({ error: { code: 'access_denied' } });
    const hanging = await pool.open('hanging', { credentials: () => new Promise(() => {}) });
    const signal = AbortSignal.timeout(50);
    const held = hanging.execute({ command: 'create', path, file_text: 'text' }, { signal });
    expect(await held).toMatchObject({ error: { code: 'aborted' } });
    expect(await create(await pool.open('allowed', { credentials: of('allowed') }))).toMatchObject({
      isError: false,
    });
  });

  it('goes on under the KMS key of another pool', async () => {
    await using pool = createMemoryPool({ store, rootKey: kmsKey(), logger: silentLogger });
    await using other = createMemoryPool({ store, rootKey: `aws-kms:${kms.createKey()}` });
    kms.failNext(3, { type: 'KMSInternalException', status: 500 });
    expect(await create(await pool.open('acme'))).toMatchObject({ error: { code: 'unavailable' } });
    expect(await create(await other.open('globex'))).toMatchObject({ isError: false });
  });
});

describe('The SDK of KMS', () => {
  it('is loaded at the first use of a KMS key and never without one', async () => {
    expect(await loadsKms(ENV_KEY)).toEqual({ atStart: false, afterUse: false, isError: false });
    expect(await loadsKms(kmsKey())).toEqual({ atStart: false, afterUse: true, isError: false });
  });
});

/** Tells whether a process of its own has loaded the SDK once a memory is open, and once a file was created. */
async function loadsKms(rootKey: string): Promise<unknown> {
  const index = new URL('../../../../src/index.ts', import.meta.url).href;
  const script = `
    import { registerHooks } from 'node:module';
    let loaded = false;
    registerHooks({
      load(url, context, next) {
        loaded ||= url.includes('/@aws-sdk/client-kms/');
        return next(url, context);
      },
    });
    const { openMemory } = await import(${JSON.stringify(index)});
    const memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: ${JSON.stringify(rootKey)} });
    const atStart = loaded;
    const { isError } = await memory.execute({ command: 'create', path: '/memories/f', file_text: 'x' });
    await memory.close();
    console.log(JSON.stringify({ atStart, afterUse: loaded, isError }));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  return JSON.parse(stdout);
}
