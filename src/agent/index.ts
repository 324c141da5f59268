export type { ClearToolUses, Compaction, ContextEdit, ContextManagement } from './context-management.ts';
export {
  bootstrapProject,
  completeFeature,
  logProgress,
  type ProjectOptions,
  type ProjectPlan,
  type ProjectState,
  readProject,
} from './project.ts';
export type { Evidence, Feature, ProgressEntry } from './project-format.ts';
export { runTurn } from './run-turn.ts';
export type { CompactionFailure, TurnEnding, TurnOutcome, TurnUsage } from './turn-outcome.ts';
export type { PendingReply, TurnProgress } from './turn-progress.ts';
export type {
  MessagesClient,
  ReplyStream,
  RequestExtras,
  SystemAdditions,
  SystemPrompt,
  ToolUseReport,
  TurnRequest,
  TurnRunner,
} from './turn-request.ts';
export type { CommandReport } from './turn-tool.ts';
