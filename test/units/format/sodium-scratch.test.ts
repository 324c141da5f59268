import { afterEach, describe, expect, it, vi } from 'vitest';
import { hash } from '../../../src/format/sodium.ts';
import { createScratch, type Scratch } from '../../../src/format/sodium-scratch.ts';

/** A stand-in for the compiled library: an area of memory, its stack from 6,000 to 7,000, its heap from 16,384 on. */
const [STACK, STACK_END, HEAP, BYTES] = [6_000, 7_000, 16_384, 65_536];

class FakeSodium {
  readonly HEAPU8: Uint8Array = new Uint8Array(BYTES).fill(0x11);
  readonly given: { readonly address: number; readonly bytes: number }[] = [];
  readonly freed: number[] = [];
  /** The address from which memory is given. */
  next: number = HEAP;
  /** The place at which a function keeps its variables. */
  stack: readonly [begin: number, end: number] = [STACK, STACK_END];
  _malloc = (bytes: number): number => {
    if (this.next + bytes > BYTES) return 0;
    const address = this.next;
    this.given.push({ address, bytes });
    this.next += bytes;
    return address;
  };
  _free = (address: number): void => {
    this.freed.push(address);
  };
  /** Leaves what it was given first on its stack, as a function does with parts of a key. */
  readonly #work = (): number => {
    const [begin, end] = this.stack;
    this.HEAPU8.fill(this.HEAPU8[HEAP + 2_048] ?? 0, begin, end);
    return 0;
  };
  _crypto_generichash: () => number = this.#work;
  _crypto_kdf_derive_from_key: () => number = this.#work;
  _crypto_aead_xchacha20poly1305_ietf_encrypt: () => number = this.#work;
  _crypto_aead_xchacha20poly1305_ietf_decrypt: () => number = this.#work;
  _crypto_secretstream_xchacha20poly1305_init_pull: () => number = this.#work;
}

const library = vi.hoisted(() => ({ libsodium: undefined as unknown, ready: Promise.resolve() }));
vi.mock('libsodium-wrappers', () => ({ default: library }));

afterEach(() => {
  library.ready = Promise.resolve();
});

/** A scratch of 1,024 bytes on a library that differs from the usual one. */
async function scratchOn(change: (sodium: FakeSodium) => void = () => {}): Promise<{
  readonly sodium: FakeSodium;
  readonly scratch: Scratch;
}> {
  const sodium = new FakeSodium();
  change(sodium);
  library.libsodium = sodium;
  return { sodium, scratch: await createScratch(1_024) };
}

/** The first and the last place with that byte, and how many there are. */
function placesOf(byte: number, { HEAPU8 }: FakeSodium): readonly number[] {
  return [HEAPU8.indexOf(byte), HEAPU8.lastIndexOf(byte), HEAPU8.filter((each) => each === byte).length];
}

it('nothing is asked of libsodium before it is loaded', () => {
  expect(() => hash(32, new Uint8Array(32), new Uint8Array(0))).toThrow('not loaded yet');
});

