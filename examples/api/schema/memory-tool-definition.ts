import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import {
  type FieldSchema,
  type InputSchema,
  MEMORY_PROTOCOL,
  memoryToolDefinition,
  type ToolDefinition,
} from 'sealed-memory/schema';

const definition: ToolDefinition = memoryToolDefinition();
const schema: InputSchema = definition.inputSchema;
const fields: readonly FieldSchema[] = Object.values(schema.properties);
// For a host that has no adapter here: the instructions, the tool, and who serves it.
console.log(MEMORY_PROTOCOL, definition.name, fields.length);

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const serve = async (input: unknown) => (await memory.execute(input)).content;
console.log(await serve({ command: 'view', path: '/memories' }));
