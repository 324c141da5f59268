export type { TurnTouches } from '../turns/turn-trace.ts';
export type { ScheduledExpiryOptions } from './expiry/expire-tenant.ts';
export { createExpiry, type ExpiryPlan, type ScheduledExpiry } from './expiry/expiry-queue.ts';
export { createJsonLogger, type JsonLogger, type JsonLoggerOptions, type LogLevel } from './json-log.ts';
export type { BareAnswer, DirectAnswer, FullAnswer, LambdaContext } from './queue/direct-handler.ts';
export { createReplies, type Replies, type RepliesOptions } from './queue/replies.ts';
export { type ExpiryConfig, readExpiryConfig, readWorkerConfig, type WorkerConfig } from './settings.ts';
export {
  type CredentialsOptions,
  createTenantCredentials,
  type TenantCredentialProvider,
  type TenantCredentials,
} from './tenant-credentials.ts';
export {
  openPromptSealer,
  type PromptRequest,
  type PromptSealer,
  type SealedTurn,
  sealPrompt,
} from './turn/sealed-prompt.ts';
export { type Answers, openAnswers, type TextAnswer, type TurnAnswer } from './turn/turn-answer.ts';
export type { AnswerForm, TurnMessage } from './turn/turn-message.ts';
export { createWorker, type TurnName, type Worker, type WorkerOptions } from './worker.ts';
