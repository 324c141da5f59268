import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import type { ObjectKey } from '../../../src/format/object-keys.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions, MountOptions } from '../../../src/open/options/options.ts';
import { createMemoryPool } from '../../../src/open/pool.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import {
  type AwsCredentialIdentity,
  type AwsCredentialIdentityProvider,
  createCredentialSource,
} from '../../../src/store/s3/callers-credentials.ts';
import { openS3ObjectStore } from '../../../src/store/s3/s3-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { S3_CLIENTS } from '../../stage/s3-clients.ts';
import { silentLogger } from '../../stage/silent-logger.ts';

const BOUND_MS = 60_000;
const IDENTITY: AwsCredentialIdentity = { accessKeyId: 'id', secretAccessKey: 'secret' };
const CREATE = { command: 'create', path: '/memories/a', file_text: 'text' };

let server: Server;
let endpoint: string;
/** Requests that reached the bucket. */
let received: number;
/** The access key with which each was signed, and the tenant whose objects it asks for. */
let signed: string[];
let credentials: AwsCredentialIdentityProvider;
/** Resolves when the provider was asked. */
let asked: PromiseWithResolvers<void>;

beforeEach(async () => {
  received = 0;
  signed = [];
  asked = Promise.withResolvers();
  server = createServer(({ headers, url }, response) => {
    received += 1;
    const [, key] = /Credential=([^/]+)\//.exec(headers.authorization ?? '') ?? [];
    const [, tenant] = /\b(acme|org|team)\b/.exec(decodeURIComponent(url ?? '')) ?? [];
    signed.push(`${tenant} by ${key}`);
    response
      .writeHead(403, { 'content-type': 'application/xml' })
      .end('<Error><Code>AccessDenied</Code></Error>');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  vi.useRealTimers();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const fakeTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });

function given(client: (typeof S3_CLIENTS)[number]): Omit<MemoryOptions, 'tenant'> {
  return {
    store: 's3://bucket/prefix',
    rootKey: Buffer.alloc(32, 7),
    s3: { endpoint, region: 'us-east-1', client },
    logger: silentLogger,
    lazy: true,
  };
}

const provider: AwsCredentialIdentityProvider = (properties) => {
  asked.resolve();
  return credentials(properties);
};

/** The ways to hand a provider in; each opens a memory that asks nothing but it. */
const WAYS = S3_CLIENTS.flatMap((client) => [
  [
    `openMemory, ${client}`,
    () => openMemory({ ...given(client), tenant: 'acme', credentials: provider }),
  ] as const,
  [
    `pool.open, ${client}`,
    async () => {
      const pool = createMemoryPool(given(client));
      const memory = await pool.open('acme', { credentials: provider });
      return { ...memory, close: () => pool.close() } satisfies Memory;
    },
  ] as const,
]);

async function codeOf(work: ReturnType<Memory['execute']>): Promise<string> {
  const result = await work;
  return result.isError ? result.error.code : 'done';
}

describe.each(WAYS)('a provider of credentials, by %s', (_, open) => {
  it('that never answers holds no caller who cancels, and its late answer sends nothing', async () => {
    const late = Promise.withResolvers<AwsCredentialIdentity>();
    credentials = () => late.promise;
    const memory = await open();
    const caller = new AbortController();
    const outcome = codeOf(memory.execute(CREATE, { signal: caller.signal }));
    await asked.promise;
    caller.abort();
    expect(await outcome).toBe('aborted');
    await memory.close();
    late.resolve(IDENTITY);
    await new Promise((resolve) => setImmediate(resolve));
    expect(received).toBe(0);
  });

  it('that never answers is given up after a minute, and asked again', async () => {
    const late = Promise.withResolvers<AwsCredentialIdentity>();
    credentials = () => late.promise;
    const memory = await open();
    fakeTime();
    const outcome = codeOf(memory.execute(CREATE));
    await asked.promise;
    await vi.advanceTimersByTimeAsync(BOUND_MS);
    expect(await outcome).toBe('unavailable');
    vi.useRealTimers();
    expect(received).toBe(0);
    credentials = async () => IDENTITY;
    await vi.waitFor(async () => expect(await codeOf(memory.execute(CREATE))).toBe('access_denied'), 5_000);
    expect(received).toBeGreaterThan(0);
    await memory.close();
    late.resolve(IDENTITY);
  });

  it.each([
    [
      'throws',
      () => {
        throw new MemoryError('access_denied', 'no');
      },
      'access_denied',
    ],
    ['rejects', () => Promise.reject(new MemoryError('unavailable', 'no')), 'unavailable'],
    ['rejects with nothing', () => Promise.reject(), undefined],
    ['answers nothing', async () => undefined, 'access_denied'],
    ['answers rubbish', async () => ({ accessKeyId: 5, secretAccessKey: {} }), 'access_denied'],
    [
      'answers with an expiration that is none',
      async () => ({ ...IDENTITY, expiration: 'soon' }),
      'access_denied',
    ],
  ] as readonly (readonly [string, () => Promise<never>, string | undefined])[])(
    'that %s fails the call as a MemoryError, sends nothing unsigned, and is closed',
    async (_name, wrong, code) => {
      credentials = wrong;
      const memory = await open();
      const result = await memory.execute(CREATE);
      expect(result).toMatchObject({ isError: true, error: { name: 'MemoryError' } });
      if (code !== undefined && result.isError) expect(result.error.code).toBe(code);
      await memory.close();
    },
  );
});

describe.each(S3_CLIENTS)('credentials of a mount, %s', (client) => {
  it('sign what is asked of its tenant, in the same bucket or another; those of the memory sign the rest', async () => {
    const other = { accessKeyId: 'other', secretAccessKey: 'secret' };
    const options = { ...given(client), tenant: 'acme', credentials: IDENTITY };
    const signers = async (mount: Partial<MountOptions>): Promise<readonly string[]> => {
      signed.length = 0;
      const mounts = [
        { at: '/memories/org', tenant: 'org', ...mount },
        { at: '/memories/team', tenant: 'team' },
      ];
      await using memory = await openMemory({ ...options, mounts });
      for (const path of ['/memories/a', '/memories/org/a', '/memories/team/a']) {
        expect(await codeOf(memory.execute({ command: 'view', path }))).toBe('access_denied');
      }
      return [...new Set(signed)].sort();
    };
    expect(await signers({})).toEqual(['acme by id', 'org by id', 'team by id']);
    const own = ['acme by id', 'org by other', 'team by id'];
    expect(await signers({ credentials: other })).toEqual(own);
    expect(await signers({ credentials: other, store: 's3://other' })).toEqual(own);
    expect(await signers({ store: 's3://other' })).toEqual(['acme by id', 'org by id', 'team by id']);
  });
});

describe('a source of credentials', () => {
  it('asks its provider again after one that never answered', async () => {
    fakeTime();
    const calls: (() => Promise<AwsCredentialIdentity>)[] = [
      () => new Promise(() => {}),
      async () => IDENTITY,
    ];
    const source = createCredentialSource(() => calls.shift()?.() ?? Promise.reject());
    const first = source.provider().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(BOUND_MS);
    expect(await first).toMatchObject({ code: 'unavailable' });
    expect(await source.provider()).toMatchObject(IDENTITY);
  });
});

describe.each(S3_CLIENTS)('a request to S3 whose credentials never come, by the client %s', (client) => {
  const key = 'data/file' as ObjectKey;
  const asks: Readonly<Record<string, (store: ObjectStore, signal: AbortSignal) => Promise<unknown>>> = {
    get: (store, signal) => store.get(key, { signal }),
    head: (store, signal) => store.head(key, { signal }),
    put: (store, signal) => store.put(key, new Uint8Array(5), { mode: 'create', signal }),
    'put in parts': (store, signal) => store.put(key, new Uint8Array(6_000_000), { mode: 'create', signal }),
    delete: (store, signal) => store.delete([{ key }], { signal }),
    list: async (store, signal) => {
      for await (const _ of store.list({ prefix: 'data/', signal }));
    },
  };

  it.each(Object.keys(asks))(
    'ends with its caller, and is never sent: %s',
    async (verb) => {
      const late = Promise.withResolvers<AwsCredentialIdentity>();
      credentials = () => late.promise;
      const place = { bucket: 'bucket', endpoint, region: 'us-east-1', client, partBytes: 5_242_880 };
      await using store = openS3ObjectStore({ ...place, credentials: provider });
      const caller = new AbortController();
      const outcome = asks[verb]?.(store, caller.signal).catch((error: unknown) => error);
      await asked.promise;
      caller.abort();
      expect(await outcome).toMatchObject({ code: 'aborted' });
      late.resolve(IDENTITY);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      expect(received).toBe(0);
    },
    10_000,
  );
});
