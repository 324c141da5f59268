import Anthropic from '@anthropic-ai/sdk';
import type {
  AppliedEdit,
  DroppedThought,
  ReplyBlock,
  ScriptedReply,
  SignedSummary,
  SummaryBlock,
  ThinkingBlock,
  ThresholdSummary,
} from 'sealed-memory/testing';
import { createScriptedClaude } from 'sealed-memory/testing';

const isSummary = (block: ReplyBlock): block is SummaryBlock => block.type === 'compaction';
const isSigned = (block: SummaryBlock): block is SignedSummary => 'signature' in block;
const isThought = (block: ReplyBlock): block is ThinkingBlock => block.type === 'thinking';

function onReply({ content, context_management, input_transformations }: ScriptedReply): void {
  const summaries = content.filter(isSummary);
  const onDemand: readonly SignedSummary[] = summaries.filter(isSigned);
  const atThreshold = summaries.filter((block): block is ThresholdSummary => !isSigned(block));
  const edits: readonly AppliedEdit[] = context_management?.applied_edits ?? [];
  const dropped: readonly DroppedThought[] = input_transformations ?? [];
  console.log(content.filter(isThought).length, onDemand, atThreshold, edits, dropped);
}

const fetch = createScriptedClaude({ play: [{ think: 'Hm.', say: 'In May.' }], onReply });
await new Anthropic({ apiKey: 'scripted', fetch }).messages.create({
  model: 'claude-sonnet-5-5',
  max_tokens: 1_024,
  messages: [{ role: 'user', content: 'When is the launch?' }],
});
