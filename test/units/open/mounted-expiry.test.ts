import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { timeOf } from '../../../infra/local/lambda/local-worker.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { MemoryOptions, MountOptions } from '../../../src/open/options/options.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { createExpiry } from '../../../src/worker/expiry/expiry-queue.ts';
import { createJsonLogger } from '../../../src/worker/json-log.ts';

const DAY = 86_400_000;
const HOUR = 3_600_000;
const rootKey = new Uint8Array(32).fill(5);
const HANDBOOK: MountOptions = { at: '/memories/handbook', tenant: 'org', readOnly: true };
const SESSION = { projectKey: 'project', sessionId: 'session' };
const REFUSED = expect.objectContaining({
  code: 'misconfigured',
  message: expect.stringContaining('expires: false'),
});

let now: number;
let store: ObjectStore;
beforeEach(async () => {
  now = Date.now() - 40 * DAY;
  store = openSqliteObjectStore({ path: ':memory:', clock: () => now });
  await using memory = await openMemory(optionsOf('org'));
  await memory.files.write('/memories/rules.md', 'be kind');
  await memory.sessions.append(SESSION, ['{"uuid":"1"}']);
  now += 40 * DAY;
});
afterEach(() => store[Symbol.asyncDispose]());

const optionsOf = (tenant: string, more: Partial<MemoryOptions> = {}): MemoryOptions => ({
  store,
  tenant,
  rootKey,
  expireAfterDays: 30,
  ...more,
});

async function isThere(path = '/memories/rules.md'): Promise<boolean> {
  await using memory = await openMemory({ store, tenant: 'org', rootKey, readOnly: true });
  return memory.files.exists(path);
}

interface Mounted {
  readonly mounts: readonly MountOptions[];
}

/** Each way in which a tenant's files expire: resolves to the code of a failure, else to undefined. */
const WAYS: Readonly<Record<string, (mounted: Mounted) => Promise<string | undefined>>> = {
  'the administration': async (mounted) => {
    await using admin = await openAdmin(optionsOf('org', mounted));
    return await codeOf(admin.expire());
  },
  'the administration by days of its own': async (mounted) => {
    await using admin = await openAdmin(optionsOf('org', mounted));
    return await codeOf(admin.expire({ afterDays: 20 }));
  },
  'the expiry of a worker': async ({ mounts }) => {
    const lines: string[] = [];
    const expiry = createExpiry({
      memory: { store, rootKey, expireAfterDays: 30, mounts },
      queue: { sqs: { send: async () => ({}) }, url: 'https://sqs.invalid/expiry' } as never,
      logger: createJsonLogger({ write: (line) => lines.push(line) }),
    });
    const body = JSON.stringify({ run: '2026-11-22T03:17:00.000Z', tenant: 'org', of: 1 });
    await expiry({ Records: [{ messageId: '1', body, attributes: {} }] }, timeOf(300_000));
    return loggedCode(lines);
  },
};

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: { readonly code?: string }) => error.code,
  );
}

function loggedCode(lines: readonly string[]): string | undefined {
  return lines.map((line) => JSON.parse(line)).find(({ tenant, code }) => tenant === 'org' && code)?.code;
}

async function twice(way: (mounted: Mounted) => Promise<string | undefined>, ...mounts: MountOptions[]) {
  const first = await way({ mounts });
  now += 2 * HOUR;
  const second = await way({ mounts });
  expect(second).toBe(first);
  return first;
}

describe.each(Object.entries(WAYS))('unused files, by %s', (_way, expire) => {
  it('expire in a tenant that no mount names', async () => {
    expect(await twice(expire, { ...HANDBOOK, tenant: 'team' })).toBeUndefined();
    expect(await isThere()).toBe(false);
  });

  it.each([{ readOnly: true }, { readOnly: false }, {}])(
    'are refused to expire in a tenant that a mount of the same options names: %o',
    async (mount) => {
      const { at, tenant } = HANDBOOK;
      expect(await twice(expire, { at, tenant, ...mount })).toBe('misconfigured');
      expect(await isThere()).toBe(true);
    },
  );

  it('stay in a mounted tenant that is marked expires: false, without a failure', async () => {
    expect(await twice(expire, { ...HANDBOOK, expires: false })).toBeUndefined();
    expect(await isThere()).toBe(true);
  });

  it('expire in a tenant whose mounts all say that they record reads', async () => {
    expect(await twice(expire, { ...HANDBOOK, readOnly: false, expires: true })).toBeUndefined();
    expect(await isThere()).toBe(false);
  });

  it.each([
    { other: { expires: false }, code: undefined },
    { other: {}, code: 'misconfigured' },
  ])('stay where one of two mounts says so, or says nothing: %o', async ({ other, code }) => {
    const writable = { ...HANDBOOK, readOnly: false, expires: true };
    expect(await twice(expire, writable, { ...HANDBOOK, at: '/memories/rules', ...other })).toBe(code);
    expect(await isThere()).toBe(true);
  });
});

