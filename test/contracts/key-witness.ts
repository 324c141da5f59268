import libsodium from 'libsodium-wrappers';
import { loadSodium } from '../../src/format/sodium.ts';

/** The compiled library under the wrappers: all keys pass through its memory. */
interface Compiled {
  readonly HEAPU8: Uint8Array;
  [name: string]: unknown;
}

type Call = (...input: readonly number[]) => number;

const DERIVES_INNER_KEY = '_crypto_secretstream_xchacha20poly1305_init_pull';
/** The place among the arguments of each function at which the address of its key stands. */
const KEY_PLACES: Readonly<Record<string, number>> = {
  _crypto_generichash: 5,
  _crypto_kdf_derive_from_key: 5,
  _crypto_aead_xchacha20poly1305_ietf_encrypt: 10,
  _crypto_aead_xchacha20poly1305_ietf_decrypt: 10,
  [DERIVES_INNER_KEY]: 2,
};
const KEY_BYTES = 32;

export interface KeyWitness extends Disposable {
  /** Every key of 32 bytes that anything in this process was encrypted, opened, hashed or derived with, each once. */
  keys(): readonly Uint8Array[];
}

/**
 * Watches every key that is used from now on: root, keyring, tenant, wrap, name, data and chunk keys, and those of
 * Node's cipher.
 */
export async function watchKeys(): Promise<KeyWitness> {
  await loadSodium();
  const compiled = (libsodium as unknown as { readonly libsodium: Compiled }).libsodium;
  const seen = new Map<string, Uint8Array>();
  const note = (address = 0): void => {
    const key = compiled.HEAPU8.slice(address, address + KEY_BYTES);
    seen.set(Buffer.from(key).toString('hex'), key);
  };
  const originals = Object.entries(KEY_PLACES).map(([name, place]) => {
    const original = compiled[name] as Call;
    compiled[name] = (...input: readonly number[]): number => {
      note(input[place]);
      const status = original(...input);
      if (name === DERIVES_INNER_KEY) note(input[0]);
      return status;
    };
    return { name, original };
  });
  return {
    keys: () => [...seen.values()],
    [Symbol.dispose]() {
      for (const { name, original } of originals) compiled[name] = original;
    },
  };
}
