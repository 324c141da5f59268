import { copyOfKey } from './encoding.ts';

/**
 * The functions of the compiled library that are used here, by their addresses in its memory. Its wrappers in
 * JavaScript would copy keys and plaintext into places that they free without overwriting them.
 */
interface RawSodium {
  readonly HEAPU8: Uint8Array;
  _malloc(bytes: number): number;
  _free(address: number): void;
  _crypto_generichash(...input: readonly number[]): number;
  _crypto_kdf_derive_from_key(...input: readonly number[]): number;
  _crypto_aead_xchacha20poly1305_ietf_encrypt(...input: readonly number[]): number;
  _crypto_aead_xchacha20poly1305_ietf_decrypt(...input: readonly number[]): number;
  _crypto_secretstream_xchacha20poly1305_init_pull(...input: readonly number[]): number;
}

const USED: readonly (keyof RawSodium)[] = [
  '_malloc',
  '_free',
  '_crypto_generichash',
  '_crypto_kdf_derive_from_key',
  '_crypto_aead_xchacha20poly1305_ietf_encrypt',
  '_crypto_aead_xchacha20poly1305_ietf_decrypt',
  '_crypto_secretstream_xchacha20poly1305_init_pull',
];

/** A place in the memory of the compiled library, for one call. */
export interface SodiumScratch {
  readonly sodium: RawSodium;
  /** Takes the address of `bytes` bytes. */
  take(bytes: number): number;
  put(bytes: Uint8Array): number;
  write(address: number, bytes: Uint8Array): void;
  copy(address: number, bytes: number): Uint8Array;
  /** Copies a key, more slowly than `copy`, to a place that never moves: overwriting the copy erases the key. */
  copyKey(address: number, bytes: number): Uint8Array;
}

/** Lends out room in the memory of the compiled library and overwrites it afterwards. */
export interface Scratch {
  /**
   * Runs `work` with room for `bytes` bytes in all, in at most eight pieces. Bytes that it and the library leave there,
   * and on the library's stack, are overwritten before this returns or throws.
   */
  within<T>(bytes: number, work: (room: SodiumScratch) => T): T;
}

const ALIGNMENT = 16;
const PIECES = 8;
/**
 * The bytes below the deepest place that `findStack` sees: more than any path through the functions of `RawSodium` was
 * seen to use.
 */
const STACK_MARGIN_BYTES = 2_048;

/**
 * Loads the compiled library and makes the scratch.
 *
 * @param bytes the room that lies ready; more is taken from the library's heap for one call.
 */
export async function createScratch(bytes: number): Promise<Scratch> {
  // The library is several times as large as the rest of a program: it is read when a key is first used, not at the
  // start.
  const { default: libsodium } = await import('libsodium-wrappers');
  await libsodium.ready;
  const sodium = (libsodium as unknown as { readonly libsodium: RawSodium }).libsodium;
  const missing = USED.filter((name) => typeof sodium?.[name] !== 'function');
  if (missing.length > 0) throw new Error(`libsodium-wrappers lacks ${missing.join(', ')}`);
  const size = roomFor(bytes);
  const base = allocate(sodium, size);
  const stack = findStack(sodium, base);
  let [next, end] = [base, base];
  const room: SodiumScratch = {
    sodium,
    take(length) {
      const address = next;
      next += Math.ceil(length / ALIGNMENT) * ALIGNMENT;
      if (next > end) throw new Error('more room was taken than was asked for');
      return address;
    },
    put(content) {
      const address = room.take(content.length);
      sodium.HEAPU8.set(content, address);
      return address;
    },
    write: (address, content) => sodium.HEAPU8.set(content, address),
    copy: (address, length) => sodium.HEAPU8.slice(address, address + length),
    copyKey: (address, length) => copyOfKey(sodium.HEAPU8, address, address + length),
  };

  return {
    within(wanted, work) {
      const needed = roomFor(wanted);
      const start = needed <= size ? base : allocate(sodium, needed);
      [next, end] = [start, start + needed];
      try {
        return work(room);
      } finally {
        sodium.HEAPU8.fill(0, start, next);
        sodium.HEAPU8.fill(0, stack.begin, stack.end);
        if (start !== base) sodium._free(start);
      }
    },
  };
}

function roomFor(bytes: number): number {
  return bytes + PIECES * ALIGNMENT;
}

function allocate(sodium: RawSodium, bytes: number): number {
  const address = sodium._malloc(bytes);
  if (address === 0) throw new Error('libsodium has no memory left');
  return address;
}

/**
 * Finds the place where the library's functions keep their own variables, parts of keys among them: always the same,
 * because they are called from outside only, and below `heap`, a piece of the heap. It tries them and looks which bytes
 * change, since only their variables do.
 */
function findStack(sodium: RawSodium, heap: number): { readonly begin: number; readonly end: number } {
  const before = sodium.HEAPU8.slice(0, heap);
  const [first, second, third, fourth] = [heap, heap + 2_048, heap + 4_096, heap + 4_160];
  for (const fill of [0x5a, 0xa5]) {
    sodium.HEAPU8.fill(fill, heap, heap + 8_192);
    sodium._crypto_generichash(second, 64, first, 1_000, 0, third, 32);
    sodium._crypto_kdf_derive_from_key(second, 32, 1, 0, fourth, third);
    const box = [second, 0, first, 1_000, 0, first, 100, 0, 0, fourth, third];
    sodium._crypto_aead_xchacha20poly1305_ietf_encrypt(...box);
    sodium._crypto_aead_xchacha20poly1305_ietf_decrypt(
      first,
      0,
      0,
      second,
      1_016,
      0,
      first,
      100,
      0,
      fourth,
      third,
    );
    sodium._crypto_secretstream_xchacha20poly1305_init_pull(second, fourth, third);
  }
  sodium.HEAPU8.fill(0, heap, heap + 8_192);
  const after = sodium.HEAPU8.subarray(0, heap);
  const isChanged = (byte: number, index: number): boolean => byte !== before[index];
  const deepest = after.findIndex(isChanged);
  if (deepest < STACK_MARGIN_BYTES) throw new Error("libsodium's stack does not lie where it was expected");
  return { begin: deepest - STACK_MARGIN_BYTES, end: after.findLastIndex(isChanged) + 1 };
}
