import { afterEach, describe, expect, it } from 'vitest';
import {
  createMemoryPool,
  type MemoryOptions,
  type MountOptions,
  openAdmin,
  openMemory,
  optionsFromEnvironment,
  type PoolOptions,
} from '../../../../src/index.ts';
import {
  createJsonLogger,
  createWorker,
  openAnswers,
  openPromptSealer,
  type WorkerOptions,
} from '../../../../src/worker/index.ts';

/*
 * The check of types reads this file too: a line below "@ts-expect-error" that is no error to the compiler is one to
 * it. So what is left out there is refused by the types and, in the same line, at run time.
 */

const store = 'memory:';
const tenant = 'acme';
const rootKey = new Uint8Array(32).fill(5);

const refused = (what: RegExp) => ({ code: 'misconfigured', message: expect.stringMatching(what) });

describe('what openMemory and openAdmin need', () => {
  it.each([
    ['openMemory', openMemory],
    ['openAdmin', openAdmin],
    ['openPromptSealer', openPromptSealer],
    ['openAnswers', openAnswers],
  ])('is a store, a tenant and a root key, by its type and when it runs: %s', async (_, open) => {
    // @ts-expect-error a store is missing
    await expect(open({ tenant, rootKey })).rejects.toMatchObject(refused(/^store is not set/));
    // @ts-expect-error a tenant is missing
    await expect(open({ store, rootKey })).rejects.toMatchObject(refused(/^tenant is not set/));
    // @ts-expect-error a root key is missing
    await expect(open({ store, tenant })).rejects.toMatchObject(refused(/root ?key/i));
    // @ts-expect-error a store that may be undefined is none
    await expect(open({ store: undefined, tenant, rootKey })).rejects.toMatchObject(refused(/^store /));
    // @ts-expect-error nothing is given
    await expect(open()).rejects.toMatchObject(refused(/^store is not set/));
    await (await open({ store, tenant, rootKey })).close();
  });

  it('is what the environment gives, also with options of the program before it', async () => {
    const env = {
      SEALED_MEMORY_STORE: store,
      SEALED_MEMORY_TENANT: tenant,
      SEALED_MEMORY_ROOT_KEY: Buffer.from(rootKey).toString('base64'),
    };
    const given: MemoryOptions = optionsFromEnvironment(env);
    await (await openMemory(given)).close();
    await (await openMemory({ ...optionsFromEnvironment(env), tenant: 'other' })).close();
    await (await openMemory(optionsFromEnvironment(env, { wording: 'sdk' }))).close();
    const { tenant: _, ...shared } = optionsFromEnvironment(env);
    await createMemoryPool(shared satisfies PoolOptions).close();
  });
});

describe('what every entry point needs of Node', () => {
  const versions = process.versions;
  afterEach(() => void Object.defineProperty(process, 'versions', { value: versions }));

  it.each([
    ['20.20.2', false],
    ['21.99.0', false],
    ['22.0.0', false],
    ['22.12.9', false],
    ['22.13.0', true],
    ['22.14.1', true],
    ['23.0.0', true],
    ['24.1.0', true],
    ['100.0.0', true],
  ])('is version 22.13 or a newer one: %s is %s', async (node, isEnough) => {
    Object.defineProperty(process, 'versions', { value: { ...versions, node } });
    const make = () => createMemoryPool({ store, rootKey });
    if (isEnough) await make().close();
    else {
      expect(make).toThrow(
        `sealed-memory needs Node 22.13 or newer, and this is Node ${node}: install a newer one.`,
      );
    }
  });
});

describe('what a pool needs', () => {
  it('is a store and a root key, by its type and when it runs; the tenant comes with each call', async () => {
    // @ts-expect-error a store is missing
    expect(() => createMemoryPool({ rootKey })).toThrow(/^store is not set/);
    // @ts-expect-error a root key is missing
    expect(() => createMemoryPool({ store })).toThrow(/root ?key/i);
    // @ts-expect-error a pool has no tenant of its own
    expect(() => createMemoryPool({ store, rootKey, tenant })).toThrow(/^tenant is not an option of a pool/);
    // @ts-expect-error nothing is given
    expect(() => createMemoryPool()).toThrow(/^store is not set/);
    await using pool = createMemoryPool({ store, rootKey });
    // @ts-expect-error the tenant is missing
    await expect(pool.open()).rejects.toMatchObject(refused(/tenant/));
    await (await pool.open(tenant)).close();
  });

  it('is what a worker needs of its memory', () => {
    type OfWorker = WorkerOptions['memory'];
    const options: Omit<WorkerOptions, 'memory'> = {
      model: 'any',
      queue: { sqs: { send: async () => ({}) } as never, url: 'https://queue.example' },
      logger: createJsonLogger({ write: () => {} }),
      client: async () => {
        throw new Error('no turn is run here');
      },
    };
    // @ts-expect-error a store is missing
    const withoutStore: OfWorker = { rootKey };
    // @ts-expect-error a root key is missing
    const withoutKey: OfWorker = { store };
    for (const memory of [withoutStore, withoutKey]) {
      expect(() => createWorker({ ...options, memory })).toThrow(/not set|root ?key/i);
    }
  });
});

describe('what a mount needs', () => {
  it('is its place and its tenant, by its type and when it runs; the store and the root key may be those around it', async () => {
    const at = '/memories/handbook';
    const open = (mount: MountOptions) => openMemory({ store, tenant, rootKey, mounts: [mount] });
    await (await open({ at, tenant: 'org' })).close();
    // @ts-expect-error the tenant is missing
    await expect(open({ at })).rejects.toMatchObject(refused(/tenant/));
    // @ts-expect-error the place is missing
    await expect(open({ tenant: 'org' })).rejects.toMatchObject(refused(/\bat\b/));
  });
});
