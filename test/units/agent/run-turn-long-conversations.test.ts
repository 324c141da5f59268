import type { BetaRunnableTool } from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ContextManagement, runTurn } from '../../../src/agent/index.ts';
import { type Memory, openMemory } from '../../../src/index.ts';
import type { ScriptedPart } from '../../../src/testing/claude/reply.ts';
import type { ScriptedScene } from '../../../src/testing/claude/scripted-claude.ts';
import { commands, type PlayedClaude, playClaude } from '../../stage/scripted-claude.ts';

const CLEARING_BETA = 'context-management-2025-06-27';
const COMPACTION_BETA = 'compact-2026-01-12';
const MODULES = ['auth', 'billing', 'cart', 'delivery', 'email', 'forms', 'graphs', 'help'];
const PROGRESS = '/memories/refactoring_progress.xml';
/** A model of a cloud that compacts at a threshold alone. */
const AT_THRESHOLD = 'anthropic.claude-opus-4-6';
/** About 20,000 tokens: five of them pass the trigger of 100,000. */
const MODULE_CHARACTERS = 80_000;

let memory: Memory;

beforeEach(async () => {
  memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(1) });
});

afterEach(() => memory.close());

/** Reads a module and says which name has to be changed in it. */
const readModule: BetaRunnableTool = {
  type: 'custom',
  name: 'read_module',
  input_schema: { type: 'object' },
  parse: (input: unknown) => input,
  run: (input: { readonly module: string }) =>
    `${input.module} calls old_${input.module}()\n${'x'.repeat(MODULE_CHARACTERS)}`,
};

async function refactor(
  claude: PlayedClaude,
  contextManagement?: ContextManagement | false,
): ReturnType<typeof runTurn> {
  return runTurn({
    client: claude.client(),
    memory,
    model: AT_THRESHOLD,
    messages: [{ role: 'user', content: 'Find every call of an old function.' }],
    tools: [readModule],
    ...(contextManagement !== undefined && { contextManagement }),
  });
}

function shownResults({
  messages,
}: ScriptedScene): readonly { readonly name: string; readonly text: string }[] {
  const names = new Map<string, string>();
  return messages.flatMap(({ content }) =>
    content.flatMap((block) => {
      if (block.type === 'tool_use') names.set(block.id, block.name);
      return block.type === 'tool_result'
        ? [{ name: names.get(block.toolUseId) ?? '', text: block.text }]
        : [];
    }),
  );
}

/** The functions named in whatever Claude is still shown. */
function known(scene: ScriptedScene): readonly string[] {
  const texts = scene.messages.flatMap(({ content }) =>
    content.flatMap((block) =>
      block.type === 'tool_result' || block.type === 'compaction' ? [block.text] : [],
    ),
  );
  return [...new Set(texts.flatMap((text) => text.match(/old_\w+/g) ?? []))].sort();
}

function readNext(scene: ScriptedScene): ScriptedPart {
  const read = scene.messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_use' ? [String(block.input['module'])] : [])),
  );
  const done = new Set([...read, ...known(scene).map((name) => name.slice('old_'.length))]);
  const module = MODULES.find((name) => !done.has(name));
  if (module !== undefined) return { calls: [{ name: 'read_module', input: { module } }] };
  return { say: known(scene).join(' ') };
}

/** Once it was warned it saves every name it finds, and at the end it looks up what it saved. */
function careful(scene: ScriptedScene): ScriptedPart {
  const saved = JSON.stringify(memoryCalls(scene));
  const unsaved = known(scene).filter((name) => !saved.includes(name));
  if (unsaved.length > 0 && (scene.isWarned || scene.applied.length > 0)) {
    const text = unsaved.map((name) => `${name}\n`).join('');
    return saved.includes('create')
      ? commands({ command: 'insert', path: PROGRESS, insert_line: 1, insert_text: text })
      : commands({ command: 'create', path: PROGRESS, file_text: `<progress>\n${text}</progress>\n` });
  }
  const next = readNext(scene);
  const viewed = memoryCalls(scene).at(-1)?.['command'] === 'view';
  return next.calls || viewed ? next : commands({ command: 'view', path: PROGRESS });
}

function memoryCalls({ messages }: ScriptedScene): readonly Readonly<Record<string, unknown>>[] {
  return messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === 'tool_use' && block.name === 'memory' ? [block.input] : [])),
  );
}

const ALL = MODULES.map((name) => `old_${name}`).join(' ');

