export { readExpiryConfig, readWorkerConfig } from '../open/environment.ts';
export { type Answers, openAnswers } from './answers.ts';
export { createExpiry, type ExpirySummary, type ScheduledExpiry } from './expire-tenants.ts';
export { createJsonLog, type JsonLog } from './json-log.ts';
export { createReplies, type Replies } from './replies.ts';
export type { LambdaTime } from './sqs-handler.ts';
export { createTenantCredentials, type TenantCredentialProvider } from './tenant-credentials.ts';
export type { TurnAnswer } from './turn-answer.ts';
export { createWorker, type Worker, type WorkerOptions } from './worker.ts';
