import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentLength, MAX_CONTENT_BYTES, sealedSize, TOMBSTONE_BYTES } from '../../../src/format/sizes.ts';
import { format1 } from '../../format/format-vectors.ts';

describe('size', () => {
  it.each(format1.sizes.lengthToSize)('of %i bytes of content is %i, and back', (length, size) => {
    expect(sealedSize(length)).toBe(size);
    expect(contentLength(size)).toBe(length);
  });

  it.each([...format1.sizes.foreign, TOMBSTONE_BYTES, -1, 240.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'belongs to no object at %d',
    (size) => {
      expect(contentLength(size)).toBeUndefined();
    },
  );

  it('and length determine one another', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: MAX_CONTENT_BYTES }), (length) => {
        expect(contentLength(sealedSize(length))).toBe(length);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: sealedSize(MAX_CONTENT_BYTES) }), (size) => {
        const length = contentLength(size);
        expect(length === undefined || sealedSize(length) === size).toBe(true);
      }),
    );
  });

  it('is foreign exactly where no length leads, up to three chunks', () => {
    const real = new Set(Array.from({ length: 3 * 65_536 }, (_, length) => sealedSize(length)));
    const claimed = Array.from({ length: sealedSize(3 * 65_536 - 1) + 1 }, (_, size) => size).filter(
      (size) => contentLength(size) !== undefined,
    );
    expect(claimed).toHaveLength(real.size);
    expect(claimed.every((size) => real.has(size))).toBe(true);
  });
});
