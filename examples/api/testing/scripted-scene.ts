import Anthropic from '@anthropic-ai/sdk';
import type {
  NoSummary,
  RequestBlock,
  RequestMessage,
  ScriptedPart,
  ScriptedScene,
  ScriptedView,
  SentRequest,
} from 'sealed-memory/testing';
import { createScriptedClaude } from 'sealed-memory/testing';

const textOf = (block: RequestBlock): string => (block.type === 'text' ? block.text : '');
const lastOf = ({ messages }: ScriptedView): RequestMessage | undefined => messages.at(-1);
const hasMemory = ({ tools }: SentRequest): boolean => tools.get('memory') === 'memory_20250818';

function play(scene: ScriptedScene): ScriptedPart {
  if (hasMemory(scene)) return { calls: [{ name: 'memory', input: { command: 'view', path: '/memories' } }] };
  const asked = lastOf(scene)?.content.map(textOf).join(' ') ?? '';
  return { say: asked.includes('launch') ? 'In May.' : 'I do not know.' };
}
const summarise = (scene: ScriptedScene): string | NoSummary =>
  scene.isFull ? 'They spoke of the launch.' : { stop: 'refusal' };

const fetch = createScriptedClaude({ play, summarise });
const { content } = await new Anthropic({ apiKey: 'scripted', fetch }).messages.create({
  model: 'claude-sonnet-5-5',
  max_tokens: 1_024,
  messages: [{ role: 'user', content: 'When is the launch?' }],
});
console.log(content);
