import { createRequire } from 'node:module';
import Anthropic from '@anthropic-ai/sdk';
import { BaseAnthropic } from '@anthropic-ai/sdk/client';
import { ToolError } from '@anthropic-ai/sdk/lib/tools/ToolError';
import { Beta } from '@anthropic-ai/sdk/resources/beta';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type MessagesClient, runTurn } from '../../../src/agent/index.ts';
import { type Memory, openMemory } from '../../../src/index.ts';
import { commands, lastResults, playClaude } from '../../stage/scripted-claude.ts';

interface Options {
  readonly apiKey: string;
  readonly baseURL: string;
  readonly maxRetries: number;
}

/** Made as the clients for other clouds are: the base client, and of its resources the beta messages without extras. */
class CloudClient extends BaseAnthropic {
  readonly beta: MessagesClient['beta'];

  constructor(options: Options) {
    super(options);
    const beta = new Beta(this as unknown as Anthropic);
    for (const name of ['batches', 'countTokens']) Reflect.deleteProperty(beta.messages, name);
    this.beta = { messages: beta.messages };
  }
}

/** A second copy of the SDK, with classes of its own. */
const { Anthropic: OtherCopy, ToolError: OtherToolError } = ((require) => ({
  ...(require('@anthropic-ai/sdk') as { readonly Anthropic: typeof Anthropic }),
  ...(require('@anthropic-ai/sdk/lib/tools/ToolError') as { readonly ToolError: typeof ToolError }),
}))(createRequire(import.meta.url));

const CLIENTS: readonly (readonly [string, (options: Options) => MessagesClient])[] = [
  ['the API', (options) => new Anthropic(options)],
  ['another cloud', (options) => new CloudClient(options)],
  ['a second copy of the SDK', (options) => new OtherCopy(options)],
];

let memory: Memory;

beforeEach(async () => {
  memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
});

afterEach(() => memory.close());

it('The second copy of the SDK has another ToolError', () => {
  expect(OtherToolError).not.toBe(ToolError);
});

describe.each(CLIENTS)('runTurn with a client of %s', (_, connect) => {
  it('hands failures to the model word for word and marked as such', async () => {
    await using claude = await playClaude([
      commands({ command: 'delete', path: '/memories/none' }),
      { say: 'It was not there.' },
    ]);
    const client = connect({ apiKey: 'none', baseURL: claude.url, maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'Delete it.' }];
    const outcome = await runTurn({ client, memory, model: 'claude-opus-4-8', messages });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'It was not there.' });
    expect(claude.scenes[1] && lastResults(claude.scenes[1])).toEqual([
      { text: 'Error: The path /memories/none does not exist', isError: true },
    ]);
    expect(claude.sent).toHaveLength(2);
  });

  it('tells a failure that passes from the end of its time', async () => {
    await using claude = await playClaude([
      { fault: 'overloaded', afterEvents: 1, part: { say: 'x' } },
      () => new Promise<never>(() => {}),
    ]);
    const client = connect({ apiKey: 'none', baseURL: claude.url, maxRetries: 0 });
    const turn = {
      client,
      memory,
      model: 'claude-opus-4-8',
      messages: [{ role: 'user' as const, content: 'Go on.' }],
    };
    expect(await runTurn(turn)).toMatchObject({
      outcome: 'failed',
      code: 'overloaded_error',
      retry: 'later',
    });
    const late = await runTurn({ ...turn, signal: AbortSignal.timeout(150) });
    expect(late).toMatchObject({ outcome: 'interrupted', by: 'deadline' });
  });

  it('calls a server that is not there a connection', async () => {
    const claude = await playClaude([]);
    await claude[Symbol.asyncDispose]();
    const client = connect({ apiKey: 'none', baseURL: claude.url, maxRetries: 0 });
    const messages = [{ role: 'user' as const, content: 'Go on.' }];
    const outcome = await runTurn({ client, memory, model: 'claude-opus-4-8', messages });
    expect(outcome).toMatchObject({ outcome: 'failed', code: 'connection', retry: 'later' });
  });
});
