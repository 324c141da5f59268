import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NameMode } from '../../src/format/names.ts';
import { seal } from '../../src/format/object.ts';
import {
  createLayout,
  fileKey,
  logicalName,
  type ObjectKey,
  parseTenantId,
} from '../../src/format/object-keys.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import { newVersion } from '../../src/format/version.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { createKeyring, rotateKeyring, sealKeyring } from '../../src/keys/keyring.ts';
import { createKeyringCache, type KeyringCache } from '../../src/keys/keyring-cache.ts';
import { kmsRootKey } from '../../src/keys/kms/kms-root-key.ts';
import { parseMemoryPath } from '../../src/language/path.ts';
import { encodeText } from '../../src/language/text.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import { osRandom } from '../../src/store/os-random.ts';
import type { ObjectStore } from '../../src/store/port.ts';
import { openSqliteObjectStore } from '../../src/store/sqlite/sqlite-store.ts';
import { type FakeKms, startFakeKms } from '../stage/fake-kms.ts';
import { call, executeAnew, type Outcome } from './outcome.ts';

const PATH = '/memories/plan.md';
const TEXT = 'Secret words of acme.';
const VIEW = { command: 'view', path: PATH };
const CREATE = { command: 'create', path: PATH, file_text: TEXT };
const SHOWN = { got: expect.stringContaining(TEXT) };

