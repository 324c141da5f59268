// The smallest program with a memory: two turns of one agent, which remembers across them and across starts.
// Once: npx sealed-memory init. Then, in Node.js 24: ANTHROPIC_API_KEY=… node --env-file=.env main.ts
import Anthropic from '@anthropic-ai/sdk';
import { openMemory, optionsFromEnvironment } from 'sealed-memory';

await using memory = await openMemory(optionsFromEnvironment());
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
