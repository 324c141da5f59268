import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { openMemory } from 'sealed-memory';
import type { ClearToolUses, Compaction, ContextEdit, ContextManagement } from 'sealed-memory/agent';
import { runTurn } from 'sealed-memory/agent';
import { createScriptedClaude } from 'sealed-memory/testing';

const clearToolUses: ClearToolUses = { triggerTokens: 50_000, keep: 5, exclude: ['price_of'] };
const compaction: Compaction = { triggerTokens: 120_000, instructions: 'Keep every date and every name.' };
const byTask: ContextManagement = { clearToolUses, compaction };
// Or the edits as the API takes them.
const thoughts: ContextEdit = { type: 'clear_thinking_20251015', keep: 'all' };
const byEdits: ContextManagement = { edits: [thoughts] };

const messages = [{ role: 'user', content: 'When is the launch?' } as const];
await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
for (const contextManagement of [byTask, byEdits]) {
  const fetch = createScriptedClaude({ play: [{ say: 'In May.' }] });
  const client = new Anthropic({ apiKey: 'scripted', fetch });
  const turn = await runTurn({ client, memory, model: 'claude-sonnet-5-5', messages, contextManagement });
  console.log(turn.outcome);
}
