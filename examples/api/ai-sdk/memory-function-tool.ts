import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import { type MemoryFunctionTool, type MemoryOutput, memoryFunctionTool } from 'sealed-memory/ai-sdk';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const tool: MemoryFunctionTool = memoryFunctionTool(memory);
// generateText({ model, tools: { memory: tool }, … }); each result that it makes is one of these:
const isDone = ({ isError }: MemoryOutput): boolean => !isError;
console.log(tool.description, isDone({ isError: false, content: 'written' }));
