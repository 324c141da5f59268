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
export { type RequestExtras, runTurn, type TurnRequest } from './run-turn.ts';
export type { TurnEnding, TurnOutcome, TurnUsage } from './turn-outcome.ts';
export type { TurnProgress } from './turn-progress.ts';
export type {
  ClearToolUses,
  Compaction,
  ContextManagement,
  MessagesClient,
  PromptAdditions,
  ReplyStream,
  SystemPrompt,
  TurnRunner,
} from './turn-request.ts';
export type { CommandReport } from './turn-tool.ts';
