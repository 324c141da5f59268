import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import { type MemoryFilesystemOptions, memoryFilesystem } from 'sealed-memory/mastra';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const options: MemoryFilesystemOptions = { directory: '/memories/plans' };
const filesystem = memoryFilesystem(memory, options);
// new Workspace({ filesystem })
await filesystem.writeFile('/launch.md', 'The launch is on Friday.\n');
console.log(await filesystem.readFile('launch.md', { encoding: 'utf-8' }));
