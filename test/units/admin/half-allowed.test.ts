import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MemoryError } from '../../../src/errors.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions } from '../../../src/open/options/options.ts';
import type { TenantAdmin } from '../../../src/open/tenant-admin.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { type FakeKms, type KmsOperation, startFakeKms } from '../../stage/fake-kms.ts';
import { silentLogger } from '../../stage/silent-logger.ts';
import { interceptStore, type StoreCall } from '../../stage/store-wrappers.ts';
import { succeed } from '../../stage/succeed.ts';

const ENV_KEY = Buffer.alloc(32, 7).toString('base64');
const HOUR = 3_600_000;
const TEXTS = { '/memories/a': 'text of a', '/memories/b/c': 'text of c' };

let kms: FakeKms;
let kmsKey: string;
let store: ObjectStore;
let folder: string;
/** How far the store's clock is ahead of this machine's. */
let ahead: number;

beforeEach(async () => {
  ahead = 0;
  kms = await startFakeKms();
  kmsKey = `aws-kms:${kms.createKey()}`;
  store = openSqliteObjectStore({ path: ':memory:', clock: () => Date.now() + ahead });
  folder = mkdtempSync(join(tmpdir(), 'sealed-memory-half-'));
  vi.stubEnv('AWS_ENDPOINT_URL', undefined);
  vi.stubEnv('AWS_ENDPOINT_URL_KMS', kms.endpoint);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDFROMTHEENVIRONMENT');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await kms[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const during = (): readonly string[] => [kmsKey, ENV_KEY];
const back = (): readonly string[] => [ENV_KEY, kmsKey];

function options(rootKey: readonly string[], more: Partial<MemoryOptions> = {}): MemoryOptions {
  return { store, tenant: 'acme', rootKey, logger: silentLogger, ...more };
}

async function within<T>(given: MemoryOptions, work: (admin: TenantAdmin) => Promise<T>): Promise<T> {
  await using admin = await openAdmin(given);
  return await work(admin);
}

/** Files under the environment's key, one of them under a tenant key that can be retired. */
async function stock(): Promise<void> {
  await using memory = await openMemory(options([ENV_KEY]));
  for (const [path, file_text] of Object.entries(TEXTS)) {
    await succeed(memory, { command: 'create', path, file_text });
  }
  await within(options([ENV_KEY]), async (admin) => {
    await admin.rotate();
    ahead = HOUR / 2 + 60_000;
  });
}

/** Answers what a new process reads of all that was stocked. */
async function textsUnder(rootKey: readonly string[]): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const path of Object.keys(TEXTS)) {
    await using memory = await openMemory(options(rootKey, { lazy: true }));
    texts[path] = (await memory.files.read(path))?.text() ?? 'none';
  }
  return texts;
}

/** Carries a verb out, and says whether it did all it is for, or told what it left. */
type Verb = (admin: TenantAdmin) => Promise<'done' | 'told' | 'neither'>;

const doneIf = (isDone: boolean): 'done' | 'neither' => (isDone ? 'done' : 'neither');

/** The verbs that write the keyring, by whatever root key comes first. */
const WRITING: Readonly<Record<string, Verb>> = {
  'keys rewrap-root': async (admin) => doneIf((await admin.rewrapRoot({ force: true })).rewrapped),
  'keys rotate': async (admin) => doneIf((await admin.rotate({ force: true })).rotated),
  'keys migrate': async (admin) => {
    const { retired, problems } = await admin.migrate();
    return problems.length > 0 ? 'told' : doneIf(retired.length === 1);
  },
  'tenant history on': async (admin) => doneIf((await admin.switchHistory('on')).changed),
};

const OTHERS: Readonly<Record<string, Verb>> = {
  'keys status': async (admin) => doneIf((await admin.keyStatus()).state === 'open'),
  'keys show-root': async (admin) => {
    const { keyring, failure } = await admin.rootKeyStatus();
    return failure === undefined ? doneIf(keyring === 'open') : 'told';
  },
  'names encode': async (admin) => doneIf((await admin.encodeName('/memories/a')) !== ''),
  verify: async (admin) => {
    const { files, findings } = await admin.verify();
    return findings.length > 0 ? 'told' : doneIf(files === 2);
  },
  checkpoint: async (admin) => doneIf((await admin.checkpoint()).line !== ''),
  export: async (admin) => {
    const to = join(folder, 'exported');
    const { files, findings } = await admin.export({ to });
    if (findings.length > 0) return 'told';
    return doneIf(files === 2 && readFileSync(join(to, 'a'), 'utf8') === TEXTS['/memories/a']);
  },
};

