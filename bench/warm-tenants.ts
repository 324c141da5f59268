import { createMemoryPool, type MemoryPool } from '../src/open/pool.ts';
import { openSqliteObjectStore } from '../src/store/sqlite/sqlite-store.ts';

// Measures what a tenant takes that stays warm in a pool: a program of its own, run with --expose-gc, so that
// nothing else lives in its heap.

const TENANTS = 1_000;
const FILE_BYTES = 2_048;
const path = '/memories/notes.md';
const rootKey = new Uint8Array(32).fill(1);

await using store = openSqliteObjectStore({ path: ':memory:' });

async function useAll(pool: MemoryPool, command: object): Promise<void> {
  for (let index = 0; index < TENANTS; index++) {
    const memory = await pool.open(`tenant-${index}`);
    const { isError } = await memory.execute(command);
    if (isError) throw new Error('a command failed');
    await memory.close();
  }
}

function memoryUsed(): { readonly heap: number; readonly resident: number } {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, resident: rss };
}

{
  await using writer = createMemoryPool({ store, rootKey });
  await useAll(writer, { command: 'create', path, file_text: 'x'.repeat(FILE_BYTES) });
}
const before = memoryUsed();
await using pool = createMemoryPool({ store, rootKey });
await useAll(pool, { command: 'view', path });
const after = memoryUsed();

const each = (used: number): string => `${(used / TENANTS / 1_000).toFixed(1)} KB`;
console.log(
  `a warm tenant with one file of ${FILE_BYTES} bytes read: ${each(after.heap - before.heap)} of heap and buffers, ${each(after.resident - before.resident)} resident (${TENANTS} tenants)`,
);
