import { randomBytes } from 'node:crypto';
import { type ExecuteOptions, type MemoryResult, openMemory } from 'sealed-memory';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const input = { command: 'create', path: '/memories/launch.md', file_text: 'The launch is in May.' };
const options: ExecuteOptions = { actor: 'chat-7', signal: AbortSignal.timeout(10_000) };

const result: MemoryResult = await memory.execute(input, options);
console.log(result.isError ? result.error.code : 'written', result.content);
