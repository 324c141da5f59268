import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { migrateObjects } from '../../../src/admin/keys/migrate.ts';
import { createLayout, parseTenantId } from '../../../src/format/object-keys.ts';
import { VERSION_SAVER } from '../../../src/history/save/version-saver.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { createKeyringCache } from '../../../src/keys/keyring-cache.ts';
import { createStamps } from '../../../src/stamps.ts';
import { checkConditions } from '../../../src/store/conditions.ts';
import { guardDeletes } from '../../../src/store/guarded-delete.ts';
import { osRandom as random } from '../../../src/store/os-random.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openS3ObjectStore } from '../../../src/store/s3/s3-store.ts';
import { pause } from '../../../src/time.ts';
import { createSightings } from '../../../src/tree/sightings.ts';
import type { Work } from '../../../src/tree/tenant.ts';
import { createTree } from '../../../src/tree/tree.ts';
import { createVersionCaches } from '../../../src/tree/version-cache.ts';
import { editorOf, rotate } from '../../stage/key-operator.ts';
import { createTestBucket, describeOnS3, type TestBucket } from '../../stage/s3.ts';
import { type ProxiedRequest, type Reaction, type S3Proxy, startS3Proxy } from '../../stage/s3-proxy.ts';
import { silentLogger } from '../../stage/silent-logger.ts';
import { laterStore } from '../../stage/store-wrappers.ts';
import { at, bytes, TEST_ROOT_KEY } from '../../stage/test-tree.ts';

const TTL_MS = 60_000;
const TWO_MINUTES = 121_000;
const MIB = 1024 * 1024;

describeOnS3('a process whose PUTs are held on their way', ['minio'], (server) => {
  let bucket: TestBucket;
  let proxy: S3Proxy;
  let tenants = 0;
  const opened: ObjectStore[] = [];

  beforeAll(async () => {
    bucket = await createTestBucket(server());
    proxy = await startS3Proxy(bucket.storeOptions.endpoint);
  });
  afterAll(async () => {
    for (const each of opened) await each[Symbol.asyncDispose]();
    await proxy?.[Symbol.asyncDispose]();
    await bucket?.remove();
  });
  beforeEach(() => {
    tenants += 1;
    proxy.react(() => 'forward');
    proxy.requests.length = 0;
  });

  interface Client {
    readonly work: Work;
    /** How far its clocks are ahead. */
    readonly ahead: { wall: number; steady: number };
  }

  async function client({ slow = false, laterMs = 0 } = {}): Promise<Client> {
    const layout = createLayout({ prefix: '', tenant: parseTenantId(`held-${tenants}`) });
    const endpoint = slow ? proxy.endpoint : bucket.storeOptions.endpoint;
    const plain = openS3ObjectStore({ ...bucket.storeOptions, endpoint });
    opened.push(plain);
    const store = laterStore(guardDeletes(checkConditions(plain, layout.probe)), laterMs);
    const ahead = { wall: 0, steady: 0 };
    const clock = (): number => Date.now() + ahead.wall;
    const monotonic = (): number => performance.now() + ahead.steady;
    const rootKeys = [envRootKey(TEST_ROOT_KEY)];
    const keyrings = createKeyringCache({ store, layout, rootKeys, ttlMs: TTL_MS, clock, monotonic });
    const keyring = await keyrings.load({ create: true });
    if (keyring === undefined) throw new Error('there is no keyring');
    const clocks = { clock, monotonic };
    const context = { store, layout, keyrings, ...clocks, random, pause, logger: silentLogger };
    const limits = { maxFileBytes: 32 * MIB, concurrency: 32, concurrentBytes: 64 * MIB };
    const tenant = {
      ...context,
      ...limits,
      stamps: createStamps(clocks),
      sightings: createSightings(),
      cache: createVersionCaches(0)(),
      loadSaver: async () => VERSION_SAVER,
    };
    return { work: { tenant, keyring, call: {} }, ahead };
  }

  /** A worker behind the proxy that has just loaded the keyring, which was rotated since. */
  async function start(): Promise<Client & { readonly retire: () => Promise<void> }> {
    const worker = await client({ slow: true });
    const operator = await client({ laterMs: TWO_MINUTES });
    const editor = editorOf(operator.work.tenant);
    await rotate(editor, operator.work.tenant);
    const retire = async (): Promise<void> => {
      worker.ahead.wall += TWO_MINUTES;
      worker.ahead.steady += TWO_MINUTES;
      const report = await migrateObjects(operator.work.tenant, { editor, ttlMs: TTL_MS });
      expect(report).toMatchObject({ retired: [1] });
    };
    proxy.requests.length = 0;
    return { ...worker, retire };
  }

  const isPut = ({ method, url }: ProxiedRequest): boolean => method === 'PUT' && url.includes('/data/');
  const sent = (): readonly ProxiedRequest[] => proxy.requests.filter(isPut);
  const checksums = (): ReadonlySet<unknown> =>
    new Set(sent().map(({ headers }) => headers['x-amz-checksum-crc32']));

  /** The first request that is one of those does what is to be done meanwhile, and then what it is told. */
  function holdFirst(
    picks: (request: ProxiedRequest) => boolean,
    meanwhile: () => Promise<void>,
    then: Reaction,
  ): void {
    let held = false;
    proxy.react(async (request) => {
      if (held || !picks(request)) return 'forward';
      held = true;
      await meanwhile();
      return then;
    });
  }

  async function readBack(path: string): Promise<Uint8Array | undefined> {
    return createTree((await client()).work.tenant).read(at(path));
  }

  it('loses no create that arrives two minutes later, behind the retirement of its key', async () => {
    const { work, retire } = await start();
    holdFirst(isPut, retire, 'forward');
    await createTree(work.tenant).create(at('/memories/new'), bytes('new'));
    expect(await readBack('/memories/new')).toEqual(bytes('new'));
    // Once as it was, and once more over itself under the active key.
    expect(sent()).toHaveLength(2);
    expect(checksums().size).toBe(2);
  });

  it('sends no create again that was lost two minutes later: it may have landed and been deleted', async () => {
    const { work, retire } = await start();
    holdFirst(isPut, retire, 'lose_request');
    const created = createTree(work.tenant).create(at('/memories/new'), bytes('new'));
    await expect(created).rejects.toMatchObject({ code: 'outcome_unknown' });
    expect(await readBack('/memories/new')).toBeUndefined();
    expect(sent()).toHaveLength(1);
  });

  it('knows a create again whose answer was lost two minutes later, and writes it again', async () => {
    const { work, retire } = await start();
    holdFirst(isPut, retire, 'lose_answer');
    await createTree(work.tenant).create(at('/memories/new'), bytes('new'));
    expect(await readBack('/memories/new')).toEqual(bytes('new'));
    expect(checksums().size).toBe(2);
  });

  it('does not complete an upload whose part took two minutes', { timeout: 60_000 }, async () => {
    const { work, retire } = await start();
    const isPart = (request: ProxiedRequest): boolean =>
      isPut(request) && request.url.includes('partNumber=1');
    holdFirst(isPart, retire, 'forward');
    const content = new Uint8Array(11 * MIB).fill(7);
    await createTree(work.tenant).create(at('/memories/large'), content);
    const requests = proxy.requests.filter(({ url }) => /[?&]uploadId=/.test(url));
    expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(1);
    expect(requests.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
    expect(await readBack('/memories/large')).toEqual(content);
  });
});
