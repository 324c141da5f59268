import { Agent, OpenAIProvider, Runner } from '@openai/agents';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing';
import { expect, it } from 'vitest';
import { memoryTools } from '../../../src/hosts/openai-agents.ts';
import { COMMAND_NAMES } from '../../../src/language/command.ts';
import { openMemory } from '../../../src/open/open-memory.ts';
import type { Memory } from '../../../src/tool/memory-tool.ts';
import { describeToolHost, type Reached } from '../../contracts/tool-host.ts';
import { startScriptedResponses } from '../../stage/scripted-claude.ts';

type Item = { readonly type: string; readonly output: Output | readonly Output[] };
type Output = { readonly text: string } | { readonly type: 'input_image'; readonly image: string };

async function converse(
  memory: Memory,
  turns: ConstructorParameters<typeof ScriptedModel>[0] & object,
  { signal }: { readonly signal?: AbortSignal } = {},
): Promise<ScriptedModel> {
  const model = new ScriptedModel([...turns, [assistantMessage('Done.')]]);
  const agent = new Agent({ name: 'Notes', model, tools: memoryTools(memory) });
  const runner = new Runner({ tracingDisabled: true });
  const { finalOutput } = await runner.run(agent, 'Go on.', { ...(signal && { signal }) });
  expect(finalOutput).toBe('Done.');
  return model;
}

/** The outputs of the tools that came last, as the model's interface gives them to any model. */
function lastRead(input: unknown): readonly Reached[] {
  const items = (input as readonly Item[]).slice();
  const first = items.findLastIndex(({ type }) => type !== 'function_call_result') + 1;
  return items.slice(first).map(({ output }) => {
    if (!Array.isArray(output)) return { content: (output as { readonly text: string }).text };
    const images = output as readonly { readonly image: string }[];
    return { content: images.map(({ image }) => imageOf(image)) };
  });
}

function imageOf(url: string): { readonly mediaType: string; readonly data: string } {
  const [, mediaType = '', data = ''] = /^data:([^;]+);base64,(.*)$/.exec(url) ?? [];
  return { mediaType, data };
}

describeToolHost('an agent of the OpenAI Agents SDK', {
  // A function's output has no mark for it.
  marksErrors: false,
  async play(memory, turns, options) {
    const script = turns.map((turn, n) =>
      turn.map(({ command, ...input }, i) => {
        const isKnown = COMMAND_NAMES.some((name) => name === command);
        const [name, given] = isKnown ? [command, input] : ['view', { ...input, command }];
        return functionCall(`memory_${name}`, given, { callId: `call_${n}_${i}` });
      }),
    );
    const { calls } = await converse(memory, script, options);
    return calls.slice(1).map(({ request }) => lastRead(request.input));
  },
});

const open = (): Promise<Memory> =>
  openMemory({ store: 'memory:', tenant: 'acme', rootKey: new Uint8Array(32).fill(7) });

it('gives the model six tools in strict mode, in which a field that may be left out is null', async () => {
  await using memory = await open();
  await memory.files.write('/memories/a.md', 'one two\n');
  const path = '/memories/a.md';
  const { calls } = await converse(memory, [
    [functionCall('memory_str_replace', { path, old_str: ' two', new_str: null }, { callId: 'call_1' })],
    [functionCall('memory_view', { path, view_range: null }, { callId: 'call_2' })],
  ]);
  expect(lastRead(calls[2]?.request.input)[0]?.content).toMatch(/ 1\tone\n/);
  const tools = calls[0]?.request.tools ?? [];
  expect(tools.map(({ name }) => name)).toEqual(COMMAND_NAMES.map((name) => `memory_${name}`));
  for (const tool of tools) {
    if (tool.type !== 'function') throw new Error('another kind of tool');
    const { properties, required, additionalProperties } = tool.parameters;
    expect([tool.strict, required, additionalProperties]).toEqual([true, Object.keys(properties), false]);
    for (const field of Object.values<object>(properties)) {
      expect(field).toHaveProperty('anyOf' in field ? 'anyOf.0.description' : 'description');
    }
  }
  expect(tools[0]).toHaveProperty('parameters.properties.view_range.anyOf.1.type', 'null');
});

it('takes arguments that are no JSON or no object for what they are', async () => {
  await using memory = await open();
  const { calls } = await converse(memory, [
    [
      functionCall('memory_view', '{"path":', { callId: 'call_1' }),
      functionCall('memory_view', '["/memories"]', { callId: 'call_2' }),
      functionCall('memory_view', 'null', { callId: 'call_3' }),
      functionCall('memory_view', '{"path":"/memories"}', { callId: 'call_4' }),
    ],
  ]);
  const contents = lastRead(calls[1]?.request.input).map(({ content }) => content);
  expect(contents).toHaveLength(4);
  expect(contents.slice(1)).toEqual([
    expect.stringMatching(/^Error: /),
    expect.stringMatching(/^Error: /),
    expect.stringMatching(/^Here're the files/),
  ]);
});

it('speaks the Responses API: schemas of strict mode, an image as a part of an output', async () => {
  await using memory = await open();
  await memory.files.write('/memories/dot.gif', new TextEncoder().encode('GIF89a'));
  await using openai = await startScriptedResponses([
    [
      { name: 'memory_view', arguments: { path: '/memories/dot.gif', view_range: null } },
      { name: 'memory_delete', arguments: { path: '/memories' } },
    ],
    [{ say: 'Done.' }],
  ]);
  const modelProvider = new OpenAIProvider({ apiKey: 'none', baseURL: openai.url });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const { finalOutput } = await runner.run(
    new Agent({ name: 'Notes', tools: memoryTools(memory) }),
    'Go on.',
  );
  expect(finalOutput).toBe('Done.');
  const request = openai.sent[1];
  expect(request).toHaveProperty('input.3.output', [
    { type: 'input_image', image_url: 'data:image/gif;base64,R0lGODlh' },
  ]);
  expect(request).toHaveProperty('input.4.output', 'Error: Cannot delete the /memories directory itself');
});
