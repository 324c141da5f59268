// Try it: npm run build, then node examples/stream/main.ts, with ANTHROPIC_API_KEY or without Claude.
import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { createMemoryPool } from 'sealed-memory';
import { createScriptedClaude } from 'sealed-memory/testing';
import { startServer } from './server.ts';

/** Claude as the script has it: looks into its memory, then says so. */
const scripted = createScriptedClaude({
  play: ({ messages }) =>
    messages.at(-1)?.content.some(({ type }) => type === 'tool_result')
      ? { say: 'There is nothing about that yet.' }
      : { say: 'Let me look.', calls: [{ name: 'memory', input: { command: 'view', path: '/memories' } }] },
});
const client = process.env['ANTHROPIC_API_KEY']
  ? new Anthropic()
  : new Anthropic({ apiKey: 'scripted', fetch: scripted });
const pool = createMemoryPool({ store: 'memory:', rootKey: randomBytes(32) });
const server = await startServer(
  { pool, client: async () => client, model: 'claude-sonnet-5-5', log: (ended) => console.log(ended) },
  Number(process.env['PORT'] ?? 8787),
);
console.log(`${server.url}#${server.tokenFor('acme')}`);
