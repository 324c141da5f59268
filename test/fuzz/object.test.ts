import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readHeader } from '../../src/format/header.ts';
import { open, rebind } from '../../src/format/object.ts';
import type { LogicalName } from '../../src/format/object-keys.ts';
import { contentLength, sealedSize } from '../../src/format/sizes.ts';
import { loadSodium } from '../../src/format/sodium.ts';
import { createTombstone, isTombstone } from '../../src/format/tombstone.ts';
import { forgeObject } from '../format/forge.ts';
import { contentOf, format1, scripted } from '../format/format-vectors.ts';
import { keyringFields, objectFields, sealCase, sealingKeys } from '../format/vector-parts.ts';
import { fuzz, largestArray, type Verdict, verdictOf } from './fuzz.ts';
import { beginningLike, mutations } from './mutation.ts';

await loadSodium();

const fields = [
  { ...objectFields('hello'), text: '' },
  objectFields('hello'),
  { ...objectFields('hello'), text: 'another text', versionId: 'versionId2', dek: 'DEK2', nonce: 'N33' },
  { ...objectFields('hello'), zeros: 65_536 },
  { ...objectFields('hello'), zeros: 131_073, dek: 'DEK2', nonce: 'N44' },
];
const objects = fields.map(sealCase);
const tombstone = createTombstone((length) => new Uint8Array(length));
const keys = sealingKeys(fields[0]?.keyring ?? '');
const name = format1.objects.defaults.name as LogicalName;

/** The content and what else opening tells, as text. */
function opened(object: Uint8Array): Verdict<string> {
  return verdictOf(() => {
    const { content, mtime, origin, id } = open({ keys, name, object });
    return [content, origin, id].map((bytes) => Buffer.from(bytes).toString('hex')).join() + mtime;
  });
}

const expected = objects.map(opened);

describe('a changed object', () => {
  it('is told from these, which open', () => {
    for (const [index, verdict] of expected.entries()) {
      const content = Buffer.from(contentOf(fields[index] ?? { text: '' })).toString('hex');
      expect('value' in verdict && verdict.value.startsWith(`${content},`)).toBe(true);
    }
  });

  fuzz('is refused unless it is what it was', {
    runs: 3_000,
    inputs: [mutations([...objects, tombstone])],
    check(bytes) {
      const same = objects.findIndex((object) => Buffer.compare(object, bytes) === 0);
      const verdict = opened(bytes);
      expect(verdict).toEqual(same === -1 ? { code: 'integrity' } : expected[same]);
      const tried = verdictOf(() =>
        rebind({ keys, object: bytes, from: name, to: name, clock: 1, random: scripted(new Uint8Array(24)) }),
      );
      expect('code' in tried).toBe('code' in verdict);
      expect(isTombstone(bytes)).toBe(bytes.length === 40 && startsLikeTombstone(bytes));
    },
  });

  fuzz('is refused with any bytes behind a valid beginning', {
    runs: 3_000,
    inputs: [beginningLike(objects)],
    check(bytes) {
      const known = objects.some((object) => Buffer.compare(object, bytes) === 0);
      expect('code' in opened(bytes)).toBe(!known);
    },
  });

  fuzz('makes no array that is larger than itself', {
    runs: 500,
    inputs: [mutations(objects)],
    check(bytes) {
      expect(largestArray(() => opened(bytes))).toBeLessThanOrEqual(Math.max(bytes.length, 512));
    },
  });

  fuzz('has a header of 224 bytes behind its version, or none', {
    runs: 2_000,
    inputs: [mutations(objects)],
    check(bytes) {
      const known = bytes.length >= 224 && begins(bytes, objects[0] ?? bytes, 12);
      expect(readHeader(bytes) !== undefined).toBe(known);
    },
  });
});

describe('an object of a holder of the key', () => {
  const numbers = fc.oneof(
    fc.constantFrom(
      ...[0n, 1n, 5n, 16n, 65_536n, 2n ** 30n - 1n, 2n ** 30n, 2n ** 31n, 2n ** 32n + 5n],
      ...[2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n],
    ),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  );

  fuzz('opens only where length and time are within the limits and true', {
    runs: 1_000,
    inputs: [fc.option(numbers, { freq: 2 }), fc.option(numbers, { freq: 2 }), fc.nat(40)],
    check(toldLength, toldTime, size) {
      const [length, mtime] = [toldLength ?? BigInt(size), toldTime ?? 1_700_000_000_000n];
      const base = objectFields('hello');
      const text = 'x'.repeat(size);
      const forged = { ...base, text, length: String(length), mtime: String(mtime) };
      const object = forgeObject(forged, keyringFields(base.keyring));
      const right = length === BigInt(size) && mtime < 2n ** 53n;
      expect('value' in opened(object)).toBe(right);
      expect(largestArray(() => opened(object))).toBeLessThanOrEqual(512);
    },
  });
});

describe('a size', () => {
  fuzz('belongs to one length or to none', {
    runs: 5_000,
    inputs: [fc.oneof(fc.double(), fc.maxSafeInteger(), fc.integer({ min: 0, max: 400_000 }))],
    check(size) {
      const length = contentLength(size);
      if (length !== undefined) expect(sealedSize(length)).toBe(size);
    },
  });
});

function startsLikeTombstone(bytes: Uint8Array): boolean {
  return begins(bytes, tombstone, 8);
}

function begins(bytes: Uint8Array, other: Uint8Array, length: number): boolean {
  return Buffer.compare(bytes.subarray(0, length), other.subarray(0, length)) === 0;
}
