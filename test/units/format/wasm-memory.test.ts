import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import libsodium from 'libsodium-wrappers';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hash, loadSodium, openBox, sealBox } from '../../../src/format/sodium.ts';
import { openAdmin } from '../../../src/open/open-admin.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';

/** The compiled library under the wrappers, with the memory that all its calls share. */
interface Compiled {
  readonly HEAPU8: Uint8Array;
  [name: string]: unknown;
}

type Call = (...input: readonly number[]) => number;

const WINDOW = 8;
const MIB = 1024 * 1024;
const BOX = 'aead_xchacha20poly1305_ietf';

let compiled: Compiled;
const restore: (() => void)[] = [];
/** Everything the library was given and gave since the test began. */
let seen: { readonly what: string; readonly bytes: Uint8Array }[] = [];
let directory: string;

beforeAll(async () => {
  await loadSodium();
  compiled = (libsodium as unknown as { readonly libsodium: Compiled }).libsodium;
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sealed-memory-wasm-'));
  seen = [];
  const at = (what: string, address = 0, length = 0): void => {
    seen.push({ what, bytes: compiled.HEAPU8.slice(address, address + length) });
  };
  watch('_crypto_generichash', ([out, length, message, bytes, , key, keyBytes], run) => {
    at('a key', key, keyBytes);
    at('a message that was hashed', message, bytes);
    run();
    at('a digest', out, length);
  });
  watch('_crypto_kdf_derive_from_key', ([out, length, , , , key], run) => {
    at('a key', key, 32);
    run();
    at('a derived key', out, length);
  });
  watch(`_crypto_${BOX}_encrypt`, ([, , message, bytes, , , , , , , key], run) => {
    at('a key', key, 32);
    at('a plaintext', message, bytes);
    run();
  });
  watch(`_crypto_${BOX}_decrypt`, ([message, , , , bytes = 0, , , , , , key], run) => {
    at('a key', key, 32);
    run();
    at('a plaintext', message, bytes - 16);
  });
  watch('_crypto_secretstream_xchacha20poly1305_init_pull', ([state, , key], run) => {
    at('a key', key, 32);
    run();
    at('a derived key', state, 32);
  });
});
afterEach(() => {
  for (const undo of restore.splice(0)) undo();
  rmSync(directory, { recursive: true });
});

function watch(name: string, around: (input: readonly number[], run: () => void) => void): void {
  const original = compiled[name] as Call;
  compiled[name] = (...input: readonly number[]): number => {
    let status = 0;
    around(input, () => {
      status = original(...input);
    });
    return status;
  };
  restore.push(() => {
    compiled[name] = original;
  });
}

/**
 * Answers which of the things seen, or of further ones, still lie in the library's memory, in pieces of 15 bytes or
 * more.
 */
function findLeft(...further: readonly Uint8Array[]): readonly string[] {
  const pieces = new Map<bigint, string>();
  for (const { what, bytes } of [...seen, ...further.map((each) => ({ what: 'a canary', bytes: each }))]) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let offset = 0; offset + WINDOW <= bytes.length; offset += bytes.length > 64 ? WINDOW : 1) {
      const piece = bytes.subarray(offset, offset + WINDOW);
      if (new Set(piece).size > WINDOW / 2) pieces.set(view.getBigUint64(offset), what);
    }
  }
  const heap = compiled.HEAPU8;
  const view = new DataView(heap.buffer);
  const left = new Set<string>();
  for (let offset = 0; offset + WINDOW <= heap.length; offset++) {
    if (heap[offset] === 0) continue;
    const found = pieces.get(view.getBigUint64(offset));
    if (found !== undefined) left.add(found);
  }
  return [...left];
}

