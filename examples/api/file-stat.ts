import { randomBytes } from 'node:crypto';
import type { DirectoryStat, FileOptions, FileStat, WriteMode } from 'sealed-memory';
import { openMemory } from 'sealed-memory';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
await memory.files.write('/memories/todo.md', 'cake');

const options: FileOptions = { signal: AbortSignal.timeout(10_000) };
const found: FileStat | DirectoryStat | undefined = await memory.files.stat('/memories/todo.md', options);
if (found?.type === 'file') {
  const mode: WriteMode = { ifUnchanged: found.version };
  await memory.files.write(found.path, 'cake, candles', { ...options, mode });
}
