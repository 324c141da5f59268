import { beforeAll, describe, expect, it, vi } from 'vitest';
import { hasCode, MemoryError } from '../../../src/errors.ts';
import type { Keyring } from '../../../src/format/keyring-bytes.ts';
import { SHRED_MARKER } from '../../../src/format/keyring-bytes.ts';
import { loadSodium } from '../../../src/format/sodium.ts';
import { envRootKey } from '../../../src/keys/env-root-key.ts';
import { createKeyring, openKeyring, rotateKeyring, sealKeyring } from '../../../src/keys/keyring.ts';
import { createRollbackGuard } from '../../../src/keys/rollback-guard.ts';
import type { RootKey } from '../../../src/keys/root-key.ts';
import { osRandom as random } from '../../../src/store/os-random.ts';
import { forgeKeyring } from '../../format/forge.ts';
import {
  applyOps,
  digestOf,
  type Expected,
  format1,
  fromHex,
  input,
  type KeyringFields,
  scripted,
  toHex,
} from '../../format/format-vectors.ts';
import { keyringFields, tenantKeysOf, vectorBytes } from '../../format/vector-parts.ts';

beforeAll(loadSodium);

const created = 1_700_000_000_000;

function expectBytes(bytes: Uint8Array, { size, hex, blake2b256 }: Expected): void {
  if (hex !== undefined) expect(toHex(bytes)).toBe(hex);
  if (blake2b256 !== undefined) expect(digestOf(bytes).blake2b256).toBe(blake2b256);
  expect(bytes).toHaveLength(size ?? Number.NaN);
}

/** The root key of a keyring case, generating just what the case was made with. */
function rootKeyOf(fields: KeyringFields): RootKey {
  const { rootId, wrapped } = fields;
  if (rootId === undefined || wrapped === undefined) {
    return envRootKey(input(fields.root), { random: scripted(input(fields.rootNonce), input(fields.KK)) });
  }
  return {
    id: rootId,
    generate: async () => ({ key: input(fields.KK), wrapped: fromHex(wrapped) }),
    unwrap: async () => input(fields.KK),
  };
}

function keyringOf(fields: KeyringFields): Keyring {
  return {
    epoch: fields.epoch,
    keyringId: input(fields.keyringId),
    nameMode: fields.mode === 0 ? 'plain' : 'encrypted',
    keepsHistory: [1, 3].includes(fields.flags),
    keptSince: fields.flags === 3 ? Number(`0x${fields.extra}`) : undefined,
    nameKey: input(fields.NK),
    tenantKeys: tenantKeysOf(fields),
  };
}

describe('sealKeyring', () => {
  it.each(format1.keyrings.cases)('writes $id to the byte', async (expected) => {
    const fields = keyringFields(expected.id);
    const bytes = await sealKeyring({
      keyring: keyringOf(fields),
      tenant: fields.tenant,
      rootKey: rootKeyOf(fields),
      random: scripted(input(fields.nonce)),
    });
    expectBytes(bytes, expected);
    expectBytes(forgeKeyring(fields), expected);
  });

  it('wraps a new key at every write', async () => {
    const keyring = createKeyring({ nameMode: 'encrypted', random, created });
    expect(keyring.keepsHistory).toBe(false);
    const rootKey = envRootKey(input('root'));
    const writes = await Promise.all(
      Array.from({ length: 10 }, () => sealKeyring({ keyring, tenant: 'acme', rootKey, random })),
    );
    // Behind the 32 bytes and the root id of 26: the root's nonce and box, then the nonce and box of the secret.
    for (const [begin, end] of [
      [66, 90],
      [90, 138],
      [138, 162],
      [162, 258],
    ] as const) {
      expect(new Set(writes.map((bytes) => toHex(bytes.slice(begin, end)))).size).toBe(10);
    }
  });

  it('refuses keys that the format does not allow', async () => {
    const keyring = createKeyring({ nameMode: 'plain', random, created });
    const [key] = keyring.tenantKeys;
    if (key === undefined) throw new Error('a new keyring has a key');
    const refused: readonly Partial<Keyring>[] = [
      { tenantKeys: [] },
      { tenantKeys: [key, key] },
      { tenantKeys: [{ ...key, version: 0 }] },
      { tenantKeys: [{ ...key, version: 2 ** 32 }] },
      { epoch: 0 },
      { epoch: 2 ** 32 },
    ];
    for (const change of refused) {
      const sealed = sealKeyring({
        keyring: { ...keyring, ...change },
        tenant: 'acme',
        rootKey: envRootKey(input('root')),
        random,
      });
      await expect(sealed).rejects.toMatchObject({ code: 'integrity' });
    }
  });

  it('asks no root key for a keyring that the format does not allow', async () => {
    const keyring = { ...createKeyring({ nameMode: 'plain', random, created }), tenantKeys: [] };
    const generate = vi.fn<RootKey['generate']>();
    const rootKey: RootKey = { ...envRootKey(input('root')), generate };
    await expect(sealKeyring({ keyring, tenant: 'acme', rootKey, random })).rejects.toMatchObject({
      code: 'integrity',
    });
    expect(generate).not.toHaveBeenCalled();
  });

  it.each([
    ['integrity', /does not open what it has just wrapped/],
    ['unavailable', /^down$/],
  ] as const)('tells whose fault it is that its own wrap does not open: %s', async (code, said) => {
    const rootKey: RootKey = {
      ...envRootKey(input('root')),
      id: envRootKey(input('root')).id,
      unwrap: () => Promise.reject(new MemoryError(code, 'down')),
    };
    const keyring = createKeyring({ nameMode: 'plain', random, created });
    await expect(sealKeyring({ keyring, tenant: 'acme', rootKey, random })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(said),
    });
  });

  it.each([
    ['a key of 31 bytes', { key: new Uint8Array(31), wrapped: new Uint8Array(40) }],
    ['no wrapped key', { key: new Uint8Array(32), wrapped: new Uint8Array(0) }],
    ['a wrapped key that is too long', { key: new Uint8Array(32), wrapped: new Uint8Array(8_193) }],
  ])('refuses %s from the root key', async (_, generated) => {
    const rootKey: RootKey = {
      id: 'test:root',
      generate: async () => generated,
      unwrap: async () => generated.key,
    };
    const keyring = createKeyring({ nameMode: 'plain', random, created });
    await expect(sealKeyring({ keyring, tenant: 'acme', rootKey, random })).rejects.toMatchObject({
      code: 'integrity',
    });
  });
});

