import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import {
  type CommandName,
  type CommandToolDefinition,
  commandInput,
  commandToolDefinitions,
} from 'sealed-memory/schema';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const tools = commandToolDefinitions().map(({ command, ...definition }: CommandToolDefinition) => ({
  ...definition,
  execute: async (input: unknown) => (await memory.execute(commandInput(command, input))).content,
}));

const view: CommandName = 'view';
const tool = tools.find(({ name }) => name === `memory_${view}`);
console.log(await tool?.execute({ path: '/memories' }));
