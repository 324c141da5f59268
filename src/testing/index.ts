// The means by which an application tests its agent, its store and its root key. Only tests load them.

export { ApiRefusal, type ApiRefusalOptions } from './claude/api-refusal.ts';
export type { AppliedEdit, ScriptedView } from './claude/context-edits.ts';
export type { RequestBlock, RequestMessage } from './claude/message-blocks.ts';
export type { SentRequest } from './claude/messages-request.ts';
export type { NoSummary, ReplyBlock, ScriptedPart, ScriptedReply, ToolCall } from './claude/reply.ts';
export {
  type ClaudeScript,
  createScriptedClaude,
  type ScriptedClaudeOptions,
  type ScriptedFault,
  type ScriptedScene,
} from './claude/scripted-claude.ts';
export type { SignedSummary, SummaryBlock, ThresholdSummary } from './claude/summary.ts';
export type { DroppedThought, ThinkingBlock } from './claude/thoughts.ts';
export { createTestClock, type TestClock } from './clock.ts';
export type { ContractCase } from './contracts/contract.ts';
export { objectStoreContract, type StoreConformance, type StoreLack } from './contracts/object-store.ts';
export { type RootKeyConformance, type RootKeyPair, rootKeyContract } from './contracts/root-key.ts';