describe('a scratch', () => {
  it('waits for the library, and fails as it does', async () => {
    library.ready = Promise.reject(new Error('it does not compile'));
    library.ready.catch(() => {});
    await expect(scratchOn()).rejects.toThrow('it does not compile');
  });

  it.each([
    '_malloc',
    '_free',
    '_crypto_generichash',
    '_crypto_kdf_derive_from_key',
    '_crypto_aead_xchacha20poly1305_ietf_encrypt',
    '_crypto_aead_xchacha20poly1305_ietf_decrypt',
    '_crypto_secretstream_xchacha20poly1305_init_pull',
  ] as const)('is refused where the library lacks %s', async (name) => {
    await expect(scratchOn((sodium) => Object.assign(sodium, { [name]: undefined }))).rejects.toThrow(name);
  });

  it('is refused where the package holds no library', async () => {
    library.libsodium = undefined;
    await expect(createScratch(1_024)).rejects.toThrow('_malloc');
  });

  it('takes its room at once: so many bytes, and 128 more for eight pieces', async () => {
    const { sodium } = await scratchOn();
    expect(sodium.given).toEqual([{ address: HEAP, bytes: 1_152 }]);
  });

  it('is refused where the library has no memory', async () => {
    await expect(scratchOn((sodium) => Object.assign(sodium, { next: BYTES - 1_151 }))).rejects.toThrow(
      'no memory',
    );
  });

  it('lends pieces that begin at multiples of 16, one behind the other, and hands out copies', async () => {
    const { sodium, scratch } = await scratchOn();
    const content = Uint8Array.of(1, 2, 3);
    const found = scratch.within(100, (room) => {
      expect(room.sodium).toBe(sodium);
      const addresses = [
        room.take(1),
        room.put(content),
        room.take(16),
        room.take(17),
        room.take(0),
        room.take(1),
      ];
      room.write(addresses[0] ?? 0, Uint8Array.of(7));
      const second = addresses[1] ?? 0;
      return { addresses, copies: [room.copy(second, 3), room.copyKey(second, 2), room.copy(HEAP, 1)] };
    });
    expect(found.addresses).toEqual([0, 16, 32, 48, 80, 80].map((offset) => HEAP + offset));
    expect(found.copies.map((copy) => [...copy])).toEqual([[1, 2, 3], [1, 2], [7]]);
    expect(found.copies.every(({ buffer }) => buffer !== sodium.HEAPU8.buffer)).toBe(true);
    expect(found.copies.map(({ buffer }) => buffer.byteLength)).toEqual([3, 2, 1]);
  });

  it('overwrites what was taken, and no more, and the stack', async () => {
    const { sodium, scratch } = await scratchOn();
    sodium.HEAPU8.fill(0x22);
    scratch.within(40, (room) => void room.put(new Uint8Array(40).fill(0x33)));
    expect(placesOf(0x33, sodium)).toEqual([-1, -1, 0]);
    expect([...sodium.HEAPU8.subarray(HEAP, HEAP + 48)].every((byte) => byte === 0)).toBe(true);
    // 48 of the room, and 2,048 more than the stack's own bytes below it.
    expect(placesOf(0, sodium)).toEqual([STACK - 2_048, HEAP + 47, 48 + 2_048 + STACK_END - STACK]);
    expect(sodium.HEAPU8[STACK_END]).toBe(0x22);
  });

  it('overwrites what was taken where the work fails, too', async () => {
    const { sodium, scratch } = await scratchOn();
    const work = (): void => {
      scratch.within(40, (room) => {
        room.put(new Uint8Array(40).fill(0x33));
        throw new Error('it fails');
      });
    };
    expect(work).toThrow('it fails');
    expect(placesOf(0x33, sodium)).toEqual([-1, -1, 0]);
  });

  it('lends no more than it was asked for, and 128 bytes for pieces that end within 16', async () => {
    const { scratch } = await scratchOn();
    const take = (asked: number, ...pieces: readonly number[]) =>
      scratch.within(asked, (room) => pieces.map((piece) => room.take(piece)));
    expect(take(8, 1, 1, 1, 1, 1, 1, 1, 1)).toHaveLength(8);
    expect(take(0, 128)).toHaveLength(1);
    expect(() => take(0, 129)).toThrow('more room');
    expect(() => take(16, 129, 1)).toThrow('more room');
  });

  it('takes more from the library for a call that needs more, and gives it back', async () => {
    const { sodium, scratch } = await scratchOn();
    const addresses = [1_023, 1_024, 1_025, 5_000].map((bytes) =>
      scratch.within(bytes, (room) => room.take(1)),
    );
    const [own, , second, third] = addresses;
    expect(addresses).toEqual([HEAP, HEAP, HEAP + 1_152, HEAP + 1_152 + 1_153]);
    expect(own).toBe(HEAP);
    expect(sodium.given.slice(1).map(({ bytes }) => bytes)).toEqual([1_153, 5_128]);
    expect(sodium.freed).toEqual([second, third]);
  });

  it('gives back, overwritten, what a failed call needed', async () => {
    const { sodium, scratch } = await scratchOn();
    const work = (): void => {
      scratch.within(2_000, (room) => {
        room.put(new Uint8Array(2_000).fill(0x33));
        throw new Error('it fails');
      });
    };
    expect(work).toThrow('it fails');
    expect(sodium.freed).toEqual([HEAP + 1_152]);
    expect(placesOf(0x33, sodium)).toEqual([-1, -1, 0]);
  });

  it('fails a call for which the library has no memory, and serves the next one', async () => {
    const { sodium, scratch } = await scratchOn();
    expect(() => scratch.within(BYTES, () => 1)).toThrow('no memory');
    expect(scratch.within(1, () => 2)).toBe(2);
    expect(sodium.freed).toEqual([]);
  });

  it('leaves of the look for the stack nothing behind in its room', async () => {
    const { sodium } = await scratchOn();
    expect([...sodium.HEAPU8.subarray(HEAP, HEAP + 8_192)].every((byte) => byte === 0)).toBe(true);
  });

  it.each([
    ['at the very beginning', [2_047, 3_000]],
    ['nowhere below the heap', [HEAP + 9_000, HEAP + 9_100]],
  ] as const)('is refused where the stack lies %s', async (_, stack) => {
    await expect(scratchOn((sodium) => Object.assign(sodium, { stack }))).rejects.toThrow('stack');
  });

  it('is made where 2,048 bytes lie below the stack', async () => {
    const { sodium, scratch } = await scratchOn((each) => Object.assign(each, { stack: [2_048, 3_000] }));
    sodium.HEAPU8.fill(0x22);
    scratch.within(0, () => undefined);
    expect(placesOf(0, sodium)).toEqual([0, 2_999, 3_000]);
  });
});
