import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { openMemory } from 'sealed-memory';
import { runTurn } from 'sealed-memory/agent';
import type { ClaudeScript, ScriptedClaudeOptions, ScriptedPart, ToolCall } from 'sealed-memory/testing';
import { createScriptedClaude } from 'sealed-memory/testing';

const file = { path: '/memories/launch.md', file_text: 'The launch is in May.' };
const create: ToolCall = { name: 'memory', input: { command: 'create', ...file } };
const noted: ScriptedPart = { say: 'Noted.' };
const play: ClaudeScript = [{ calls: [create] }, noted];
const options: ScriptedClaudeOptions = { play, onRequest: ({ body }) => console.log(body) };

const client = new Anthropic({ apiKey: 'scripted', fetch: createScriptedClaude(options) });
await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const messages = [{ role: 'user', content: 'The launch is in May.' } as const];
const turn = await runTurn({ client, memory, model: 'claude-sonnet-5-5', messages });
console.log(turn.outcome, (await memory.files.read('/memories/launch.md'))?.text());
