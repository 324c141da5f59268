// The smallest program with a memory: two turns of one agent, which remembers across them and across starts.
// ANTHROPIC_API_KEY=… ROOT_KEY=$(openssl rand -base64 32) node main.ts
import Anthropic from '@anthropic-ai/sdk';
import { openMemory } from 'sealed-memory';

const { ROOT_KEY: rootKey = '' } = process.env; // base64 of 32 bytes: without it the memory cannot be read again
await using memory = await openMemory({ store: 'sqlite:./memory.db', tenant: 'my-agent', rootKey });
const client = new Anthropic();

for (const content of ['My name is Ada; please remember it.', 'What is my name? Look it up.']) {
  const runner = client.beta.messages.toolRunner({
    model: 'claude-sonnet-5-5',
    max_tokens: 4096,
    tools: [memory.tool()],
    messages: [{ role: 'user', content }],
  });
  for (const block of (await runner.runUntilDone()).content) {
    if (block.type === 'text') console.log(block.text);
  }
}
