import { equal, match, notEqual, ok } from 'node:assert/strict';
import { MemoryError, type MemoryErrorCode } from '../../errors.ts';
import type { KeyringContext, RootKey } from '../../keys/root-key.ts';
import { CASE_MS, type ContractCase, failsWith, sameBytes } from './contract.ts';

/** A context such as a root key is given. */
export const SAMPLE_CONTEXT: KeyringContext = {
  app: 'sealed-memory',
  keyring: 'QEFCQ0RFRkdISUpLTE1OTw',
  kind: 'keyring',
  tenant: 'acme',
  version: '1',
};

/** A root key under test, and another one of the same kind: what one wrapped, the other refuses. */
export interface RootKeyPair {
  readonly root: RootKey;
  readonly another: RootKey;
}

/** A root key's differences from what every root key does. */
export interface RootKeyConformance {
  /**
   * The codes of the failure for bytes that the root key has not wrapped; default `integrity` alone. A server may look
   * for the key that wrapped bytes name before it authenticates them, and say `access_denied` or `key_unavailable`
   * then.
   */
  readonly foreignCodes?: readonly MemoryErrorCode[];
}

/**
 * Lists what every root key promises, whatever holds it; the promises are those of the type `RootKey`. The cases call
 * `generate` and `unwrap` some forty times in all.
 */
export function rootKeyContract(options: RootKeyConformance = {}): readonly ContractCase<RootKeyPair>[] {
  const { foreignCodes = ['integrity'] } = options;
  const failsAsForeign = async (root: RootKey, wrapped: Uint8Array): Promise<void> => {
    const error = await root.unwrap(wrapped, SAMPLE_CONTEXT).catch((reason: unknown) => reason);
    ok(error instanceof MemoryError, `unwrap gave ${String(error)} instead of a MemoryError`);
    ok(foreignCodes.includes(error.code), `the code ${error.code} is not among ${foreignCodes.join(', ')}`);
  };
  const cases: Readonly<Record<string, (pair: RootKeyPair) => Promise<void>>> = {
    async 'has an id of 1–512 printable ASCII characters that is its own'({ root, another }) {
      match(root.id, /^[\x21-\x7e]{1,512}$/);
      const { id } = root;
      equal(root.id, id);
      notEqual(another.id, root.id);
    },
    async 'unwraps what it generated'({ root }) {
      const { key, wrapped } = await root.generate(SAMPLE_CONTEXT);
      equal(key.length, 32);
      ok(wrapped.length >= 1 && wrapped.length <= 8_192, `what it wrapped has ${wrapped.length} bytes`);
      sameBytes(await root.unwrap(wrapped, SAMPLE_CONTEXT), key);
    },
    async 'generates another key at every call'({ root }) {
      const generated = await Promise.all(Array.from({ length: 10 }, () => root.generate(SAMPLE_CONTEXT)));
      const texts = generated.flatMap(({ key, wrapped }) => [key, wrapped].map((bytes) => bytes.join()));
      equal(new Set(texts).size, 20);
    },
    async 'gives arrays that are the caller’s to wipe'({ root }) {
      const { key, wrapped } = await root.generate(SAMPLE_CONTEXT);
      const kept = Uint8Array.from(key);
      key.fill(0);
      const first = await root.unwrap(wrapped, SAMPLE_CONTEXT);
      sameBytes(first, kept);
      first.fill(0);
      sameBytes(await root.unwrap(wrapped, SAMPLE_CONTEXT), kept);
    },
    async 'does not show the key in what it wrapped'({ root }) {
      const { key, wrapped } = await root.generate(SAMPLE_CONTEXT);
      ok(!Buffer.from(wrapped).includes(Buffer.from(key)), 'the wrapped bytes hold the key');
    },
    async 'refuses every other context'({ root }) {
      const { wrapped } = await root.generate(SAMPLE_CONTEXT);
      const others = [
        { ...SAMPLE_CONTEXT, tenant: 'globex' },
        { ...SAMPLE_CONTEXT, tenant: 'acme2' },
        { ...SAMPLE_CONTEXT, keyring: 'UFFSU1RVVldYWVpbXF1eXw' },
        { ...SAMPLE_CONTEXT, kind: 'object' },
        { ...SAMPLE_CONTEXT, version: '2' },
        { ...SAMPLE_CONTEXT, app: 'other' },
      ] as readonly KeyringContext[];
      const refusal = { name: 'MemoryError', code: 'integrity' };
      for (const context of others) await failsWith(root.unwrap(wrapped, context), refusal);
    },
    async 'takes the context in whatever order its fields were written'({ root }) {
      const { key, wrapped } = await root.generate(SAMPLE_CONTEXT);
      const reversed = Object.entries(SAMPLE_CONTEXT).reverse();
      sameBytes(await root.unwrap(wrapped, Object.fromEntries(reversed) as unknown as KeyringContext), key);
    },
    async 'refuses what was changed, cut or lengthened'({ root }) {
      const { wrapped } = await root.generate(SAMPLE_CONTEXT);
      for (const index of [0, Math.floor(wrapped.length / 2), wrapped.length - 1]) {
        await failsAsForeign(root, wrapped.with(index, (wrapped[index] ?? 0) ^ 1));
      }
      await failsAsForeign(root, wrapped.slice(1));
      await failsAsForeign(root, wrapped.slice(0, -1));
      await failsAsForeign(root, Uint8Array.of(...wrapped, 0));
      await failsAsForeign(root, Uint8Array.of(0));
    },
    async 'refuses what another root key wrapped'({ root, another }) {
      const { wrapped } = await another.generate(SAMPLE_CONTEXT);
      await failsAsForeign(root, wrapped);
    },
  };
  return Object.entries(cases).map(([name, run]) => ({ name, run, withinMs: CASE_MS }));
}
