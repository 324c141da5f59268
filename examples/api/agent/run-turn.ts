import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { openMemory } from 'sealed-memory';
import type {
  CompactionFailure,
  MessagesClient,
  RequestExtras,
  SystemAdditions,
  SystemPrompt,
  TurnEnding,
  TurnOutcome,
  TurnRequest,
  TurnUsage,
} from 'sealed-memory/agent';
import { runTurn } from 'sealed-memory/agent';
import { createScriptedClaude } from 'sealed-memory/testing';

// With a key of the API: new Anthropic({ maxRetries: 1 }).
const fetch = createScriptedClaude({ play: [{ say: 'In May.' }] });
const client: MessagesClient = new Anthropic({ apiKey: 'scripted', fetch });
await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });

const system: SystemPrompt = 'You keep the shop.';
const systemAdditions: SystemAdditions = { tidy: true, topic: 'the launch' };
const extras: RequestExtras = { metadata: { user_id: 'user-7' } };
const request: TurnRequest = {
  client,
  memory,
  model: 'claude-sonnet-5-5',
  messages: [{ role: 'user', content: 'When is the launch?' }],
  system,
  systemAdditions,
  extras,
  signal: AbortSignal.timeout(60_000),
};
const turn: TurnOutcome = await runTurn(request);
const ending: TurnEnding = turn;
const usage: TurnUsage = turn.usage;
const notShort: CompactionFailure | undefined = turn.compactionFailure;
console.log(ending.outcome === 'answered' ? ending.text : ending.outcome, usage.outputTokens, notShort?.code);
