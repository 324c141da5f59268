import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const CHILD = fileURLToPath(new URL('./memory-child.ts', import.meta.url));
const PIECE = 16 * 1024 * 1024;
const KEY_BYTES = 32;

describe.skipIf(process.platform !== 'linux')('the memory of a process that has closed its memories', () => {
  it('holds none of the keys of the tenant, wherever one looks', { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sealed-memory-process-'));
    const child = spawn(process.execPath, [CHILD, `sqlite:${join(folder, 'store.db')}`]);
    try {
      const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
      const { kept, keys } = JSON.parse(line) as { readonly kept: string; readonly keys: readonly string[] };
      expect(keys.length).toBeGreaterThanOrEqual(50);
      expect(findIn(child, [kept])).toEqual([kept]);
      expect(findIn(child, keys)).toEqual([]);
    } finally {
      child.stdin.end();
      await once(child, 'close');
      rmSync(folder, { recursive: true });
    }
  });
});

/** Those of the masked keys that lie anywhere in the writable memory of the process. */
function findIn({ pid }: ChildProcessWithoutNullStreams, masked: readonly string[]): readonly string[] {
  const unmasked = masked.map((key) => [key, Buffer.from(key, 'hex').map((byte) => byte ^ 0x5a)] as const);
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const found = new Set<string>();
  const buffer = Buffer.alloc(PIECE);
  for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
    if (from === undefined || to === undefined) continue;
    const end = BigInt(`0x${to}`);
    for (let at = BigInt(`0x${from}`); at < end; at += BigInt(PIECE - KEY_BYTES)) {
      const length = Number(end - at < BigInt(PIECE) ? end - at : BigInt(PIECE));
      const read = readOrNothing(memory, { buffer, length, position: at });
      const piece = buffer.subarray(0, read);
      for (const [key, bytes] of unmasked) if (piece.includes(Buffer.from(bytes))) found.add(key);
    }
  }
  closeSync(memory);
  return [...found];
}

/** Some regions, such as those of the kernel, cannot be read. */
function readOrNothing(
  file: number,
  { buffer, ...range }: { readonly buffer: Buffer; readonly length: number; readonly position: bigint },
): number {
  try {
    return readSync(file, buffer, { offset: 0, ...range });
  } catch {
    return 0;
  }
}
