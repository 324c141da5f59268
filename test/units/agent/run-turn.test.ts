import type { BetaMessageParam } from '@anthropic-ai/sdk/resources/beta';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type CommandReport,
  type MessagesClient,
  runTurn,
  type TurnRequest,
} from '../../../src/agent/index.ts';
import { type Memory, openMemory } from '../../../src/index.ts';
import {
  commands,
  lastResults,
  type Played,
  type PlayedClaude,
  playClaude,
} from '../../stage/scripted-claude.ts';

const QUESTION: readonly BetaMessageParam[] = [{ role: 'user', content: 'Where were we?' }];
const VIEW = { command: 'view', path: '/memories' };

let memory: Memory;

beforeEach(async () => {
  memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
});

afterEach(() => memory.close());

type Options = Partial<Omit<TurnRequest, 'client' | 'memory'>>;

function turn(claude: PlayedClaude, options: Options = {}): ReturnType<typeof runTurn> {
  return runTurn({
    client: claude.client(),
    memory,
    model: 'claude-opus-4-8',
    messages: QUESTION,
    ...options,
  });
}

async function play(parts: readonly Played[], options: Options = {}) {
  const claude = await playClaude(parts);
  const outcome = await turn(claude, options).finally(() => claude[Symbol.asyncDispose]());
  return { outcome, sent: claude.sent, scenes: claude.scenes };
}