describe.each(['encrypted', 'plain'] as const satisfies readonly NameMode[])('under %s names', (names) => {
  let kms: FakeKms;
  let keyArn: string;
  let store: ObjectStore;

  beforeEach(async () => {
    await loadSodium();
    kms = await startFakeKms();
    keyArn = kms.createKey();
    store = openSqliteObjectStore({ path: ':memory:' });
    vi.stubEnv('AWS_ENDPOINT_URL', undefined);
    vi.stubEnv('AWS_ENDPOINT_URL_KMS', kms.endpoint);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await kms[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  /** The credentials of a tenant's worker: its role lets it use the KMS key for this tenant only. */
  const credentialsOf = (tenant: string) => {
    const accessKeyId = `AKID${tenant.toUpperCase()}`;
    kms.allowOnly(accessKeyId, tenant);
    return { accessKeyId, secretAccessKey: 'secret' };
  };

  /** Answers what a worker gets that reaches every object of the store and opens the library as any tenant. */
  const asWorker = (worker: string, tenant: string, input: unknown): Promise<Outcome> => {
    const credentials = credentialsOf(worker);
    const options = { store, tenant, rootKey: `aws-kms:${keyArn}`, names, credentials };
    return executeAnew(() => openMemory({ ...options, lazy: true }), input);
  };

  const layoutOf = (tenant: string) => createLayout({ prefix: '', tenant: parseTenantId(tenant) });

  async function stored(): Promise<readonly string[]> {
    const found: string[] = [];
    for await (const page of store.list({ prefix: '' })) {
      found.push(...page.objects.map(({ key, etag }) => `${key} ${etag}`));
    }
    return found;
  }

  describe('a worker of another tenant that reaches every object', () => {
    it('is refused by KMS, to unwrap this tenant’s keyring and to make one for it', async () => {
      expect(await asWorker('acme', 'acme', CREATE)).toEqual({ got: expect.any(String) });
      const before = await stored();
      for (const input of [VIEW, CREATE]) {
        expect(await asWorker('globex', 'acme', input)).toEqual({ refusedAs: 'access_denied' });
        expect(await asWorker('globex', 'initech', CREATE)).toEqual({ refusedAs: 'access_denied' });
      }
      expect(await stored()).toEqual(before);
      expect(await asWorker('acme', 'acme', VIEW)).toEqual(SHOWN);
    });

    it('is refused a keyring of this tenant that it has put into its own place', async () => {
      await asWorker('acme', 'acme', CREATE);
      const keyring = await store.get(layoutOf('acme').keyring);
      if (typeof keyring !== 'object') throw new Error('there is no keyring');
      await store.put(layoutOf('globex').keyring, keyring.body, { mode: 'create' });
      expect(await asWorker('globex', 'globex', VIEW)).toEqual({ refusedAs: 'integrity' });
      expect(await asWorker('acme', 'acme', VIEW)).toEqual(SHOWN);
    });
  });

  describe('a worker that was lost', () => {
    let now: number;
    const cacheOf = (tenant: string, worker: string): KeyringCache =>
      createKeyringCache({
        store,
        layout: layoutOf(tenant),
        rootKeys: [kmsRootKey({ keyArn, credentials: credentialsOf(worker) })],
        ttlMs: 300_000,
        clock: () => now,
        monotonic: () => now,
      });

    it('reads on for the time to live only what it has cached, once KMS refuses it', async () => {
      now = Date.now();
      for (const tenant of ['acme', 'globex']) await asWorker(tenant, tenant, CREATE);
      const cached = cacheOf('acme', 'acme');
      const epoch = async (keyrings: KeyringCache): Promise<number | undefined> =>
        (await keyrings.load())?.epoch;
      expect(await call(() => epoch(cached))).toEqual({ got: '1' });
      const never = cacheOf('globex', 'globex');
      for (const tenant of ['acme', 'globex']) kms.allowOnly(`AKID${tenant.toUpperCase()}`, '');

      expect(await call(() => epoch(never))).toEqual({ refusedAs: 'access_denied' });
      now += 299_999;
      expect(await call(() => epoch(cached))).toEqual({ got: '1' });
      now += 1;
      expect(await call(() => epoch(cached))).toEqual({ refusedAs: 'access_denied' });
      for (const keyrings of [cached, never]) keyrings.close();
    });

    it('was never given more than the key of one keyring write: KMS holds the root key', async () => {
      await asWorker('acme', 'acme', CREATE);
      await asWorker('acme', 'acme', VIEW);
      const asked = kms.requests.map(({ operation, body }) => [operation, body['EncryptionContext']]);
      const context = expect.objectContaining({ tenant: 'acme', kind: 'keyring' });
      expect(asked).toEqual([
        ['GenerateDataKey', context],
        ['Decrypt', context],
        ['Decrypt', context],
      ]);
    });

    it('forges, as documented, with a tenant key that leaked, until that key is retired', async () => {
      const rootKey = envRootKey(new Uint8Array(32).fill(7));
      const [tenant, layout] = ['acme', layoutOf('acme')];
      const write = async (keyring: Parameters<typeof sealKeyring>[0]['keyring']): Promise<void> => {
        const bytes = await sealKeyring({ keyring, tenant, rootKey, random: osRandom });
        await store.put(layout.keyring, bytes, { mode: 'overwrite' });
      };
      const first = createKeyring({ nameMode: names, random: osRandom, created: 1 });
      const rotated = rotateKeyring(first, { random: osRandom, created: 2 });
      const asOwner = (input: unknown): Promise<Outcome> =>
        executeAnew(() => openMemory({ store, tenant, rootKey: Buffer.alloc(32, 7), lazy: true }), input);
      await write(first);
      await asOwner(CREATE);
      const keyrings = createKeyringCache({ store, layout, rootKeys: [rootKey] });
      const loaded = await keyrings.load();
      if (loaded === undefined) throw new Error('there is no keyring');
      const path = parseMemoryPath(PATH);
      const forged = seal({
        keys: loaded.keys,
        name: logicalName(path),
        content: encodeText('Words of another writer.'),
        version: newVersion({ mtime: 1, random: osRandom }),
        random: osRandom,
      });
      const key: ObjectKey = fileKey(layout, loaded.names, path);
      await write(rotated);
      await store.put(key, forged, { mode: 'overwrite' });
      expect(await asOwner(VIEW)).toEqual({ got: expect.stringContaining('Words of another writer.') });
      await write({ ...rotated, epoch: 3, tenantKeys: rotated.tenantKeys.slice(1) });
      expect(await asOwner(VIEW)).toEqual({ refusedAs: 'integrity' });
      keyrings.close();
    });
  });
});
