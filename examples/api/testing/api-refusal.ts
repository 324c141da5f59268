import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { openMemory } from 'sealed-memory';
import { runTurn } from 'sealed-memory/agent';
import type { ApiRefusalOptions, ScriptedFault } from 'sealed-memory/testing';
import { ApiRefusal, createScriptedClaude } from 'sealed-memory/testing';

const busy: ApiRefusalOptions = { status: 429, type: 'rate_limit_error', headers: { 'retry-after': '1' } };
const cut: ScriptedFault = { part: { say: 'The launch is in May.' }, afterEvents: 2, fault: 'break' };
let requests = 0;
const fetch = createScriptedClaude({
  play: () => {
    requests += 1;
    if (requests === 1) return cut;
    throw new ApiRefusal('Too many requests.', busy);
  },
});

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const client = new Anthropic({ apiKey: 'scripted', fetch, maxRetries: 0 });
const messages = [{ role: 'user', content: 'When is the launch?' } as const];
const turn = await runTurn({ client, memory, model: 'claude-sonnet-5-5', messages });
console.log(turn.outcome === 'failed' && turn.code, requests);