describe('the expiry of a mounted tenant', () => {
  const expireTwice = async (options: MemoryOptions): Promise<readonly unknown[]> => {
    await using admin = await openAdmin(options);
    const first = await admin.expire();
    now += 2 * HOUR;
    return [first, await admin.expire()];
  };

  it('says what to do, also in a dry run', async () => {
    await using admin = await openAdmin(optionsOf('org', { mounts: [HANDBOOK] }));
    await expect(admin.expire()).rejects.toEqual(REFUSED);
    await expect(admin.expire({ dryRun: true })).rejects.toEqual(REFUSED);
    await expect(admin.expire({ dryRun: 'files' })).rejects.toEqual(REFUSED);
  });

  it('lets records go by their own days where files and sessions stay', async () => {
    const options = optionsOf('org', { mounts: [{ ...HANDBOOK, expires: false }], history: { days: 30 } });
    const [first, second] = await expireTwice(options);
    for (const report of [first, second]) {
      expect(report).toMatchObject({ files: 0, deleted: 0, marked: 0, sessions: 0, history: 0 });
    }
    await using memory = await openMemory(optionsOf('org'));
    expect(await memory.sessions.load(SESSION)).toHaveLength(1);
  });

  it('looks at no file without days, and so refuses nothing', async () => {
    await using admin = await openAdmin({ store, tenant: 'org', rootKey, mounts: [HANDBOOK] });
    expect(await admin.expire()).toMatchObject({ files: 0, deleted: 0 });
  });

  it('is about mounts of the same store alone', async () => {
    await using other = openSqliteObjectStore({ path: ':memory:' });
    await expireTwice(optionsOf('org', { mounts: [{ ...HANDBOOK, store: other }] }));
    expect(await isThere()).toBe(false);
  });

  it('is refused where a mount names the same store once more', async () => {
    const { expire, [Symbol.asyncDispose]: close } = await openAdmin(
      optionsOf('org', { mounts: [{ ...HANDBOOK, store }] }),
    );
    await expect(expire()).rejects.toEqual(REFUSED);
    await close();
  });

  it.each([
    { ...HANDBOOK, expires: true },
    { ...HANDBOOK, expires: 'no' as unknown as boolean },
  ])('takes no mark that cannot be: %o', async (mount) => {
    const wrong = expect.objectContaining({ code: 'misconfigured' });
    await expect(openAdmin(optionsOf('org', { mounts: [mount] }))).rejects.toEqual(wrong);
    await expect(openMemory(optionsOf('acme', { mounts: [mount] }))).rejects.toEqual(wrong);
  });
});

interface Use {
  readonly use: (memory: Memory) => Promise<unknown>;
  readonly options?: Partial<MemoryOptions>;
  readonly path?: string;
}

const view = (path: string) => (memory: Memory) => memory.execute({ command: 'view', path });
const MOUNTING = { tenant: 'acme', mounts: [{ ...HANDBOOK, readOnly: false, expires: true }] };

describe('a file that was written 40 days ago', () => {
  const survives = async ({ use, options, path }: Use): Promise<boolean> => {
    {
      await using memory = await openMemory({ ...optionsOf('org'), ...options });
      await use(memory);
    }
    await using admin = await openAdmin(optionsOf('org'));
    await admin.expire();
    now += 2 * HOUR;
    await admin.expire();
    return isThere(path);
  };

  it.each<readonly [string, Use]>([
    ['a view of the model', { use: view('/memories/rules.md') }],
    [
      'a view of some of its lines',
      {
        use: (memory) => memory.execute({ command: 'view', path: '/memories/rules.md', view_range: [1, 1] }),
      },
    ],
    ['a read by the program', { use: ({ files }) => files.read('/memories/rules.md') }],
    ['a copy of it', { use: ({ files }) => files.copy('/memories/rules.md', '/memories/copy.md') }],
    ['an addition', { use: ({ files }) => files.append('/memories/rules.md', '!') }],
    [
      'an edit',
      {
        use: (memory) =>
          memory.execute({
            command: 'str_replace',
            path: '/memories/rules.md',
            old_str: 'kind',
            new_str: 'brief',
          }),
      },
    ],
    [
      'a rename',
      {
        use: ({ files }) => files.rename('/memories/rules.md', '/memories/new.md'),
        path: '/memories/new.md',
      },
    ],
    ['a view through a writable mount', { use: view('/memories/handbook/rules.md'), options: MOUNTING }],
    [
      'a read through a writable mount',
      { use: ({ files }) => files.read('/memories/handbook/rules.md'), options: MOUNTING },
    ],
    [
      'a read through a writable mount of a memory that is read only',
      {
        use: ({ files }) => files.read('/memories/handbook/rules.md'),
        options: { ...MOUNTING, readOnly: true },
      },
    ],
    [
      'a read through a writable mount of a memory whose own files do not expire',
      {
        use: ({ files }) => files.read('/memories/handbook/rules.md'),
        options: { ...MOUNTING, tenants: (id) => (id === 'acme' ? { expires: false } : undefined) },
      },
    ],
    [
      'a read through a writable mount whose tenant alone has days',
      {
        use: ({ files }) => files.read('/memories/handbook/rules.md'),
        options: {
          ...MOUNTING,
          expireAfterDays: undefined,
          tenants: (id) => (id === 'org' ? { expireAfterDays: 30 } : undefined),
        },
      },
    ],
  ])('is kept by %s', async (_way, use) => {
    expect(await survives(use)).toBe(true);
  });

  it.each<readonly [string, Use]>([
    ['a view of its directory', { use: view('/memories') }],
    ['a listing', { use: ({ files }) => files.stat('/memories/rules.md') }],
    ['a memory that is read only', { use: view('/memories/rules.md'), options: { readOnly: true } }],
    [
      'a read-only mount',
      { use: view('/memories/handbook/rules.md'), options: { tenant: 'acme', mounts: [HANDBOOK] } },
    ],
  ])('expires in spite of %s, which docs/worker.md says', async (_way, use) => {
    expect(await survives(use)).toBe(false);
  });
});
