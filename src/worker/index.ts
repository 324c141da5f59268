export {
  type ExpiryConfig,
  readExpiryConfig,
  readWorkerConfig,
  type WorkerConfig,
} from '../open/environment.ts';
export type { TurnTrace } from '../turns/turn-trace.ts';
export type { DirectAnswer, LambdaTime, ToldAnswer } from './direct-handler.ts';
export type { ScheduledExpiryOptions } from './expire-tenant.ts';
export { createExpiry, type ExpirySummary, type ScheduledExpiry } from './expire-tenants.ts';
export {
  createQueuedExpiry,
  type ExpiryPlan,
  type QueuedExpiry,
  type QueuedExpiryOptions,
} from './expiry-queue.ts';
export { createJsonLog, type JsonLog, type JsonLogOptions, type LogLevel } from './json-log.ts';
export { createReplies, type Replies, type RepliesOptions } from './replies.ts';
export {
  openPromptSealer,
  type PromptRequest,
  type PromptSealer,
  type SealedTurn,
  sealPrompt,
} from './sealed-prompt.ts';
export {
  type CredentialsOptions,
  createTenantCredentials,
  type TenantCredentialProvider,
  type TenantCredentials,
} from './tenant-credentials.ts';
export { type Answers, openAnswers, type TurnAnswer, type TurnText } from './turn/turn-answer.ts';
export type { TurnMessage } from './turn-message.ts';
export { createWorker, type Worker, type WorkerOptions } from './worker.ts';
