import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import { memoryFunctionTool } from 'sealed-memory/langchain';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const tool = memoryFunctionTool(memory);
// createAgent({ model, tools: [tool] })
console.log(await tool.invoke({ command: 'view', path: '/memories' }));
