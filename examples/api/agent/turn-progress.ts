import { randomBytes } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import { openMemory } from 'sealed-memory';
import type { CommandReport, PendingReply, ToolUseReport, TurnProgress } from 'sealed-memory/agent';
import { runTurn } from 'sealed-memory/agent';
import { createScriptedClaude } from 'sealed-memory/testing';

const view = { name: 'memory', input: { command: 'view', path: '/memories' } };
const fetch = createScriptedClaude({ play: [{ calls: [view] }, { say: 'There is nothing yet.' }] });
const client = new Anthropic({ apiKey: 'scripted', fetch });
await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });

let kept: TurnProgress | undefined;
const turn = {
  client,
  memory,
  model: 'claude-sonnet-5-5',
  messages: [{ role: 'user', content: 'What do we know?' } as const],
  onCommand: ({ command, code, durationMs }: CommandReport) => console.log(command, code, durationMs),
  onToolUse: ({ name, outcome }: ToolUseReport) => console.log(name, outcome),
};
await runTurn({
  ...turn,
  async onStep(progress) {
    const pending: PendingReply | undefined = progress.pending;
    if (pending === undefined) kept = progress;
    return pending === undefined ? 'stop' : 'go_on';
  },
});
// Another process goes on where the first one stopped.
const outcome = await runTurn({ ...turn, ...(kept && { resumeFrom: kept }) });
console.log(outcome.outcome === 'answered' && outcome.text);