describe("libsodium's memory", { timeout: 120_000 }, () => {
  const rootKey = new Uint8Array(randomBytes(32));
  const options = () => ({ store: `sqlite:${join(directory, 'store.db')}`, tenant: 'acme', rootKey });

  it('shows a key to the search when the package itself is asked to hash with it', () => {
    const key = new Uint8Array(randomBytes(32));
    libsodium.crypto_generichash(32, new Uint8Array(randomBytes(40)), key);
    expect(findLeft()).toContain('a key');
    scrub(key);
    seen = [];
  });

  it('holds no key and no plaintext after small files were written, edited, viewed and the memory closed', async () => {
    const canary = canaryText(600);
    const memory = await openMemory(options());
    for (let index = 0; index < 20; index++) {
      await succeed(memory, { command: 'create', path: `/memories/a/${index}.md`, file_text: `${canary}\n` });
    }
    await succeed(memory, {
      command: 'insert',
      path: '/memories/a/1.md',
      insert_line: 0,
      insert_text: canary,
    });
    await succeed(memory, { command: 'view', path: '/memories/a/1.md' });
    await succeed(memory, { command: 'view', path: '/memories' });
    await memory.close();
    expectNothingLeft(canary);
  });

  it('holds no key and no plaintext after large files were written and read and the memory closed', async () => {
    // Only the end of it, a short chunk, passes through libsodium.
    const canary = canaryText(2 * MIB + 1_000);
    const memory = await openMemory({ ...options(), limits: { fileBytes: 4 * MIB } });
    await succeed(memory, { command: 'create', path: '/memories/large.txt', file_text: canary });
    await succeed(memory, { command: 'view', path: '/memories/large.txt' });
    await memory.close();
    expect(seen.filter(({ what }) => what === 'a derived key').length).toBeGreaterThan(2);
    expectNothingLeft(canary, { passage: canary.slice(-50) });
  });

  it('holds no key and no name after files and directories were renamed and the memory closed', async () => {
    const canary = canaryText(100);
    const memory = await openMemory(options());
    for (let index = 0; index < 10; index++) {
      await succeed(memory, { command: 'create', path: `/memories/d/${index}.md`, file_text: canary });
    }
    await succeed(memory, {
      command: 'rename',
      old_path: '/memories/d/1.md',
      new_path: `/memories/${canary.slice(0, 60)}`,
    });
    await succeed(memory, { command: 'rename', old_path: '/memories/d', new_path: '/memories/e' });
    await memory.close();
    expectNothingLeft(canary);
  });

  it('holds no key of an earlier or later keyring after a rotation, a migration and the close', async () => {
    const canary = canaryText(300);
    const memory = await openMemory(options());
    await succeed(memory, { command: 'create', path: '/memories/notes.md', file_text: canary });
    await memory.close();
    const admin = await openAdmin(options());
    await admin.rotate();
    await admin.migrate({ ttlMs: 60_000 });
    await admin.migrate({ ttlMs: 60_000, reencrypt: true });
    await admin.verify();
    await admin.close();
    expectNothingLeft(canary);
  });

  it('holds no plaintext of a box that was refused', () => {
    const [key, nonce] = [randomBytes(32), randomBytes(24)].map((bytes) => new Uint8Array(bytes));
    if (key === undefined || nonce === undefined) throw new Error('unreachable');
    const additional = new Uint8Array(randomBytes(16));
    const message = new Uint8Array(randomBytes(1_000));
    const box = sealBox(message, { key, nonce, additional });
    expect(openBox(box.with(999, (box[999] ?? 0) ^ 1), { key, nonce, additional })).toBeUndefined();
    expect(findLeft(message, key)).toEqual([]);
  });

  it('is overwritten after input of any size', () => {
    const key = new Uint8Array(randomBytes(32));
    for (const length of [0, 1, 127, 128, 129, 65_536, 98_304, 98_305, 300_000]) {
      const message = new Uint8Array(randomBytes(length));
      expect(hash(64, key, message)).toHaveLength(64);
      const parameters = { key, nonce: new Uint8Array(randomBytes(24)), additional: message };
      expect(openBox(sealBox(message, parameters), parameters)).toEqual(message);
    }
    expect(seen.length).toBeGreaterThan(30);
    expect(findLeft(key)).toEqual([]);
  });

  it('does not grow when tens of MiB are sealed', async () => {
    const before = compiled.HEAPU8.length;
    const memory = await openMemory({ ...options(), limits: { fileBytes: 64 * MIB } });
    const text = 'thirty-two bytes of plain text.\n'.repeat(MIB);
    await succeed(memory, { command: 'create', path: '/memories/large.txt', file_text: text });
    await memory.close();
    expect(compiled.HEAPU8.length).toBe(before);
  });

  it('does not grow when input that outgrows the scratch room comes often', () => {
    const [key, message] = [new Uint8Array(randomBytes(32)), new Uint8Array(MIB)];
    hash(64, key, message);
    const before = compiled.HEAPU8.length;
    for (let round = 0; round < 64; round++) hash(64, key, message);
    expect(compiled.HEAPU8.length).toBe(before);
  });

  function expectNothingLeft(canary: string, { passage = canary.slice(0, 50) } = {}): void {
    expect(seen.filter(({ what }) => what === 'a key').length).toBeGreaterThan(20);
    expect(seen.some(({ bytes }) => Buffer.from(bytes).includes(passage))).toBe(true);
    expect(seen.some(({ bytes }) => Buffer.from(rootKey).equals(bytes))).toBe(true);
    expect(findLeft(rootKey, new TextEncoder().encode(canary))).toEqual([]);
  }
});

function canaryText(length: number): string {
  return randomBytes(Math.ceil(length / 2))
    .toString('hex')
    .slice(0, length);
}

/** Overwrites what the package left of a key, wherever it lies. */
function scrub(key: Uint8Array): void {
  const heap = Buffer.from(compiled.HEAPU8.buffer);
  for (
    let offset = heap.indexOf(key.subarray(0, 8));
    offset !== -1;
    offset = heap.indexOf(key.subarray(0, 8))
  ) {
    heap.fill(0, offset, offset + 32);
  }
}

async function succeed(memory: Memory, input: unknown): Promise<void> {
  const result = await memory.execute(input);
  if (result.isError) throw result.error;
}
