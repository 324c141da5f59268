import { MemoryError } from '../errors.ts';
import { copyOfKey, fromBase64 } from '../format/encoding.ts';
import { createRootWrap } from '../format/root-wrap.ts';
import { KEY_BYTES, loadSodium, type RandomBytes } from '../format/sodium.ts';
import { osRandom } from '../store/os-random.ts';
import { type RootKey, wrapRefused } from './root-key.ts';

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
  let made: ReturnType<typeof createRootWrap> | undefined;
  const root = () => {
    made ??= createRootWrap(secret);
    return made;
  };

  return {
    get id() {
      return root().id;
    },
    async generate(context) {
      await loadSodium();
      return root().generate(context, random);
    },
    async unwrap(wrapped, context) {
      await loadSodium();
      const opened = root().unwrap(wrapped, context);
      if (opened === undefined) throw wrapRefused();
      return opened;
    },
  };
}
