import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedClaude, startScriptedClaude } from '../../infra/local/claude/scripted-claude.ts';
import { defaultProvider } from '../../infra/worker/function-credentials.ts';
import { TurnClient } from '../../infra/worker/turn-client.ts';
import { runTurn } from '../../src/agent/run-turn.ts';
import { openMemory } from '../../src/open/open-memory.ts';
import type { ScriptedScene } from '../../src/testing/claude/scripted-claude.ts';

describe('TurnClient', () => {
  let claude: ScriptedClaude;
  const scenes: ScriptedScene[] = [];
  beforeAll(async () => {
    claude = await startScriptedClaude({
      play(scene) {
        scenes.push(scene);
        return scenes.length === 1
          ? { calls: [{ name: 'memory', input: { command: 'view', path: '/memories' } }] }
          : { say: 'done' };
      },
    });
  });
  afterAll(() => claude[Symbol.asyncDispose]());

  it('runs a turn with tool calls, as the whole client of the SDK does', async () => {
    await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32) });
    const outcome = await runTurn({
      client: new TurnClient({ baseURL: claude.url, apiKey: 'test', maxRetries: 0 }),
      memory,
      model: 'claude-sonnet-5-5',
      messages: [{ role: 'user', content: 'what do you know?' }],
    });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'done' });
    expect(scenes).toHaveLength(2);
  });
});

describe('defaultProvider', () => {
  const variables = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'] as const;
  const before = variables.map((name) => process.env[name]);
  afterAll(() => {
    variables.forEach((name, index) => {
      const value = before[index];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    });
  });

  it('takes the credentials of the function from its environment, at every call', async () => {
    for (const name of variables) process.env[name] = `value of ${name}`;
    const provider = defaultProvider();
    expect(await provider()).toEqual({
      accessKeyId: 'value of AWS_ACCESS_KEY_ID',
      secretAccessKey: 'value of AWS_SECRET_ACCESS_KEY',
      sessionToken: 'value of AWS_SESSION_TOKEN',
    });
    for (const name of variables) delete process.env[name];
    await expect(provider()).rejects.toMatchObject({ name: 'CredentialsProviderError' });
  });
});
