import { expect, it, vi } from 'vitest';
import { osRandom } from '../../../src/store/os-random.ts';

const drawn: Uint8Array[] = [];

vi.mock('node:crypto', async (original) => {
  const actual = await original<typeof import('node:crypto')>();
  return {
    ...actual,
    randomBytes(length: number) {
      const bytes = actual.randomBytes(length);
      drawn.push(bytes);
      return bytes;
    },
  };
});

it('random bytes stay nowhere but in an array of their own', () => {
  const [one, other] = [osRandom(32), osRandom(32)];
  expect(one.buffer.byteLength).toBe(32);
  expect(one).not.toEqual(other);
  expect(drawn.map((bytes) => [...bytes])).toEqual([1, 2].map(() => new Array(32).fill(0)));
});