async function outcomeOf(verb: Verb, admin: TenantAdmin): Promise<string> {
  try {
    return await verb(admin);
  } catch (error) {
    if (error instanceof MemoryError) return error.code;
    throw error;
  }
}

const otherKey = (right: Record<string, unknown>) => ({
  ...right,
  Plaintext: Buffer.alloc(32, 9).toString('base64'),
});
const denied = { type: 'AccessDeniedException' };

const HALVES: readonly (readonly [string, KmsOperation, Parameters<FakeKms['meet']>[1], string])[] = [
  ['denies Decrypt', 'Decrypt', denied, 'access_denied'],
  ['denies GenerateDataKey', 'GenerateDataKey', denied, 'access_denied'],
  ['generates another key than it wraps', 'GenerateDataKey', otherKey, 'integrity'],
  ['decrypts to another key', 'Decrypt', otherKey, 'integrity'],
  [
    'is told that the key is disabled at Decrypt',
    'Decrypt',
    { type: 'DisabledException' },
    'key_unavailable',
  ],
];

describe('a root key that does half of what is asked', () => {
  describe.each(Object.entries(WRITING))('fails "%s" plainly, and takes nothing away', (_, verb) => {
    it.each(HALVES)('where it %s', async (_name, operation, meeting, code) => {
      await stock();
      kms.meet(operation, meeting);
      expect(await within(options(during()), (admin) => outcomeOf(verb, admin))).toBe(code);
      for (const rootKey of [during(), [ENV_KEY]]) expect(await textsUnder(rootKey)).toEqual(TEXTS);

      kms.meet(operation, undefined);
      expect(await within(options(during()), (admin) => outcomeOf(verb, admin))).toBe('done');
      expect(await textsUnder([kmsKey])).toEqual(TEXTS);
      await within(options(back()), (admin) => admin.rewrapRoot());
      expect(await textsUnder([ENV_KEY])).toEqual(TEXTS);
    });
  });

  it.each(HALVES)('makes no tenant where it %s', async (_name, operation, meeting, code) => {
    kms.meet(operation, meeting);
    const path = '/memories/a';
    const create = { command: 'create', path, file_text: 'text' };
    {
      await using memory = await openMemory(options([kmsKey]));
      expect(await memory.execute(create)).toMatchObject({ isError: true, error: { code } });
    }
    expect(await within(options([kmsKey]), (admin) => admin.keyStatus())).toEqual({ state: 'absent' });
    kms.meet(operation, undefined);
    await using memory = await openMemory(options([kmsKey]));
    await succeed(memory, create);
  });
});

const DENIALS = ['get', 'head', 'put', 'list', 'delete'] as const satisfies readonly StoreCall['verb'][];

describe('a store that allows half of what is asked', () => {
  const TABLE = Object.entries({ ...WRITING, ...OTHERS }).flatMap(([name, verb]) =>
    DENIALS.map((denial) => [name, denial, verb] as const),
  );

  it.each(TABLE)('has "%s" done or fail plainly where it denies %s', async (_, denial, verb) => {
    await stock();
    const half = interceptStore(store, (call, proceed) =>
      call.verb === denial ? Promise.reject(new MemoryError('access_denied', 'no')) : proceed(),
    );
    const outcome = await within(options(back(), { store: half }), (admin) => outcomeOf(verb, admin));
    expect(['done', 'told', 'access_denied']).toContain(outcome);
    if (outcome === 'access_denied') expect(existsSync(join(folder, 'exported'))).toBe(false);
    expect(await textsUnder([ENV_KEY])).toEqual(TEXTS);
    expect(kms.requests).toEqual([]);
  });

  it.each(DENIALS)('has a shred done, or to be run again, where it denies %s', async (denial) => {
    await stock();
    const half = interceptStore(store, (call, proceed) =>
      call.verb === denial ? Promise.reject(new MemoryError('access_denied', 'no')) : proceed(),
    );
    const shred: Verb = async (admin) => doneIf((await admin.shred({ ttlMs: 0 })).objects >= 2);
    const outcome = await within(options([ENV_KEY], { store: half }), (admin) => outcomeOf(shred, admin));
    expect(['done', 'access_denied']).toContain(outcome);
    expect(await within(options([ENV_KEY]), (admin) => outcomeOf(shred, admin))).toBe('done');
    expect(await within(options([ENV_KEY]), (admin) => admin.keyStatus())).toEqual({ state: 'shredded' });
  });
});
