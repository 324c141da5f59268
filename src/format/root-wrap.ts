import { encodeText } from '../language/text.ts';
import { concat, domain, lengthPrefixed, toBase64url, u32 } from './encoding.ts';
import {
  deriveKey,
  hash,
  KEY_BYTES,
  NONCE_BYTES,
  openBox,
  type RandomBytes,
  sealBox,
  TAG_BYTES,
} from './sodium.ts';

/** The context to which a root wrap is bound. */
type WrapContext = Readonly<Record<'app' | 'keyring' | 'kind' | 'tenant' | 'version', string>>;

/** A root key of 32 bytes, as it wraps the keys of keyrings. */
interface RootWrap {
  /** The root id. */
  readonly id: string;
  /** Draws a key of 32 bytes, and wraps it. */
  generate(
    context: WrapContext,
    random: RandomBytes,
  ): { readonly key: Uint8Array; readonly wrapped: Uint8Array };
  /** Answers the key that was wrapped for this context; undefined for any other bytes. */
  unwrap(wrapped: Uint8Array, context: WrapContext): Uint8Array | undefined;
}

const ROOT = domain('root');
const ROOT_ID = domain('root-id');
const ID_HASH_BYTES = 16;
const WRAPPED_BYTES = NONCE_BYTES + KEY_BYTES + TAG_BYTES;

/** Makes the root wrap of a secret of 32 bytes (docs/format.md, "Root wrap"). Requires `loadSodium`. */
export function createRootWrap(secret: Uint8Array): RootWrap {
  const wrapKey = deriveKey(secret, 1, 'smem-rk1');
  return {
    id: `env:${toBase64url(hash(ID_HASH_BYTES, secret, ROOT_ID))}`,
    generate(context, random) {
      const nonce = random(NONCE_BYTES);
      const key = random(KEY_BYTES);
      const box = sealBox(key, { key: wrapKey, nonce, additional: rootBinding(context) });
      return { key, wrapped: concat(nonce, box) };
    },
    unwrap(wrapped, context) {
      if (wrapped.length !== WRAPPED_BYTES) return undefined;
      const nonce = wrapped.subarray(0, NONCE_BYTES);
      const additional = rootBinding(context);
      return openBox(wrapped.subarray(NONCE_BYTES), { key: wrapKey, nonce, additional });
    },
  };
}

/**
 * Encodes the context in the order of the format, in whatever order its object was written: the additional data of a
 * root wrap.
 */
export function rootBinding({ app, keyring, kind, tenant, version }: WrapContext): Uint8Array {
  const pairs = Object.entries({ app, keyring, kind, tenant, version });
  const texts = pairs.flat().map((text) => lengthPrefixed(encodeText(text)));
  return concat(ROOT, u32(pairs.length), ...texts);
}
