import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { parseMemoryPath } from '../src/memory/path.ts';
import { logicalName } from '../src/sealing/logical-name.ts';
import { open, seal } from '../src/sealing/sealed-object.ts';
import { deriveTenantKey, type SealingKeys } from '../src/sealing/sealing-keys.ts';
import { loadSodium } from '../src/sealing/sodium.ts';
import { printRatios } from './ratios.ts';

const SIZES = [2 * 1024, 64 * 1024, 1024 * 1024];

/** Sealing and opening of one file against AES-256-GCM of the same bytes, which binds neither name nor tenant. */
export async function crypto(): Promise<void> {
  await loadSodium();
  const keys = benchKeys();
  const name = logicalName(parseMemoryPath('/memories/notes/today.md'));
  const random = (length: number): Uint8Array => new Uint8Array(randomBytes(length));
  const aesKey = randomBytes(32);
  for (const size of SIZES) {
    const content = random(size);
    const object = seal({ keys, name, content, mtime: Date.now(), random });
    const aes = encryptAes(aesKey, content);
    const label = `${size / 1024} KiB`;
    await printRatios(`seal ${label}`, {
      'AES-256-GCM (node:crypto)': () => encryptAes(aesKey, content),
      'sealed object': () => seal({ keys, name, content, mtime: Date.now(), random }),
    });
    await printRatios(`open ${label}`, {
      'AES-256-GCM (node:crypto)': () => decryptAes(aesKey, aes),
      'sealed object': () => open({ keys, name, object }),
    });
    console.log(`  ${label}: ${object.length - size} bytes of overhead, AES-GCM ${12 + 16}`);
  }
}

function benchKeys(): SealingKeys {
  const active = { version: 1, created: Date.now(), ...deriveTenantKey(randomBytes(32)) };
  return { tenant: 'bench', keyringId: randomBytes(16), active, find: () => active };
}

interface AesMessage {
  readonly nonce: Uint8Array;
  readonly tag: Uint8Array;
  readonly ciphertext: Uint8Array;
}

function encryptAes(key: Uint8Array, content: Uint8Array): AesMessage {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const ciphertext = Buffer.concat([cipher.update(content), cipher.final()]);
  return { nonce, tag: cipher.getAuthTag(), ciphertext };
}

function decryptAes(key: Uint8Array, message: AesMessage): Uint8Array {
  const decipher = createDecipheriv('aes-256-gcm', key, message.nonce);
  decipher.setAuthTag(message.tag);
  return Buffer.concat([decipher.update(message.ciphertext), decipher.final()]);
}
