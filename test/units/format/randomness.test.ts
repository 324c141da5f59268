import { afterEach, describe, expect, it, vi } from 'vitest';
import { parseKeyringHead } from '../../../src/format/keyring-bytes.ts';
import { fileKey, logicalName } from '../../../src/format/object-keys.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { openWrap } from '../../../src/format/wrap.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { createKeyring, openKeyring, rotateKeyring, sealKeyring } from '../../../src/keys/keyring.ts';
import { MEMORY_ROOT, type MemoryPath } from '../../../src/language/path.ts';
import { openTenant } from '../../../src/open/open-memory.ts';
import { guardDeletes } from '../../../src/store/guarded-delete.ts';
import type { ObjectStore } from '../../../src/store/port.ts';
import { openSqliteObjectStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { toHex } from '../../format/format-vectors.ts';
import { ignoreDeleteConditions, interceptStore } from '../../stage/store-wrappers.ts';
import { at, bytes } from '../../stage/test-tree.ts';
import { type Drawn, type Freshness, watchFreshness } from './freshness.ts';

type Source = (length: number) => Buffer;

/** Stands in for the operating system's source where a test says so. */
const broken = vi.hoisted((): { source: Source | undefined } => ({ source: undefined }));
vi.mock('node:crypto', async (load) => {
  const real = await load<typeof import('node:crypto')>();
  return { ...real, randomBytes: (length: number) => (broken.source ?? real.randomBytes)(length) };
});
afterEach(() => {
  broken.source = undefined;
});

await loadSodium();
const rootKey = Buffer.alloc(32, 9).toString('base64');
const ALL: readonly Drawn[] = [
  ...(['version id', 'data key', 'wrap nonce', 'keyring nonce', 'root wrap nonce', 'tombstone'] as const),
];

/** Draws the same bytes again from its beginning, and again every `period` draws. */
function sequence(period: number): Source {
  let drawn = 0;
  return (length) => {
    const bytes = Buffer.alloc(length, drawn % period);
    bytes.writeUInt8((drawn++ % period) ^ 0xa5, length - 1);
    return bytes;
  };
}

/**
 * A whole life of a tenant on a store that needs tombstones: one process makes the keyring, two more start after
 * `restart`.
 */
async function live(
  freshness: Freshness,
  { tenant, restart = () => {} }: { readonly tenant: string; readonly restart?: () => void },
): Promise<void> {
  await using base = openSqliteObjectStore({ path: ':memory:' });
  const watched = interceptStore(base, (call, proceed) => {
    if (call.verb === 'put') freshness.note(call.body);
    return proceed();
  });
  const store = guardDeletes(ignoreDeleteConditions(watched));
  for (const process of ['maker', 'first', 'second']) {
    if (process !== 'maker') restart();
    const { parts, close } = await openTenant({ store, tenant, rootKey });
    const file = (name: string): MemoryPath => at(`/memories/${process}/${name}`);
    const content = bytes(`the same content in each file of the ${process}`);
    for (const name of ['a', 'b', 'c']) await parts.tree.create(file(name), content);
    await parts.tree.overwrite(file('a'), content);
    await parts.tree.edit(file('b'), (before) => ({ content: before, result: undefined }));
    await parts.tree.rename({ from: file('c'), to: file('d') });
    await parts.tree.rename({ from: at(`/memories/${process}`), to: at(`/memories/moved/${process}`) });
    await parts.tree.remove(at(`/memories/moved/${process}/a`));
    await noteDataKeys(freshness, parts, base);
    await close();
  }
}

async function noteDataKeys(
  freshness: Freshness,
  parts: Awaited<ReturnType<typeof openTenant>>['parts'],
  base: ObjectStore,
): Promise<void> {
  const loaded = await parts.context.keyrings.load();
  if (loaded === undefined) throw new Error('there is no keyring');
  const { keys, names } = loaded;
  for (const { path } of (await parts.tree.list(MEMORY_ROOT)).files) {
    const stored = await base.get(fileKey(parts.context.layout, names, path));
    if (typeof stored !== 'object') throw new Error(`${path} is gone`);
    const { wrapKey } = keys.active;
    const { keyringId, tenant } = keys;
    const wrapped = openWrap(stored.body, { wrapKey, keyringId, tenant, name: logicalName(path) });
    if (wrapped === undefined) throw new Error(`${path} does not open`);
    freshness.noteDataKey(stored.body, wrapped.dataKey);
  }
}

describe('what is drawn for a write', () => {
  it('never comes again, in whichever process and tenant', async () => {
    const freshness = watchFreshness();
    for (const tenant of ['one', 'two', 'three']) await live(freshness, { tenant });
    expect([...freshness.repeats]).toEqual([]);
    const counts = freshness.counts();
    expect(Object.keys(counts).sort()).toEqual([...ALL].sort());
    // In each of 9 processes: 5 files sealed and several states of the register; 2 files are left to be opened.
    expect(counts['version id']).toBeGreaterThanOrEqual(9 * 6);
    expect(counts['wrap nonce']).toBeGreaterThan(counts['version id'] ?? 0);
    expect(counts['data key']).toBe(9 * 2);
    expect(counts['tombstone']).toBeGreaterThanOrEqual(9 * 4);
    expect(counts['keyring nonce']).toBe(3);
  });

  it('is not the same for two keyrings, nor for two writes of one', async () => {
    const freshness = watchFreshness();
    const secrets = new Set<string>();
    const root = envRootKey(rootKey);
    const { randomBytes } = await import('node:crypto');
    const random = (length: number): Uint8Array => new Uint8Array(randomBytes(length));
    for (let ring = 0; ring < 10; ring++) {
      let keyring = createKeyring({ nameMode: 'encrypted', random, created: 0 });
      for (let write = 0; write < 5; write++) {
        const request = { keyring, tenant: 'acme', random, rootKey: root };
        for (const object of [await sealKeyring(request), await sealKeyring(request)]) {
          freshness.note(object);
          const { wrapped, keyringId } = parseKeyringHead(object);
          const context = { app: 'sealed-memory', kind: 'keyring', tenant: 'acme', version: '1' } as const;
          const keyringText = Buffer.from(keyringId).toString('base64url');
          secrets.add(toHex(await root.unwrap(wrapped, { ...context, keyring: keyringText })));
          expect((await openKeyring({ bytes: object, tenant: 'acme', rootKeys: [root] })).epoch).toBe(
            write + 1,
          );
        }
        keyring = rotateKeyring(keyring, { random, created: 0 });
      }
      for (const { secret } of keyring.tenantKeys) secrets.add(toHex(secret));
      secrets.add(toHex(keyring.nameKey)).add(toHex(keyring.keyringId));
    }
    expect([...freshness.repeats]).toEqual([]);
    expect(freshness.counts()).toEqual({ 'root wrap nonce': 100, 'keyring nonce': 100 });
    expect(secrets.size).toBe(10 * (10 + 6 + 2));
  });
});

describe('a broken source of randomness', () => {
  it('is noticed when it always gives the same', async () => {
    const freshness = watchFreshness();
    broken.source = (length) => Buffer.alloc(length, 1);
    await live(freshness, { tenant: 'one' });
    await live(freshness, { tenant: 'two' });
    expect([...freshness.repeats].sort()).toEqual([...ALL].sort());
  });

  it.each([
    { length: 16, repeats: ['version id'] },
    { length: 24, repeats: ['wrap nonce', 'keyring nonce', 'root wrap nonce'] },
    { length: 32, repeats: ['data key', 'tombstone'] },
  ])('is noticed when $length bytes of it are always the same', async ({ length: stuck, repeats }) => {
    const { randomBytes } = await vi.importActual<typeof import('node:crypto')>('node:crypto');
    const freshness = watchFreshness();
    broken.source = (length) => (length === stuck ? Buffer.alloc(length, 1) : randomBytes(length));
    await live(freshness, { tenant: 'one' });
    await live(freshness, { tenant: 'two' });
    expect([...freshness.repeats].sort()).toEqual(repeats.toSorted());
  });

  it('is noticed when it has few states', async () => {
    const freshness = watchFreshness();
    broken.source = sequence(32);
    await live(freshness, { tenant: 'one' });
    expect([...freshness.repeats]).toEqual(expect.arrayContaining(['wrap nonce']));
  });

  it('is noticed when two processes start from the same state, as copies of one machine do', async () => {
    const freshness = watchFreshness();
    const restart = (): void => {
      broken.source = sequence(251);
    };
    await live(freshness, { tenant: 'one', restart });
    expect([...freshness.repeats]).toEqual(expect.arrayContaining(['version id', 'wrap nonce']));
  });
});
