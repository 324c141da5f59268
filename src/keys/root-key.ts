import { MemoryError } from '../errors.ts';

/**
 * The context to which a wrapped keyring key is bound. Sorted by name, its fields are the KMS encryption context and the
 * additional data of an environment root (docs/format.md, "Root wrap"). A root key sorts them itself: they come in any
 * order.
 */
export interface KeyringContext {
  readonly app: 'sealed-memory';
  /** Unpadded base64url of the 16-byte keyring id. */
  readonly keyring: string;
  readonly kind: 'keyring';
  readonly tenant: string;
  readonly version: '1';
}

export interface GeneratedKey {
  /** 32 bytes; the caller wipes them. */
  readonly key: Uint8Array;
  /** 1–8,192 bytes, stored in the keyring object. */
  readonly wrapped: Uint8Array;
}

/**
 * The port to the holder of a root key, which makes and unwraps the 32-byte key of one keyring write and never shows
 * itself. Failures throw `MemoryError`: `integrity` when the wrapped key is not this root's for this context,
 * `key_unavailable`, `access_denied`, `unavailable`, `timeout`, `aborted`. The library waits 60 s at most for a root
 * key that a caller hands in.
 */
export interface RootKey {
  /** The id, 1–512 printable ASCII characters; it decides, byte for byte, which configured root opens a keyring. */
  readonly id: string;
  generate(
    context: KeyringContext,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<GeneratedKey>;
  unwrap(
    wrapped: Uint8Array,
    context: KeyringContext,
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<Uint8Array>;
}

/**
 * The `reason` in the details of a failure that those who ask have caused, such as by their credentials or their quota:
 * the holder of the root key has no part in it.
 */
export const BY_ASKER = 'asker';

export const WRAP_REFUSED = 'A wrapped keyring key was refused by its root key.';

/** Makes the error for a wrapped key that is not this root's for this context. */
export function wrapRefused(): MemoryError {
  return new MemoryError('integrity', WRAP_REFUSED);
}
