import { describe, expect, it } from 'vitest';
import { contentLength } from '../../../src/format/sizes.ts';
import { createTombstone, isTombstone } from '../../../src/format/tombstone.ts';
import { added, fromHex, input, scripted, toHex } from '../../format/format-vectors.ts';

describe('tombstone', () => {
  it('is its magic and 32 random bytes', () => {
    const random = input('DEK');
    const tombstone = createTombstone(scripted(random));
    expect(toHex(tombstone)).toBe(`89534d540d0a1a0a${toHex(random)}`);
    expect(isTombstone(tombstone)).toBe(true);
    expect(contentLength(tombstone.length)).toBeUndefined();
  });

  it.each(added.tombstones.valid)('is recognised in %s', (hex) => {
    expect(isTombstone(fromHex(hex))).toBe(true);
  });

  it.each(added.tombstones.invalid)('is not seen in %j', (hex) => {
    expect(isTombstone(fromHex(hex))).toBe(false);
  });
});
