export type { ClearToolUses, Compaction, ContextEdit, ContextManagement } from './context-management.ts';
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
export { runTurn } from './run-turn.ts';
export type { TurnEnding, TurnOutcome, TurnUsage } from './turn-outcome.ts';
export type { TurnProgress } from './turn-progress.ts';
export type {
  MessagesClient,
  PromptAdditions,
  ReplyStream,
  RequestExtras,
  SystemPrompt,
  TurnRequest,
  TurnRunner,
} from './turn-request.ts';
export type { CommandReport } from './turn-tool.ts';
