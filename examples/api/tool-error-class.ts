import { randomBytes } from 'node:crypto';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import { openMemory, type ToolErrorClass } from 'sealed-memory';

// The class of the copy of the SDK that runs the tools.
const toolError: ToolErrorClass = ToolError;
await using memory = await openMemory({
  store: 'memory:',
  tenant: 'acme',
  rootKey: randomBytes(32),
  toolError,
});
const failure = await memory
  .tool()
  .run({ command: 'view', path: '/etc' })
  .catch((error: unknown) => error);
console.log(failure instanceof ToolError);
