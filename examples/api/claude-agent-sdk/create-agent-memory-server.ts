import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import { type AgentMemoryServerOptions, createAgentMemoryServer } from 'sealed-memory/claude-agent-sdk';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const options: AgentMemoryServerOptions = { tools: 'six' };
const server = createAgentMemoryServer(memory, options);
// query({ prompt, options: { mcpServers: { memory: server }, … } })
console.log(server.name);
