import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import { memoryTool } from 'sealed-memory/langchain';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const tool = memoryTool(memory);
// createAgent({ model: new ChatAnthropic({ model: 'claude-sonnet-5-5' }), tools: [tool] })
console.log(await tool.invoke({ command: 'view', path: '/memories' }));