describe('openKeyring', () => {
  it.each(format1.keyrings.cases)('reads $id back', async ({ id }) => {
    const fields = keyringFields(id);
    const opened = await openKeyring({
      bytes: vectorBytes(id),
      tenant: fields.tenant,
      rootKeys: [envRootKey(input('root2')), rootKeyOf(fields)],
    });
    expect(opened).toEqual(keyringOf(fields));
  });

  const { cases, defaults } = format1.refuseKeyrings;

  it.each(cases)('refuses $id: $what', async (refused) => {
    const { base = defaults.base, ops, forge, tenant = defaults.tenant, roots = defaults.roots } = refused;
    const forged = forge === undefined ? undefined : forgeKeyring({ ...keyringFields(base), ...forge });
    const changed = ops === undefined ? undefined : applyOps(vectorBytes(base), ops, vectorBytes);
    if (forged !== undefined && changed !== undefined) expect(toHex(forged)).toBe(toHex(changed));
    if (forged !== undefined && refused.blake2b256 !== undefined) expectBytes(forged, refused);
    const opening = openKeyring({
      bytes: changed ?? forged ?? vectorBytes(base),
      tenant,
      rootKeys: roots.map((root) => envRootKey(input(root))),
    });
    await expect(opening).rejects.toBeInstanceOf(MemoryError);
    await expect(opening).rejects.toMatchObject({ code: refused.expect ?? defaults.expect, details: {} });
  });

  it('tells one and the same of every keyring that does not open', async () => {
    const [rootKey, bytes] = [envRootKey(input('root')), vectorBytes('two')];
    const refusing = new MemoryError('integrity', 'The wrapped key is of another root.', {
      details: { why: 'tag' },
      cause: new Error('inner'),
    });
    const asRoot = (unwrap: RootKey['unwrap']): RootKey => ({ ...rootKey, id: rootKey.id, unwrap });
    const openings: readonly Parameters<typeof openKeyring>[0][] = [
      ...cases.map(
        ({ base = defaults.base, ops, forge, tenant = defaults.tenant, roots = defaults.roots }) => {
          const forged = forge === undefined ? undefined : forgeKeyring({ ...keyringFields(base), ...forge });
          const changed = ops === undefined ? forged : applyOps(vectorBytes(base), ops, vectorBytes);
          return {
            bytes: changed ?? vectorBytes(base),
            tenant,
            rootKeys: roots.map((root) => envRootKey(input(root))),
          };
        },
      ),
      ...Array.from(bytes.keys(), (at) => ({
        bytes: bytes.slice(0, at),
        tenant: 'acme',
        rootKeys: [rootKey],
      })),
      ...Array.from(bytes.keys(), (at) => ({
        bytes: bytes.with(at, (bytes[at] ?? 0) ^ 1),
        tenant: 'acme',
        rootKeys: [rootKey],
      })),
      { bytes: new Uint8Array(16_385), tenant: 'acme', rootKeys: [rootKey] },
      { bytes, tenant: 'acme', rootKeys: [asRoot(() => Promise.reject(refusing))] },
      ...[0, 31, 33].map((length) => ({
        bytes,
        tenant: 'acme',
        rootKeys: [asRoot(async () => new Uint8Array(length))],
      })),
    ];
    const told = new Set<string>();
    for (const opening of openings) {
      const error = await openKeyring(opening).catch((thrown: unknown) => thrown);
      if (!hasCode(error, 'integrity', 'key_unavailable', 'unsupported_format')) throw error;
      const { code, message, details, retry, cause } = error;
      if (code === 'integrity') told.add(JSON.stringify({ message, details, retry, cause: cause ?? 'none' }));
    }
    expect([...told]).toEqual([
      JSON.stringify({
        message: 'A keyring was refused: it is not what was written for this tenant.',
        details: {},
        retry: 'never',
        cause: 'none',
      }),
    ]);
  });

  it('refuses any one byte changed', async () => {
    const bytes = vectorBytes('two');
    const rootKeys = [envRootKey(input('root'))];
    for (let index = 0; index < bytes.length; index++) {
      const opening = openKeyring({
        bytes: bytes.with(index, (bytes[index] ?? 0) ^ 0x40),
        tenant: 'acme',
        rootKeys,
      });
      await expect(opening, `byte ${index}`).rejects.toBeInstanceOf(MemoryError);
    }
  });

  it('refuses any length but its own', async () => {
    const bytes = vectorBytes('two');
    const rootKeys = [envRootKey(input('root'))];
    for (let length = 0; length < bytes.length; length++) {
      const opening = openKeyring({ bytes: bytes.slice(0, length), tenant: 'acme', rootKeys });
      await expect(opening, `${length} bytes`).rejects.toMatchObject({ code: 'integrity' });
    }
  });

  it('asks no root key but the one whose id is configured', async () => {
    const asked: string[] = [];
    const watch = (root: RootKey): RootKey => ({
      id: root.id,
      generate: root.generate,
      unwrap: async (wrapped, context) => {
        asked.push(root.id);
        return root.unwrap(wrapped, context);
      },
    });
    const [root, root2] = [envRootKey(input('root')), envRootKey(input('root2'))];
    const bytes = vectorBytes('two');
    await openKeyring({ bytes, tenant: 'acme', rootKeys: [watch(root2), watch(root)] });
    expect(asked).toEqual([root.id]);
    const kms = openKeyring({
      bytes: vectorBytes('kms'),
      tenant: 'acme',
      rootKeys: [watch(root2), watch(root)],
    });
    await expect(kms).rejects.toMatchObject({ code: 'key_unavailable' });
    expect(asked).toEqual([root.id]);
  });
});

