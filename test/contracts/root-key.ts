import { beforeAll, describe, expect, it } from 'vitest';
import { MemoryError, type MemoryErrorCode } from '../../src/errors.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import type { KeyringContext, RootKey } from '../../src/keys/root-key.ts';

/** What a root key is told of the keyring that it wraps for. */
export const CONTEXT: KeyringContext = {
  app: 'sealed-memory',
  keyring: 'QEFCQ0RFRkdISUpLTE1OTw',
  kind: 'keyring',
  tenant: 'acme',
  version: '1',
};

/**
 * What every root key keeps, whatever holds it. `open` gives one root key, and another one of the same kind. A server
 * that looks for the key which the wrapped bytes name, before it has authenticated them, may say something else than
 * `integrity` to bytes that are not its own; `foreignCodes` names what.
 */
export function describeRootKey(
  name: string,
  open: () => Promise<{ readonly root: RootKey; readonly another: RootKey }>,
  foreignCodes: readonly MemoryErrorCode[] = ['integrity'],
): void {
  describe(`${name} as a root key`, () => {
    let root: RootKey;
    let another: RootKey;

    beforeAll(async () => {
      await loadSodium();
      ({ root, another } = await open());
    });

    it('has an id of 1–512 printable ASCII characters that is its own', () => {
      expect(root.id).toMatch(/^[\x21-\x7e]{1,512}$/);
      expect(root.id).toBe(root.id);
      expect(another.id).not.toBe(root.id);
    });

    it('unwraps what it generated', async () => {
      const { key, wrapped } = await root.generate(CONTEXT);
      expect(key).toHaveLength(32);
      expect(wrapped.length).toBeGreaterThanOrEqual(1);
      expect(wrapped.length).toBeLessThanOrEqual(8_192);
      expect(new Uint8Array(await root.unwrap(wrapped, CONTEXT))).toEqual(new Uint8Array(key));
    });

    it('generates another key at every call', async () => {
      const generated = await Promise.all(Array.from({ length: 10 }, () => root.generate(CONTEXT)));
      const texts = generated.flatMap(({ key, wrapped }) => [key, wrapped].map((bytes) => bytes.join()));
      expect(new Set(texts).size).toBe(20);
    });

    it('gives arrays that are the caller’s to wipe', async () => {
      const { key, wrapped } = await root.generate(CONTEXT);
      const kept = Uint8Array.from(key);
      key.fill(0);
      const first = await root.unwrap(wrapped, CONTEXT);
      expect(new Uint8Array(first)).toEqual(kept);
      first.fill(0);
      expect(new Uint8Array(await root.unwrap(wrapped, CONTEXT))).toEqual(kept);
    });

    it('does not show the key in what it wrapped', async () => {
      const { key, wrapped } = await root.generate(CONTEXT);
      expect(Buffer.from(wrapped).includes(Buffer.from(key))).toBe(false);
    });

    it('refuses every other context', async () => {
      const { wrapped } = await root.generate(CONTEXT);
      const others = [
        { ...CONTEXT, tenant: 'globex' },
        { ...CONTEXT, tenant: 'acme2' },
        { ...CONTEXT, keyring: 'UFFSU1RVVldYWVpbXF1eXw' },
        { ...CONTEXT, kind: 'object' },
        { ...CONTEXT, version: '2' },
        { ...CONTEXT, app: 'other' },
      ] as readonly KeyringContext[];
      for (const context of others) await expectRefused(root, wrapped, context);
    });

    it('takes the context in whatever order its fields were written', async () => {
      const { key, wrapped } = await root.generate(CONTEXT);
      const reversed = Object.fromEntries(Object.entries(CONTEXT).reverse()) as unknown as KeyringContext;
      expect(new Uint8Array(await root.unwrap(wrapped, reversed))).toEqual(new Uint8Array(key));
    });

    it('refuses what was changed, cut or lengthened', async () => {
      const { wrapped } = await root.generate(CONTEXT);
      for (const index of [0, Math.floor(wrapped.length / 2), wrapped.length - 1]) {
        await expectForeign(root, wrapped.with(index, (wrapped[index] ?? 0) ^ 1));
      }
      await expectForeign(root, wrapped.slice(1));
      await expectForeign(root, wrapped.slice(0, -1));
      await expectForeign(root, Uint8Array.of(...wrapped, 0));
      await expectForeign(root, Uint8Array.of(0));
    });

    it('refuses what another root key wrapped', async () => {
      const { wrapped } = await another.generate(CONTEXT);
      await expectForeign(root, wrapped);
    });
  });

  async function expectForeign(root: RootKey, wrapped: Uint8Array): Promise<void> {
    const error = await root.unwrap(wrapped, CONTEXT).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(MemoryError);
    expect(foreignCodes).toContain((error as MemoryError).code);
  }
}

async function expectRefused(root: RootKey, wrapped: Uint8Array, context: KeyringContext): Promise<void> {
  await expect(root.unwrap(wrapped, context)).rejects.toMatchObject({
    name: 'MemoryError',
    code: 'integrity',
  });
}
