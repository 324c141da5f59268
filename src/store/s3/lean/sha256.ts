import { createHmac, createSecretKey, hash, type KeyObject } from 'node:crypto';
import type { Checksum, ChecksumConstructor, SourceData } from '@smithy/types';

/**
 * Makes the hash for signatures: SHA-256, or HMAC-SHA-256 where a secret is given; each hashes one message. The AWS
 * SDK's own hash makes a `KeyObject` of the secret twice for each request, which takes longer than the hashing. This
 * one keeps the key: that of a secret in bytes as long as those bytes live, that of a text until another one is used.
 */
export function createSha256(): ChecksumConstructor {
  const ofBytes = new WeakMap<object, KeyObject>();
  let ofText: { readonly secret: string; readonly key: KeyObject } | undefined;

  function keyOf(secret: SourceData): KeyObject {
    if (typeof secret === 'string') {
      if (ofText?.secret !== secret) ofText = { secret, key: createSecretKey(secret, 'utf8') };
      return ofText.key;
    }
    let key = ofBytes.get(secret);
    if (key === undefined) {
      key = createSecretKey(secret as Uint8Array);
      ofBytes.set(secret, key);
    }
    return key;
  }

  return class implements Checksum {
    readonly #secret: SourceData | undefined;
    #message: Uint8Array | undefined;

    constructor(secret?: SourceData) {
      this.#secret = secret;
    }

    update(message: Uint8Array): void {
      if (this.#message !== undefined) throw new Error('One message is hashed.');
      this.#message = message;
    }

    async digest(): Promise<Uint8Array> {
      const message = this.#message ?? new Uint8Array();
      return this.#secret === undefined
        ? hash('sha256', message, 'buffer')
        : createHmac('sha256', keyOf(this.#secret)).update(message).digest();
    }

    reset(): void {
      this.#message = undefined;
    }
  };
}
