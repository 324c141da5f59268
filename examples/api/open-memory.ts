import { randomBytes } from 'node:crypto';
import { type Memory, type MemoryOptions, type NameMode, openMemory } from 'sealed-memory';

const names: NameMode = 'encrypted';
const options: MemoryOptions = { store: 'memory:', tenant: 'acme', rootKey: randomBytes(32), names };

await using memory: Memory = await openMemory(options);
await memory.files.write('/memories/launch.md', 'The launch is in May.');
console.log((await memory.files.read('/memories/launch.md'))?.text());
