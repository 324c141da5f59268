import { AnthropicBedrock } from '@anthropic-ai/bedrock-sdk';
import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { AnthropicVertex } from '@anthropic-ai/vertex-sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type MessagesClient, runTurn, type TurnRequest } from '../../../src/agent/index.ts';
import { type Memory, openMemory } from '../../../src/index.ts';
import { createScriptedClaude } from '../../../src/testing/index.ts';
import {
  commands,
  lastResults,
  type Played,
  type PlayedClaude,
  playClaude,
} from '../../stage/scripted-claude.ts';

/** In place of Google's sign-in. */
const SIGNED_IN = {
  projectId: 'a-project',
  getRequestHeaders: async () => new Headers({ authorization: 'Bearer google' }),
} as unknown as NonNullable<ConstructorParameters<typeof AnthropicVertex>[0]>['authClient'];

/** Claude behind a port, or within the process. */
type ScriptedSite = Pick<PlayedClaude, 'url'> & { readonly fetch?: typeof fetch };

const CLOUDS = [
  {
    cloud: 'Bedrock',
    thinks: 'global.anthropic.claude-sonnet-5-5',
    older: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
    compacts: 'anthropic.claude-opus-4-6-v1',
    open: ({ url, fetch }: ScriptedSite): MessagesClient =>
      new AnthropicBedrock({
        baseURL: url,
        fetch,
        awsRegion: 'us-east-1',
        maxRetries: 0,
        awsAccessKey: 'access',
        awsSecretKey: 'secret',
      }),
  },
  {
    cloud: 'Google Cloud',
    thinks: 'claude-sonnet-5-5',
    older: 'claude-sonnet-4-5@20250929',
    compacts: 'claude-opus-4-6',
    open: ({ url, fetch }: ScriptedSite): MessagesClient =>
      new AnthropicVertex({
        baseURL: url,
        region: 'global',
        maxRetries: 0,
        fetch,
        authClient: SIGNED_IN ?? null,
      }),
  },
] as const;

const QUESTION: readonly BetaMessageParam[] = [{ role: 'user', content: 'Where were we?' }];
const YES = { say: 'Yes.' };

const edits = (played: PlayedClaude): readonly (readonly string[])[] =>
  played.sent.map(({ body }) =>
    ((body['context_management'] as { edits?: { type: string }[] } | undefined)?.edits ?? []).map(
      ({ type }) => type,
    ),
  );

describe.each(CLOUDS)('A turn with the client of $cloud', ({ cloud, thinks, older, compacts, open }) => {
  let memory: Memory;

  beforeEach(async () => {
    memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
  });

  afterEach(() => memory.close());

  async function play(parts: readonly Played[], turns: readonly Partial<TurnRequest>[]) {
    await using claude = await playClaude(parts);
    const client = open(claude);
    const outcomes = [];
    for (const turn of turns) {
      outcomes.push(await runTurn({ client, memory, model: thinks, messages: QUESTION, ...turn }));
    }
    return { claude, outcomes };
  }

  it('takes a scripted Claude as its fetch', async () => {
    const list = { calls: [{ name: 'memory', input: { command: 'view', path: '/memories' } }] };
    const scripted = createScriptedClaude({ play: [list, YES] });
    const client = open({ url: 'http://127.0.0.1:1', fetch: scripted });
    const turn = await runTurn({ client, memory, model: thinks, messages: QUESTION });
    expect(turn).toMatchObject({ outcome: 'answered', text: 'Yes.' });
  });

  it('uses the memory, thinks, and goes on with the conversation', async () => {
    const heard: string[] = [];
    const parts = [
      commands({ command: 'delete', path: '/memories/none' }, { command: 'view', path: '/memories' }),
      { say: 'Nowhere yet.', think: 'Hm.' },
      { say: 'Still nowhere.' },
    ];
    await using claude = await playClaude(parts);
    const turn = {
      client: open(claude),
      memory,
      model: thinks,
      onText: (delta: string) => heard.push(delta),
    };
    const first = await runTurn({ ...turn, messages: QUESTION });
    expect(first).toMatchObject({ outcome: 'answered', text: 'Nowhere yet.' });
    expect(claude.scenes[1] && lastResults(claude.scenes[1]).map(({ isError }) => isError)).toEqual([
      true,
      false,
    ]);
    const messages: readonly BetaMessageParam[] = [...first.messages, ...QUESTION];
    const second = await runTurn({ ...turn, messages, digest: first.digest });
    expect(second).toMatchObject({ outcome: 'answered', text: 'Still nowhere.' });
    expect(JSON.stringify(claude.sent.at(-1)?.body.messages)).toContain('"thinking":"Hm."');
    expect(heard).toEqual(['Nowhere yet.', 'Still nowhere.']);
  });

  it('does without what its cloud lacks, and remembers it', async () => {
    const { claude, outcomes } = await play([YES, YES], [{}, {}]);
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['answered', 'answered']);
    const last = claude.sent.at(-1)?.body;
    expect(last).not.toHaveProperty('cache_control');
    const [all, kept] = [['clear_tool_uses_20250919', 'compact_20260112'], ['clear_tool_uses_20250919']];
    // Google Cloud compacts on demand, so that no edit is asked for.
    expect(edits(claude)).toEqual(cloud === 'Bedrock' ? [all, all, kept, kept] : [kept, kept, kept]);
  });

  it('compacts as its cloud and model do, and does not ask for it where that is known not to', async () => {
    const messages: readonly BetaMessageParam[] = [
      { role: 'user', content: 'word '.repeat(160_000) },
      { role: 'assistant', content: 'I see.' },
      ...QUESTION,
    ];
    const turns = [{ model: compacts, messages }, { model: older }];
    const { claude, outcomes } = await play([YES, YES], turns);
    expect(outcomes).toMatchObject([
      { outcome: 'answered', usage: { compactions: 1 } },
      { outcome: 'answered' },
    ]);
    const isOnDemand = claude.sent.some(({ body }) => 'compaction' in body);
    const isAtThreshold = edits(claude).some((types) => types.includes('compact_20260112'));
    expect([isOnDemand, isAtThreshold]).toEqual(cloud === 'Bedrock' ? [false, true] : [true, false]);
    expect(edits(claude).at(-1)).toEqual(['clear_tool_uses_20250919']);
  });

  it('is refused a changed conversation by its name, and an overload within the stream passes', async () => {
    const turn = { system: 'Be brief.' };
    const { outcomes } = await play([{ say: 'Yes.', think: 'Hm.' }], [turn]);
    const messages: readonly BetaMessageParam[] = [...(outcomes[0]?.messages ?? []), ...QUESTION];
    const changed = await play([YES], [{ messages, system: 'Be long.' }]);
    expect(changed.outcomes[0]).toMatchObject({ outcome: 'failed', code: 'conversation_changed' });
    const busy = await play([{ fault: 'overloaded', afterEvents: 1, part: YES }], [turn]);
    expect(busy.outcomes[0]).toMatchObject({ outcome: 'failed', code: 'overloaded_error', retry: 'later' });
  });
});
