import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import { type ClaudeMemoryTool, memoryTool } from 'sealed-memory/ai-sdk';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const tool: ClaudeMemoryTool = memoryTool(memory);
// generateText({ model: anthropic('claude-sonnet-5-5'), tools: { memory: tool }, … })
console.log(tool.id);
