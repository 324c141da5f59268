import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { type MemoryTool, type MemoryToolProps, openMemory } from 'sealed-memory';
import { createScriptedClaude } from 'sealed-memory/testing';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const props: MemoryToolProps = { cache_control: { type: 'ephemeral' } };
const tool: MemoryTool = memory.tool(props);

// With a key of the API: new Anthropic().
const view = { name: 'memory', input: { command: 'view', path: '/memories' } };
const fetch = createScriptedClaude({ play: [{ calls: [view] }, { say: 'There is nothing yet.' }] });
const runner = new Anthropic({ apiKey: 'scripted', fetch }).beta.messages.toolRunner({
  model: 'claude-sonnet-5-5',
  max_tokens: 4_096,
  tools: [tool],
  messages: [{ role: 'user', content: 'What do we know?' }],
});
console.log((await runner.runUntilDone()).content);