describe('A long refactoring', () => {
  it('asks for no compaction beforehand where it has it on demand', async () => {
    await using claude = await playClaude([{ say: 'Nothing to do.' }]);
    await runTurn({
      client: claude.client(),
      memory,
      model: 'claude-opus-4-8',
      messages: [{ role: 'user', content: 'Go on.' }],
    });
    expect(claude.sent[0]?.body['context_management']).toMatchObject({
      edits: [{ type: 'clear_tool_uses_20250919' }],
    });
    expect(claude.sent[0]?.headers['anthropic-beta']).toBe(CLEARING_BETA);
  });

  it('survives the clearing of older results by what Claude saved in its memory', async () => {
    await using claude = await playClaude(Array.from({ length: 20 }, () => careful));
    const outcome = await refactor(claude);
    expect(outcome).toMatchObject({ outcome: 'answered', text: ALL, usage: { clearedToolUses: 5 } });
    const last = claude.scenes.at(-1);
    const results = last ? shownResults(last) : [];
    const modules = results.filter(({ name }) => name === 'read_module').map(({ text }) => text);
    expect(modules.map((text) => text.includes('cleared'))).toEqual(MODULES.map((_, i) => i < 5));
    const remembered = results.filter(({ name }) => name === 'memory').map(({ text }) => text);
    expect(remembered[0]).toBe(`File created successfully at: ${PROGRESS}`);
    expect(remembered.join()).not.toContain('cleared');
    // The client still sends what was cleared: the API clears, and the client keeps the whole conversation.
    expect(JSON.stringify(claude.sent.at(-1)?.body)).toContain('auth calls old_auth');
  });

  it('sends the documented edits with exactly their headers where nothing compacts on demand', async () => {
    await using claude = await playClaude([{ say: 'Nothing to do.' }]);
    await refactor(claude);
    expect(claude.sent[0]?.body['context_management']).toEqual({
      edits: [
        {
          type: 'clear_tool_uses_20250919',
          trigger: { type: 'input_tokens', value: 100_000 },
          keep: { type: 'tool_uses', value: 3 },
          exclude_tools: ['memory'],
        },
        { type: 'compact_20260112', trigger: { type: 'input_tokens', value: 150_000 } },
      ],
    });
    expect(claude.sent[0]?.headers['anthropic-beta']).toBe(`${CLEARING_BETA},${COMPACTION_BETA}`);
  });

  it('names a header once that the caller gives as well', async () => {
    await using claude = await playClaude([{ say: 'Nothing to do.' }]);
    await runTurn({
      client: claude.client(),
      memory,
      model: AT_THRESHOLD,
      messages: [{ role: 'user', content: 'Go on.' }],
      extras: { betas: ['files-api-2025-04-14', CLEARING_BETA] },
    });
    expect(claude.sent[0]?.headers['anthropic-beta']).toBe(
      ['files-api-2025-04-14', CLEARING_BETA, COMPACTION_BETA].join(),
    );
  });

  it.each([
    ['neither', false, undefined, []],
    ['clearing alone', { compaction: false }, CLEARING_BETA, ['clear_tool_uses_20250919']],
    ['compaction alone', { clearToolUses: false }, COMPACTION_BETA, ['compact_20260112']],
  ] as const)('asks for %s when told to', async (_, contextManagement, beta, types) => {
    await using claude = await playClaude([{ say: 'Nothing to do.' }]);
    expect(await refactor(claude, contextManagement)).toMatchObject({ outcome: 'answered' });
    const { headers, body } = claude.sent[0] ?? {};
    const { edits = [] } = (body?.['context_management'] ?? {}) as { edits?: { type: string }[] };
    expect(headers?.['anthropic-beta']).toBe(beta);
    expect(edits.map(({ type }) => type)).toEqual(types);
  });

  it('takes other triggers, and refuses those that are none', async () => {
    await using claude = await playClaude([{ say: 'Nothing to do.' }]);
    await refactor(claude, {
      clearToolUses: { triggerTokens: 5000, keep: 0, exclude: ['read_module'] },
      compaction: { triggerTokens: 60_000, instructions: 'Keep the names.' },
    });
    expect(claude.sent[0]?.body['context_management']).toMatchObject({
      edits: [
        { trigger: { value: 5000 }, keep: { value: 0 }, exclude_tools: ['memory', 'read_module'] },
        { trigger: { value: 60_000 }, instructions: 'Keep the names.' },
      ],
    });
    await expect(refactor(claude, { compaction: { triggerTokens: 0.5 } })).rejects.toMatchObject({
      code: 'misconfigured',
    });
  });

  it('survives a compaction, and sends the summary back as it came', async () => {
    const summarise = (scene: ScriptedScene) => `Found so far: ${known(scene).join(' ')}`;
    await using claude = await playClaude(
      Array.from({ length: 12 }, () => readNext),
      { summarise },
    );
    const outcome = await refactor(claude, { clearToolUses: false });
    expect(outcome).toMatchObject({ outcome: 'answered', text: ALL, usage: { compactions: 1 } });
    const [first] = claude.scenes.at(-1)?.messages ?? [];
    expect(first?.content[0]).toMatchObject({
      type: 'compaction',
      text: expect.stringContaining('old_auth old_billing'),
    });
    // The request that was summarised counts twice: for the summary, and for the reply behind it.
    const counted = claude.scenes.flatMap(({ inputTokens, isFull }) =>
      isFull ? [inputTokens, inputTokens] : inputTokens,
    );
    const { inputTokens, cacheReadTokens, cacheWriteTokens } = outcome.usage;
    const total = counted.reduce((sum, tokens) => sum + tokens, 0);
    expect(inputTokens + cacheReadTokens + cacheWriteTokens).toBe(total);
  });

  it('sends the header of compaction for a summary of an earlier turn even when nothing more is compacted', async () => {
    await using claude = await playClaude(
      [...Array.from({ length: 9 }, () => readNext), { say: 'Still the same.' }],
      { summarise: (scene) => known(scene).join(' ') },
    );
    const { messages } = await refactor(claude, { clearToolUses: false });
    const outcome = await runTurn({
      client: claude.client(),
      memory,
      model: AT_THRESHOLD,
      messages: [...messages, { role: 'user', content: 'And now?' }],
      tools: [readModule],
      contextManagement: false,
    });
    expect(outcome).toMatchObject({ outcome: 'answered', text: 'Still the same.' });
    expect(claude.sent.at(-1)?.headers['anthropic-beta']).toBe(COMPACTION_BETA);
  });
});
