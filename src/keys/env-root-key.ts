import { MemoryError } from '../errors.ts';
import {
  concat,
  copyOfKey,
  domain,
  fromBase64,
  lengthPrefixed,
  toBase64url,
  u32,
} from '../format/encoding.ts';
import {
  deriveKey,
  hash,
  KEY_BYTES,
  loadSodium,
  NONCE_BYTES,
  openBox,
  type RandomBytes,
  sealBox,
  TAG_BYTES,
} from '../format/sodium.ts';
import { encodeText } from '../language/text.ts';
import { osRandom } from '../store/os-random.ts';
import { type KeyringContext, type RootKey, wrapRefused } from './root-key.ts';

const ROOT = domain('root');
const ROOT_ID = domain('root-id');
const WRAPPED_BYTES = NONCE_BYTES + KEY_BYTES + TAG_BYTES;

interface Derived {
  readonly id: string;
  readonly wrapKey: Uint8Array;
}

/**
 * Makes a root key that the process itself holds: 32 bytes, or their padded canonical base64 as it stands in an
 * environment variable. Its `id` can be read once `loadSodium` has resolved (docs/format.md, "Root keys").
 *
 * @throws MemoryError `misconfigured` for any other key; the message never holds it.
 */
export function envRootKey(
  key: string | Uint8Array,
  { random = osRandom }: { readonly random?: RandomBytes } = {},
): RootKey {
  const secret = typeof key === 'string' ? fromBase64(key) : copyOfKey(key);
  if (secret?.length !== KEY_BYTES) {
    throw new MemoryError('misconfigured', 'A root key must be 32 bytes, or their padded canonical base64.');
  }
  let derived: Derived | undefined;
  const derive = (): Derived => {
    derived ??= {
      id: `env:${toBase64url(hash(16, secret, ROOT_ID))}`,
      wrapKey: deriveKey(secret, 1, 'smem-rk1'),
    };
    return derived;
  };

  return {
    get id() {
      return derive().id;
    },
    async generate(context) {
      await loadSodium();
      const nonce = random(NONCE_BYTES);
      const generated = random(KEY_BYTES);
      const box = sealBox(generated, { key: derive().wrapKey, nonce, additional: bindingOf(context) });
      return { key: generated, wrapped: concat(nonce, box) };
    },
    async unwrap(wrapped, context) {
      await loadSodium();
      const opened =
        wrapped.length === WRAPPED_BYTES
          ? openBox(wrapped.subarray(NONCE_BYTES), {
              key: derive().wrapKey,
              nonce: wrapped.subarray(0, NONCE_BYTES),
              additional: bindingOf(context),
            })
          : undefined;
      if (opened === undefined) {
        throw wrapRefused();
      }
      return opened;
    },
  };
}

/** Encodes the context in the order of the format, in whatever order its object was written. */
function bindingOf({ app, keyring, kind, tenant, version }: KeyringContext): Uint8Array {
  const pairs = Object.entries({ app, keyring, kind, tenant, version });
  const texts = pairs.flat().map((text) => lengthPrefixed(encodeText(text)));
  return concat(ROOT, u32(pairs.length), ...texts);
}
