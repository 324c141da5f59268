import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { RootKey, RootKeyInput } from 'sealed-memory';
import { type GeneratedKey, type KeyringContext, MemoryError, openMemory } from 'sealed-memory';

const secret = randomBytes(32);
const aadOf = (context: KeyringContext) => Buffer.from(JSON.stringify(Object.entries(context).sort()));

const inThisProcess: RootKey = {
  id: 'example:1',
  async generate(context): Promise<GeneratedKey> {
    const [key, nonce] = [randomBytes(32), randomBytes(12)];
    const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(aadOf(context));
    const sealed = Buffer.concat([cipher.update(key), cipher.final()]);
    return { key: new Uint8Array(key), wrapped: Buffer.concat([nonce, cipher.getAuthTag(), sealed]) };
  },
  async unwrap(wrapped, context) {
    try {
      const decipher = createDecipheriv('aes-256-gcm', secret, wrapped.subarray(0, 12)).setAAD(
        aadOf(context),
      );
      decipher.setAuthTag(wrapped.subarray(12, 28));
      return new Uint8Array(Buffer.concat([decipher.update(wrapped.subarray(28)), decipher.final()]));
    } catch (cause) {
      throw new MemoryError('integrity', 'another root key wrapped these bytes', { cause });
    }
  },
};

const rootKey: readonly RootKeyInput[] = [inThisProcess];
await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey });
await memory.files.write('/memories/launch.md', 'The launch is in May.');