describe('rotateKeyring', () => {
  it('gives the first version to the key of a keyring that has none', () => {
    const none = { ...createKeyring({ nameMode: 'plain', random, created }), tenantKeys: [] };
    expect(rotateKeyring(none, { random, created }).tenantKeys.map(({ version }) => version)).toEqual([1]);
  });

  it('adds a key that becomes the active one', async () => {
    const first = createKeyring({ nameMode: 'encrypted', random, created });
    const second = rotateKeyring(first, { random, created: created + 1 });
    expect(second).toMatchObject({ epoch: 2, keyringId: first.keyringId, nameKey: first.nameKey });
    expect(second.tenantKeys.map(({ version }) => version)).toEqual([1, 2]);
    expect(second.tenantKeys[0]).toEqual(first.tenantKeys[0]);
    const rootKey = envRootKey(input('root'));
    const bytes = await sealKeyring({ keyring: second, tenant: 'acme', rootKey, random });
    expect(await openKeyring({ bytes, tenant: 'acme', rootKeys: [rootKey] })).toEqual(second);
  });

  it('refuses a 65th key until one is retired', async () => {
    const rootKey = envRootKey(input('root'));
    const full = await openKeyring({ bytes: vectorBytes('full'), tenant: 'acme', rootKeys: [rootKey] });
    expect(full.tenantKeys).toHaveLength(64);
    expect(() => rotateKeyring(full, { random, created })).toThrow(
      expect.objectContaining({
        code: 'limit_exceeded',
        details: { limit: 'tenant_keys', value: 65, max: 64 },
      }),
    );
    const rotated = rotateKeyring({ ...full, tenantKeys: full.tenantKeys.slice(1) }, { random, created });
    expect(rotated.tenantKeys.at(-1)?.version).toBe(65);
  });
});

describe('RollbackGuard', () => {
  it.each(format1.sequences)(
    'answers $expect when $first is followed by $then',
    async ({ first, then, expect: outcome }) => {
      const guard = createRollbackGuard();
      const started = (): boolean => guard.begin().shredded || guard.begin().newest !== undefined;
      const read = async (id: string): Promise<string> => {
        const bytes = vectorBytes(id);
        const rootKeys = [envRootKey(input('root'))];
        if (id === 'tombstone') guard.shredded();
        try {
          const keyring = await openKeyring({ bytes, tenant: 'acme', rootKeys });
          expect(guard.admit({ keyring, bytes }, guard.begin())).toBe('newest');
          return 'ok';
        } catch (error) {
          return error instanceof MemoryError ? error.code : String(error);
        }
      };
      expect(started()).toBe(false);
      expect(await read(first)).toBe(first === 'tombstone' ? 'key_unavailable' : 'ok');
      expect(started()).toBe(true);
      expect(await read(then)).toBe(outcome);
    },
  );
});

describe('SHRED_MARKER', () => {
  it('is the one of format 1', () => {
    expect(toHex(SHRED_MARKER)).toBe(format1.keyrings.tombstone);
  });
});
