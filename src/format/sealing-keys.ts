import { domain } from './encoding.ts';
import { deriveKey, hash } from './sodium.ts';

export const ID_BYTES = 16;

const KEY_ID = domain('key-id');

/** One version of the tenant's key, in the form that seals and opens objects. */
export interface TenantKey {
  readonly version: number;
  /** When it was made, milliseconds since the epoch. */
  readonly created: number;
  /** 16 bytes, public. */
  readonly keyId: Uint8Array;
  /** 32 bytes, secret: K_wrap of the format. */
  readonly wrapKey: Uint8Array;
}

/** The keys of one tenant. */
export interface SealingKeys {
  readonly tenant: string;
  readonly keyringId: Uint8Array;
  /** The key that new objects are sealed with. */
  readonly active: TenantKey;
  find(keyId: Uint8Array): TenantKey | undefined;
}

/** What the 32 bytes of a tenant key stand for: its public id and the key that wraps data keys. */
export function deriveTenantKey(secret: Uint8Array): Pick<TenantKey, 'keyId' | 'wrapKey'> {
  return { keyId: hash(ID_BYTES, secret, KEY_ID), wrapKey: deriveKey(secret, 1, 'smem-tk1') };
}
