import { randomFillSync } from 'node:crypto';
import libsodium from 'libsodium-wrappers';
import { loadSodium } from '../../src/format/sodium.ts';
import { openAdmin } from '../../src/open/open-admin.ts';
import { openMemory } from '../../src/open/open-memory.ts';

/**
 * Works with a memory, closes it, and prints the tenant's keys that it used, masked so that this makes no copy of them,
 * and one key that it keeps. Then it waits, for the test to look into its memory, until its input ends.
 */
const [store = ''] = process.argv.slice(2);
const MASK = 0x5a;
type Call = (...input: readonly number[]) => number;

await loadSodium();
const { libsodium: compiled } = libsodium as unknown as {
  readonly libsodium: Record<string, Call> & { readonly HEAPU8: Uint8Array };
};
const keys = new Set<string>();
const ofRoot = new Set<string>();
const masked = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => (byte ^ MASK).toString(16).padStart(2, '0')).join('');
const maskedAt = (address = 0): string => masked(compiled.HEAPU8.subarray(address, address + 32));

function watch(name: string, note: (input: readonly number[], run: () => number) => number): void {
  const original = compiled[name];
  if (original === undefined) throw new Error(`there is no ${name}`);
  Object.assign(compiled, { [name]: (...input: readonly number[]) => note(input, () => original(...input)) });
}
watch('_crypto_generichash', (input, run) => {
  if (input[6] === 32) keys.add(maskedAt(input[5]));
  return run();
});
watch('_crypto_kdf_derive_from_key', (input, run) => {
  const [from, status] = [maskedAt(input[5]), run()];
  keys.add(from).add(maskedAt(input[0]));
  // The keys that are derived from the root key stay with it in the configured root key.
  if (ofRoot.has(from)) ofRoot.add(maskedAt(input[0]));
  return status;
});
for (const [name, length] of [
  ['encrypt', 3],
  ['decrypt', 4],
] as const) {
  watch(`_crypto_aead_xchacha20poly1305_ietf_${name}`, (input, run) => {
    keys.add(maskedAt(input[10]));
    if (name === 'encrypt' && input[length] === 32) keys.add(maskedAt(input[2]));
    return run();
  });
}

watch('_crypto_secretstream_xchacha20poly1305_init_pull', (input, run) => {
  const [from, status] = [maskedAt(input[2]), run()];
  keys.add(from).add(maskedAt(input[0]));
  return status;
});

const kept = randomFillSync(new Uint8Array(new ArrayBuffer(32)));
await work();
for (const key of ofRoot) keys.delete(key);
// Node's cipher is tried with a key of zeros.
keys.delete(masked(new Uint8Array(32)));
console.log(JSON.stringify({ kept: masked(kept), keys: [...keys] }));
process.stdin.resume().on('end', () => process.exit(kept.length > 0 ? 0 : 1));

async function work(): Promise<void> {
  const rootKey = randomFillSync(new Uint8Array(new ArrayBuffer(32)));
  ofRoot.add(masked(rootKey));
  const options = { store, tenant: 'acme', rootKey };
  const memory = await openMemory(options);
  const succeed = async (input: unknown): Promise<void> => {
    const result = await memory.execute(input);
    if (result.isError) throw result.error;
  };
  for (let index = 0; index < 20; index++) {
    await succeed({ command: 'create', path: `/memories/a/${index}.md`, file_text: 'text\n'.repeat(300) });
  }
  await succeed({ command: 'create', path: '/memories/large.md', file_text: 'text\n'.repeat(100_000) });
  await succeed({ command: 'insert', path: '/memories/a/1.md', insert_line: 0, insert_text: 'line' });
  await succeed({ command: 'view', path: '/memories/a/1.md' });
  await succeed({ command: 'rename', old_path: '/memories/a', new_path: '/memories/b' });
  await memory.close();
  const admin = await openAdmin(options);
  await admin.rotate();
  await admin.migrate({ ttlMs: 60_000, reencrypt: true });
  await admin.verify();
  await admin.close();
}
