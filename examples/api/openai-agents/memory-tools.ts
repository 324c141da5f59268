import { randomBytes } from 'node:crypto';
import { Agent } from '@openai/agents';
import { openMemory } from 'sealed-memory';
import { memoryTools, type StrictSchema } from 'sealed-memory/openai-agents';
import { MEMORY_PROTOCOL } from 'sealed-memory/schema';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const tools = memoryTools(memory);
const agent = new Agent({ name: 'Notes', instructions: MEMORY_PROTOCOL, tools });
// run(agent, 'What do we know about the launch?')
const fieldsOf = ({ required }: StrictSchema): string => required.join(', ');
console.log(
  agent.name,
  tools.map(({ name, parameters }) => `${name}: ${fieldsOf(parameters as StrictSchema)}`),
);
