export type { ClearToolUses, Compaction, ContextManagement } from './context-management.ts';
export type { MessagesClient, ReplyStream, TurnRunner } from './messages-client.ts';
export {
  bootstrapProject,
  completeFeature,
  endSession,
  type ProjectOptions,
  type ProjectPlan,
  type ProjectState,
  startSession,
} from './project.ts';
export type { Evidence, Feature, SessionEntry } from './project-format.ts';
export type { PromptAdditions, SystemPrompt } from './prompts.ts';
export { type RequestExtras, runTurn, type TurnRequest } from './run-turn.ts';
export type { TurnEnding, TurnOutcome } from './turn-outcome.ts';
export type { CommandReport } from './turn-tool.ts';
export type { TurnUsage } from './turn-usage.ts';
