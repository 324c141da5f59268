import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import { type MemoryDriverOptions, type MemoryItemMeta, memoryDriver } from 'sealed-memory/unstorage';
import { createStorage } from 'unstorage';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const options: MemoryDriverOptions = { directory: '/memories/app' };
const storage = createStorage({ driver: memoryDriver(memory, options) });
await storage.setItem('settings:theme', { dark: true });
const { version } = (await storage.getMeta('settings:theme')) as MemoryItemMeta;
console.log(await storage.getItem('settings:theme'), version);
