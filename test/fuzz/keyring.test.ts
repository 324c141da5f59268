import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeKeyringSecret,
  encodeKeyringSecret,
  parseKeyringHead,
  SHRED_MARKER,
} from '../../src/format/keyring-bytes.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import { envRootKey } from '../../src/keys/env-root-key.ts';
import { openKeyring } from '../../src/keys/keyring.ts';
import type { RootKey } from '../../src/keys/root-key.ts';
import { forgeKeyring } from '../format/forge.ts';
import { input } from '../format/format-vectors.ts';
import { keyringFields } from '../format/vector-parts.ts';
import { asyncVerdictOf, fuzz, largestArray, type Verdict, verdictOf } from './fuzz.ts';
import { beginningLike, mutations } from './mutation.ts';

await loadSodium();

const fields = keyringFields('two');
const keyrings = [
  forgeKeyring(fields),
  forgeKeyring({ ...fields, mode: 0, epoch: 7, KK: 'KK2', nonce: 'N33', rootNonce: 'N44' }),
  forgeKeyring({ ...fields, count: 64, epoch: 2 ** 32 - 1, KK: 'KK2', nonce: 'N55', rootNonce: 'N66' }),
];
const rootKeys = [envRootKey(input('root2')), envRootKey(input('root'))];
const LARGEST = 16_384;

function opened(bytes: Uint8Array, roots: readonly RootKey[] = rootKeys): Promise<Verdict<string>> {
  return asyncVerdictOf(async () =>
    JSON.stringify(await openKeyring({ bytes, tenant: fields.tenant, rootKeys: roots })),
  );
}

/** Answers what docs/format.md says of bytes that are no keyring of ours: the code of the first check that fails. */
function refusal(bytes: Uint8Array): string {
  const [valid = bytes] = keyrings;
  if (bytes.length < 12 || bytes.length > LARGEST || !begins(bytes, valid, 8)) return 'integrity';
  if (Buffer.compare(bytes, SHRED_MARKER) === 0) return 'key_unavailable';
  if (!begins(bytes, valid, 12)) return 'unsupported_format';
  const head = verdictOf(() => parseKeyringHead(bytes));
  const isForeign = 'value' in head && rootKeys.every(({ id }) => id !== head.value.rootId);
  return isForeign ? 'key_unavailable' : 'integrity';
}

describe('a changed keyring', () => {
  it('is told from these, which open', async () => {
    for (const bytes of keyrings) expect(await opened(bytes)).toHaveProperty('value');
  });

  fuzz('is refused with the code of the first check it fails, unless it is what it was', {
    runs: 2_000,
    inputs: [mutations([...keyrings, SHRED_MARKER])],
    async check(bytes) {
      const same = keyrings.find((keyring) => Buffer.compare(keyring, bytes) === 0);
      const verdict = await opened(bytes);
      if (same !== undefined) {
        expect(verdict).toEqual(await opened(same));
        return;
      }
      expect(verdict).toEqual({ code: refusal(bytes) });
    },
  });

  fuzz('is refused with any bytes behind a valid beginning', {
    runs: 2_000,
    inputs: [beginningLike(keyrings)],
    async check(bytes) {
      const known = keyrings.some((keyring) => Buffer.compare(keyring, bytes) === 0);
      expect('code' in (await opened(bytes))).toBe(!known);
    },
  });

  fuzz('makes no array that is larger than itself', {
    runs: 1_000,
    inputs: [mutations(keyrings)],
    check(bytes) {
      const largest = largestArray(() => verdictOf(() => parseKeyringHead(bytes)));
      expect(largest).toBeLessThanOrEqual(bytes.length);
    },
  });

  fuzz('asks a root key only for what is bound to its own tenant, and takes only 32 bytes from it', {
    runs: 500,
    inputs: [mutations(keyrings), fc.uint8Array({ maxLength: 40 })],
    async check(bytes, key) {
      const asked: string[] = [];
      const root: RootKey = {
        id: rootKeys[1]?.id ?? '',
        generate: async () => ({ key, wrapped: key }),
        unwrap: async (wrapped, { tenant }) => {
          expect(wrapped.length).toBeLessThanOrEqual(8_192);
          asked.push(tenant);
          return Uint8Array.from(key);
        },
      };
      expect(await opened(bytes, [root])).toHaveProperty('code');
      expect(asked.every((tenant) => tenant === fields.tenant)).toBe(true);
    },
  });
});

describe('the secret of a keyring', () => {
  const secretOf = (count: number): Uint8Array =>
    encodeKeyringSecret({
      nameMode: 'encrypted',
      keepsHistory: true,
      nameKey: input('NK'),
      tenantKeys: Array.from({ length: count }, (_, index) => ({
        version: index + 1,
        created: 1_700_000_000_000,
        secret: new Uint8Array(32).fill(index),
        keyId: new Uint8Array(16),
        wrapKey: new Uint8Array(32),
      })),
    });
  const secrets = [1, 2, 64].map(secretOf);

  fuzz('is read as it would be written, or refused', {
    runs: 3_000,
    inputs: [mutations(secrets)],
    check(bytes) {
      const verdict = verdictOf(() => decodeKeyringSecret(bytes));
      if (!('value' in verdict)) throw new Error('it must not throw');
      const secret = verdict.value;
      if (secret === undefined) return;
      expect(Buffer.from(encodeKeyringSecret(secret))).toEqual(Buffer.from(bytes));
      expect(secret.tenantKeys.length).toBeLessThanOrEqual(64);
      expect(new Set(secret.tenantKeys.map(({ keyId }) => Buffer.from(keyId).toString('hex'))).size).toBe(
        secret.tenantKeys.length,
      );
    },
  });
});

describe('a keyring of a holder of the root key', () => {
  fuzz('opens only within the limits', {
    runs: 500,
    inputs: [
      fc.nat(3),
      fc.nat(2),
      fc.option(fc.nat(70), { nil: undefined }),
      fc.nat(2),
      fc.array(fc.nat(4), { maxLength: 4 }),
      fc.constantFrom(
        '0',
        '1700000000000',
        String(2n ** 53n - 1n),
        String(2n ** 53n),
        String(2n ** 64n - 1n),
      ),
    ],
    async check(mode, flags, n, epoch, versions, created) {
      const keys = versions.map(
        (version, index) => [version, created, String(index).padStart(64, '0')] as const,
      );
      const { length } = keys;
      const bytes = forgeKeyring({ ...fields, mode, flags, epoch, keys, ...(n !== undefined && { n }) });
      const ascending = versions.every((version, index) => version > (versions[index - 1] ?? 0));
      const right =
        mode <= 1 && flags <= 1 && epoch >= 1 && length >= 1 && (n ?? length) === length && ascending;
      const inTime = BigInt(created) < 2n ** 53n;
      expect(await opened(bytes)).toEqual(
        right && inTime ? { value: expect.any(String) } : { code: 'integrity' },
      );
    },
  });
});

function begins(bytes: Uint8Array, other: Uint8Array, length: number): boolean {
  return Buffer.compare(bytes.subarray(0, length), other.subarray(0, length)) === 0;
}