describe('runTurn', () => {
  it('lets Claude work until it answers, and sends the whole conversation each time', async () => {
    const { outcome, sent } = await play([
      commands(VIEW),
      commands({ command: 'create', path: '/memories/a.md', file_text: 'one\n' }),
      { say: 'Nowhere yet.' },
    ]);
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Nowhere yet.', usage: { requests: 3 } });
    expect(sent.map(({ body }) => body.messages.length)).toEqual([1, 3, 5]);
    for (const { body, headers } of sent) {
      expect(body).not.toHaveProperty('thread');
      expect(headers['anthropic-beta']).not.toContain('thread');
    }
    expect(outcome.messages).toHaveLength(6);
    expect(outcome.messages.at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'Nowhere yet.' }] });
    expect(outcome.usage.inputTokens).toBeGreaterThan(0);
    expect((await memory.execute({ command: 'view', path: '/memories/a.md' })).isError).toBe(false);
  });

  it('goes on with the messages of an earlier turn', async () => {
    const { outcome } = await play([commands(VIEW), { say: 'Nowhere yet.' }]);
    const { outcome: next, scenes } = await play([{ say: 'Still nowhere.' }], {
      messages: [...outcome.messages, { role: 'user', content: 'And now?' }],
      prime: true,
    });
    expect(next).toMatchObject({ outcome: 'answered', text: 'Still nowhere.' });
    expect(scenes[0]?.messages).toHaveLength(7);
  });

  it('carries out several calls of one reply in their order', async () => {
    const { scenes } = await play([
      commands(
        { command: 'create', path: '/memories/d/f', file_text: 'one\n' },
        { command: 'insert', path: '/memories/d/f', insert_line: 1, insert_text: 'two\n' },
        { command: 'rename', old_path: '/memories/d', new_path: '/memories/e' },
        { command: 'view', path: '/memories/e/f' },
      ),
      { say: 'Done.' },
    ]);
    expect(scenes[1] && lastResults(scenes[1]).map(({ text }) => text)).toEqual([
      'File created successfully at: /memories/d/f',
      'The file /memories/d/f has been edited.',
      'Successfully renamed /memories/d to /memories/e',
      "Here's the content of /memories/e/f with line numbers:\n     1\tone\n     2\ttwo\n     3\t",
    ]);
  });

  it('tells Claude of what it did wrong, word for word, and goes on', async () => {
    const reports: CommandReport[] = [];
    const { outcome, scenes } = await play(
      [
        commands({ command: 'delete', path: '/memories/none' }, { command: 'close' }, VIEW),
        { say: 'Sorry.' },
      ],
      { onCommand: (report) => reports.push(report) },
    );
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Sorry.' });
    const results = scenes[1] ? lastResults(scenes[1]) : [];
    expect(results.map(({ isError }) => isError)).toEqual([true, true, false]);
    expect(results[0]?.text).toBe('Error: The path /memories/none does not exist');
    const ended = Object.fromEntries(reports.map(({ command, code }) => [command ?? 'none', code]));
    expect(ended).toEqual({ delete: 'not_found', none: 'invalid_command', view: undefined });
  });

  it('offers further tools beside the memory', async () => {
    const seen: unknown[] = [];
    const { scenes } = await play(
      [{ calls: [{ name: 'read', input: { file: 'a.ts' } }] }, { say: 'Read.' }],
      {
        tools: [
          {
            type: 'custom',
            name: 'read',
            input_schema: { type: 'object' },
            parse: (input: unknown) => input,
            run: (input: unknown) => {
              seen.push(input);
              return 'export {};';
            },
          },
        ],
      },
    );
    expect(seen).toEqual([{ file: 'a.ts' }]);
    expect(scenes[1] && lastResults(scenes[1])).toEqual([{ text: 'export {};', isError: false }]);
  });

  it('tells the name and the outcome of each call of a tool, in the order of the reply, and no text', async () => {
    const told: unknown[] = [];
    const tool = (name: string, run: () => string) => ({
      type: 'custom' as const,
      name,
      input_schema: { type: 'object' as const },
      parse: (input: unknown) => input,
      run,
    });
    const call = (name: string) => ({ name, input: { word: 'canary' } });
    const view = { name: 'memory', input: { command: 'view', path: '/memories/none' } };
    await play(
      [
        { say: 'canary', calls: [call('slow'), view, call('broken')] },
        { calls: [call('slow')] },
        { say: 'Read.' },
      ],
      {
        tools: [
          tool('slow', () => 'canary'),
          tool('broken', () => {
            throw new Error('canary');
          }),
        ],
        onToolUse: (use) => told.push(use),
      },
    );
    expect(told).toEqual([
      { name: 'slow', outcome: 'ok' },
      { name: 'memory', outcome: 'error' },
      { name: 'broken', outcome: 'error' },
      { name: 'slow', outcome: 'ok' },
    ]);
  });

  it('primes the first view of the memory when asked to', async () => {
    await memory.execute({ command: 'create', path: '/memories/a.md', file_text: 'x' });
    const { outcome, sent } = await play([{ say: 'At a.' }], { prime: true });
    expect(outcome).toMatchObject({ outcome: 'answered', usage: { requests: 1 } });
    expect(sent[0]?.body.messages).toEqual([
      { role: 'user', content: 'Where were we?' },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: expect.any(String), name: 'memory', input: VIEW }],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: expect.any(String),
            content: expect.stringContaining('/memories/a.md'),
          },
        ],
      },
    ]);
  });

  it('does not put calls into the mouth of a Claude that has to think first', async () => {
    const { sent } = await play([{ say: 'Nowhere.' }], {
      prime: true,
      extras: { thinking: { type: 'enabled', budget_tokens: 1024 } },
    });
    expect(sent[0]?.body).toMatchObject({ messages: QUESTION, thinking: { type: 'enabled' } });
  });

  it.each([
    ['nothing', {}, undefined],
    ['the caller’s own prompt', { system: 'Be brief.' }, 'Be brief.'],
    [
      'a word on order',
      { systemAdditions: { tidy: true } },
      expect.stringMatching(/^Keep your memory directory/),
    ],
    [
      'a topic behind the prompt',
      { system: 'Be brief.', systemAdditions: { topic: 'bread' } },
      'Be brief.\n\nWrite to your memory only what concerns bread.',
    ],
    [
      'a topic behind blocks',
      { system: [{ type: 'text' as const, text: 'Be brief.' }], systemAdditions: { topic: 'bread' } },
      [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Write to your memory only what concerns bread.' },
      ],
    ],
  ])('says in the system prompt: %s', async (_, options, system) => {
    const { sent } = await play([{ say: 'Yes.' }], options);
    expect(sent[0]?.body['system']).toEqual(system);
  });

  it('says so when Claude refuses, and leaves the conversation as it was given', async () => {
    const { outcome } = await play([commands(VIEW), { say: 'I', stop: 'refusal' }]);
    expect(outcome).toMatchObject({ outcome: 'refused', category: 'general_harms' });
    expect(outcome.messages).toEqual(QUESTION);
  });

  it.each([
    ['max_tokens', 'max_tokens'],
    ['model_context_window_exceeded', 'context_window'],
  ] as const)('says so when the reply is cut short by %s, and runs no call of it', async (stop, by) => {
    const { outcome, sent } = await play([
      { say: 'First I', stop, ...commands({ command: 'create', path: '/memories/x', file_text: 'x' }) },
    ]);
    expect(outcome).toMatchObject({ outcome: 'truncated', by, text: 'First I' });
    expect(sent).toHaveLength(1);
    expect(outcome.messages.at(-1)).toMatchObject({ content: [{ type: 'text', text: 'First I' }] });
    expect((await memory.execute({ command: 'view', path: '/memories/x' })).isError).toBe(true);
  });

  it('says so when it took too many requests, and leaves a conversation that can go on', async () => {
    const { outcome, sent } = await play([commands(VIEW), commands(VIEW)], { maxRequests: 2 });
    expect(outcome).toMatchObject({ outcome: 'truncated', by: 'max_requests' });
    expect(sent).toHaveLength(2);
    const { outcome: next } = await play([{ say: 'Done.' }], { messages: outcome.messages });
    expect(next).toMatchObject({ outcome: 'answered' });
  });

  it('primes the view once, also where the first reply is cut', async () => {
    const cut = { fault: 'break', afterEvents: 2, part: { say: 'At a.' } } as const;
    const { outcome, sent } = await play([cut, { say: 'At a.' }], { prime: true });
    expect(outcome).toMatchObject({ outcome: 'answered' });
    expect(sent).toHaveLength(2);
    expect(sent[1]?.body).toEqual(sent[0]?.body);
  });

  it('goes on when the API pauses a long turn, and puts the answer together', async () => {
    const { outcome, scenes } = await play(
      [{ say: 'I searched ', searched: 'bread', stop: 'pause_turn' }, { say: 'and found it.' }],
      { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    );
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'I searched and found it.' });
    expect(scenes[1]?.messages.at(-1)).toMatchObject({ role: 'assistant' });
  });

  it('puts the answer together, too, of a turn that goes on behind a summary', async () => {
    const said = (text: string, stop_reason: string): unknown => ({
      model: 'claude-opus-4-8',
      role: 'assistant',
      stop_reason,
      content: [{ type: 'text', text }],
      usage: { input_tokens: 1, output_tokens: 1 },
    });
    const replies = [said('I searched ', 'compaction'), said('and found it.', 'end_turn')];
    const toolRunner = (params: object): unknown => ({
      params,
      async *[Symbol.asyncIterator]() {
        for (const reply of replies) yield { on() {}, finalMessage: async () => reply };
      },
    });
    const client = { beta: { messages: { toolRunner } } } as unknown as MessagesClient;
    const outcome = await runTurn({ client, memory, model: 'claude-opus-4-8', messages: QUESTION });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'I searched and found it.' });
  });
});
