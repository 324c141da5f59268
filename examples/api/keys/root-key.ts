import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import type { GeneratedKey, KeyringContext, RootKey } from 'sealed-memory/keys';

/** Tells of each use of a root key: who opens a keyring of which tenant. */
function told(rootKey: RootKey, tell: (tenant: string) => void): RootKey {
  return {
    id: rootKey.id,
    async generate(context: KeyringContext, options): Promise<GeneratedKey> {
      tell(context.tenant);
      return rootKey.generate(context, options);
    },
    async unwrap(wrapped, context, options) {
      tell(context.tenant);
      return rootKey.unwrap(wrapped, context, options);
    },
  };
}

// A service that keeps what it made; one of yours would encrypt it.
const kept = new Map<string, Uint8Array>();
const service: RootKey = {
  id: 'example:1',
  async generate() {
    const [key, wrapped] = [new Uint8Array(randomBytes(32)), new Uint8Array(randomBytes(16))];
    kept.set(wrapped.toString(), key);
    return { key: key.slice(), wrapped };
  },
  unwrap: async (wrapped) => kept.get(new Uint8Array(wrapped).toString())?.slice() ?? new Uint8Array(),
};
const rootKey = told(service, (tenant) => console.log(`the root key was used for ${tenant}`));
await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey });
await memory.files.write('/memories/launch.md', 'The launch is in May.');
