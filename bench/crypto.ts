import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { open, seal } from '../src/format/object.ts';
import { logicalName } from '../src/format/object-keys.ts';
import { loadSodium } from '../src/format/sodium.ts';
import { newVersion } from '../src/format/version.ts';
import { deriveTenantKey, type SealingKeys } from '../src/format/wrap.ts';
import { parseMemoryPath } from '../src/language/path.ts';
import { osRandom } from '../src/store/os-random.ts';
import { defaultSdk, unsignedSdk } from './encryption-sdk.ts';
import type { Lab } from './lab.ts';
import { compareCalls } from './rounds.ts';

const SEALED = 'sealed object';
const SIZES = [2 * 1024, 64 * 1024, 1024 * 1024, 8 * 1024 * 1024];

/** Something that makes of a content a message that stands for itself, and the content of that message again. */
interface Contestant {
  readonly label: string;
  encrypt(content: Uint8Array): Promise<Uint8Array> | Uint8Array;
  decrypt(message: Uint8Array): Promise<Uint8Array> | Uint8Array;
}

/**
 * Sealing and opening of one file beside AES-256-GCM as node has it and the AWS Encryption SDK for JavaScript, in
 * processor time: nothing here waits for anything else.
 */
export async function crypto(lab: Lab): Promise<void> {
  await loadSodium();
  const contestants = [aesGcm(), sealedObject(), unsignedSdk(), defaultSdk()];
  for (const size of SIZES) {
    const content = osRandom(size);
    const title = size < 1024 * 1024 ? `${size / 1024} KiB` : `${size / 1024 / 1024} MiB`;
    const messages = await Promise.all(contestants.map(({ encrypt }) => encrypt(content)));
    const pairs = contestants.map((one, index) => ({ one, message: messages[index] ?? content }));
    for (const { one, message } of pairs) {
      const same = Buffer.compare(await one.decrypt(message), content) === 0;
      if (!same) throw new Error(`${one.label} does not give the content back`);
    }
    const notes = Object.fromEntries(
      pairs.map(({ one, message }) => [one.label, `${message.length - size} bytes more`]),
    );
    const seals = Object.fromEntries(pairs.map(({ one }) => [one.label, () => one.encrypt(content)]));
    await compareCalls(lab, `seal ${title}`, seals, { time: 'processor', notes });
    const opens = Object.fromEntries(
      pairs.map(({ one, message }) => [one.label, () => one.decrypt(message)]),
    );
    const goals = size === 1024 * 1024 ? { [SEALED]: 2.5 } : {};
    await compareCalls(lab, `open ${title}`, opens, { time: 'processor', goals });
  }
}

function sealedObject(): Contestant {
  const active = { version: 1, created: Date.now(), ...deriveTenantKey(randomBytes(32)) };
  const keys: SealingKeys = { tenant: 'bench', keyringId: randomBytes(16), active, find: () => active };
  const name = logicalName(parseMemoryPath('/memories/notes/today.md'));
  return {
    label: SEALED,
    encrypt: (content) =>
      seal({
        keys,
        name,
        content,
        version: newVersion({ mtime: Date.now(), random: osRandom }),
        random: osRandom,
      }),
    decrypt: (object) => open({ keys, name, object }).content,
  };
}

/** One key for all messages, nothing bound and no commitment: the least that authenticated encryption costs here. */
function aesGcm(): Contestant {
  const key = randomBytes(32);
  return {
    label: 'AES-256-GCM (node:crypto)',
    encrypt(content) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      return Buffer.concat([nonce, cipher.update(content), cipher.final(), cipher.getAuthTag()] as const);
    },
    decrypt(message) {
      const decipher = createDecipheriv('aes-256-gcm', key, message.subarray(0, 12));
      decipher.setAuthTag(message.subarray(-16));
      return Buffer.concat([decipher.update(message.subarray(12, -16)), decipher.final()]);
    },
  };
}
